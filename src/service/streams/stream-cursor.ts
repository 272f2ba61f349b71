import { hash } from 'node:crypto'
import type { EventPosition } from '#core/domain/event-position'
import { MAX_INT32, MAX_INT64 } from '#core/domain/integers'
import { MAX_GAPS, type PositionRange, type Unseen } from '#core/domain/unseen'
import { fingerprintOf } from '#core/model/fingerprint'
import { isOfAllMarkets, type Resource, type Selection } from '#core/model/resource'
import { idColumns } from '#core/store/queries/unseen/positioned-rows'

/*
 * A stream's cursor encodes what a follower has not received (domain/unseen.ts). Its parts are joined by `_`, numbers are in
 * base 36, and its characters are those of all cursors:
 *
 * - `s` and the resource's tag, with `a` behind it for all markets
 * - for one market of a resource that has markets in its scope, a fingerprint of the market's id
 * - the first height
 * - the position of the tail: `HEIGHT-INDEX`
 * - each gap before it: `HEIGHT-INDEX-LENGTH`, with the length in blocks beyond the first
 * - a check sum of the rest
 *
 * A position within an event ends with the ids of the last row, each after a `-`. Versions up to 0.2 wrote imported blocks as
 * gaps that end with `-1`: followers had received these blocks.
 */

const RADIX = 36
const CHECK_CHARACTERS = 4

/** The cursor of a follower that has not received these events. */
export function encodeStreamCursor(resource: Resource, selection: Selection, unseen: Unseen): string {
  const parts = streamCursorHead(resource, selection)
  const { first, tail, gaps } = unseen
  parts.push(
    digitsOf(first),
    [...[tail.height, BigInt(tail.index)].map(digitsOf), ...(tail.within ?? [])].join('-'),
  )
  for (const { height, index, to, within = [] } of gaps) {
    parts.push([...[height, BigInt(index), to - height].map(digitsOf), ...within].join('-'))
  }
  const text = parts.join('_')
  return `${text}_${checkSum(text)}`
}

/**
 * The unseen events of a cursor; null if it is not a valid cursor of the stream. The check sum is no secret, and anyone can
 * compute one, so a cursor is only accepted if this service could have written it.
 */
export function decodeStreamCursor(resource: Resource, selection: Selection, text: string): Unseen | null {
  const end = text.length - CHECK_CHARACTERS - 1
  if (end < 0 || text[end] !== '_' || text.slice(end + 1) !== checkSum(text.slice(0, end))) return null
  const head = `${streamCursorHead(resource, selection).join('_')}_`
  if (!text.startsWith(head)) return null
  return unseenOf(text.slice(head.length, end).split('_'), idColumns({ resource, selection }).length)
}

function streamCursorHead(resource: Resource, selection: Selection): string[] {
  const { scope } = resource
  const tag = `s${resource.tag}`
  // No tag ends with a letter: the other ids of the resource begin otherwise, whatever their market.
  if (isOfAllMarkets(resource, selection)) return [`${tag}a`]
  return scope === null ? [tag] : [tag, fingerprintOf(selection[scope]!)]
}

/** @param idCount how many ids distinguish the rows of an event */
function unseenOf(parts: string[], idCount: number): Unseen | null {
  const [firstText, tailText, ...gaps] = parts
  const first = numbers(firstText ?? '')
  const tail = positionOf(tailText ?? '', 2, idCount)
  if (first?.length !== 1 || tail === null) return null
  const ranges: PositionRange[] = []
  for (const text of gaps) {
    const wasImported = WAS_IMPORTED.test(text)
    const gap = positionOf(wasImported ? text.slice(0, -2) : text, 3, idCount)
    if (gap === null) return null
    const [height, , length] = gap.values as [bigint, bigint, bigint]
    ranges.push({ ...gap.position, to: height + length })
  }
  const unseen: Unseen = { first: first[0]!, gaps: ranges, tail: tail.position }
  if (!isSound(unseen)) return null
  return { ...unseen, gaps: ranges.filter((_, at) => !WAS_IMPORTED.test(gaps[at]!)) }
}

/** A gap of version 0.2 with the flag of imported blocks. */
const WAS_IMPORTED = /^[^-]+-[^-]+-[^-]+-1$/

/** Parses `HEIGHT-INDEX[-NUMBER...][-ID...]` with a given count of numbers and ids. */
function positionOf(
  text: string,
  count: number,
  idCount: number,
): { position: EventPosition; values: bigint[] } | null {
  const parts = text.split('-')
  const values = numbers(parts.slice(0, count).join('-'))
  const within = parts.slice(count)
  if (values?.length !== count) return null
  const position = { height: values[0]!, index: Number(values[1]!) }
  if (within.length === 0) return { position, values }
  if (within.length !== idCount || !within.every((id) => STORED_ID.test(id))) return null
  return { position: { ...position, within }, values }
}

const STORED_ID = /^(?:[0-9a-f]{64}|network)$/

/**
 * Whether gaps and tail can result from following a stream: no more gaps than are followed, in order and all before the
 * tail, every number in the range of rows.
 */
function isSound({ first, gaps, tail }: Unseen): boolean {
  if (gaps.length > MAX_GAPS) return false
  // The tail after the last possible block has the next height.
  if (tail.height > MAX_INT64 + 1n || tail.index > MAX_INT32) return false
  let end = first - 1n
  for (const { height, index, to } of gaps) {
    if (height <= end || index > MAX_INT32) return false
    end = to
  }
  return end < tail.height
}

function digitsOf(value: bigint): string {
  return value.toString(RADIX)
}

/** Numbers joined by `-`; null if a part is not a number, or has more digits than one of 64 bits. */
function numbers(text: string): bigint[] | null {
  const values: bigint[] = []
  for (const part of text.split('-')) {
    if (!/^[0-9a-z]{1,13}$/.test(part)) return null
    let value = 0n
    for (const digit of part) value = value * BigInt(RADIX) + BigInt(Number.parseInt(digit, RADIX))
    values.push(value)
  }
  return values
}

function checkSum(text: string): string {
  return hash('sha256', `stream cursor ${text}`, 'base64url').slice(0, CHECK_CHARACTERS)
}

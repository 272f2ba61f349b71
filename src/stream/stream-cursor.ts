import { hash } from 'node:crypto'
import { MAX_INT32, MAX_INT64 } from '../domain/integers.ts'
import { type Lacks, MAX_GAPS, type PlaceRange } from '../domain/lacks.ts'
import { fingerprintOf } from '../resources/fingerprint.ts'
import type { Resource, Selection } from '../resources/resource.ts'

/*
 * A stream's cursor is text of the characters of all cursors: the resource's tag; where the resource is bound to a
 * scope, a fingerprint of its id; what the follower has had; a check sum. Its parts are joined by `_`, numbers are
 * of base 36. What has been had is either the first height, a place of the stream and the gaps before it
 * (domain/lacks.ts), or, of rows that keep no place, the height up to which they have been looked at and a hash of each row.
 */

const RADIX = 36
const CHECK_CHARACTERS = 4
const ROW_HASH_CHARACTERS = 8

/** Rows whose hashes a cursor holds; of longer lists it holds the height alone. */
export const MAX_HASHES = 256

/** What a follower of a stream has had. */
export type Progress = { lacks: Lacks } | { height: bigint; rows: ReadonlySet<string> | null }

/** The cursor of a follower's progress. */
export function encodeStreamCursor(resource: Resource, selection: Selection, progress: Progress): string {
  const parts = headOf(resource, selection)
  if ('lacks' in progress) {
    const { first, tail, gaps } = progress.lacks
    if (first !== null) parts.push(digits(first))
    parts.push([tail.height, BigInt(tail.index)].map(digits).join('-'))
    for (const { height, index, to } of gaps) {
      parts.push([height, BigInt(index), to - height].map(digits).join('-'))
    }
  } else {
    parts.push(digits(progress.height), progress.rows === null ? '' : `r${[...progress.rows].join('')}`)
  }
  const text = parts.join('_')
  return `${text}_${checkSum(text)}`
}

/**
 * What the follower has had who holds a cursor; null for what is no cursor of such a stream. A check sum is no
 * secret: anybody can make one, so that a cursor is taken only if this service could have written it.
 */
export function decodeStreamCursor(resource: Resource, selection: Selection, text: string): Progress | null {
  const end = text.length - CHECK_CHARACTERS - 1
  if (end < 0 || text[end] !== '_' || text.slice(end + 1) !== checkSum(text.slice(0, end))) return null
  const head = `${headOf(resource, selection).join('_')}_`
  if (!text.startsWith(head)) return null
  const body = text.slice(head.length, end)
  if (keepsPlace(resource)) return placeProgress(body.split('_'))
  return stateProgress(body)
}

/** Whether rows of a resource keep the event that they come from. */
export function keepsPlace({ name }: Resource): boolean {
  return name !== 'liquidityProviders'
}

/** The hash of a row, as a cursor holds it. */
export function rowHash(json: string): string {
  return hash('sha256', json, 'base64url').slice(0, ROW_HASH_CHARACTERS)
}

function headOf({ cursorTag, scope }: Resource, selection: Selection): string[] {
  const tag = `s${cursorTag}`
  return scope === null ? [tag] : [tag, fingerprintOf(selection[scope]!)]
}

function placeProgress(parts: string[]): Progress | null {
  // A cursor of version 0.1.0 does not name the first height.
  const [head] = numbers(parts[0]!) ?? []
  const first = parts[0]!.includes('-') || head === undefined ? null : head
  const [tail, ...gaps] = (first === null ? parts : parts.slice(1)).map(numbers)
  if (tail?.length !== 2) return null
  const ranges: PlaceRange[] = []
  for (const gap of gaps) {
    if (gap?.length !== 3) return null
    const [height, index, length] = gap as [bigint, bigint, bigint]
    ranges.push({ height, index: Number(index), to: height + length })
  }
  const lacks: Lacks = { first, gaps: ranges, tail: { height: tail[0]!, index: Number(tail[1]!) } }
  return isSound(lacks) ? { lacks } : null
}

/**
 * Whether gaps and tail are such as following a stream leads to: no more gaps than are followed, each behind the one
 * before and all of them before the tail, every number one that a row can have.
 */
function isSound({ first, gaps, tail }: Lacks): boolean {
  if (gaps.length > MAX_GAPS) return false
  // Behind the last block that there can be stands a tail of the next height.
  if (tail.height > MAX_INT64 + 1n || tail.index > MAX_INT32) return false
  let end = (first ?? 0n) - 1n
  for (const { height, index, to } of gaps) {
    if (height <= end || index > MAX_INT32) return false
    end = to
  }
  return end < tail.height
}

function stateProgress(body: string): Progress | null {
  const mark = body.indexOf('_')
  if (mark === -1) return null
  const [height, ...others] = numbers(body.slice(0, mark)) ?? []
  if (height === undefined || others.length > 0 || height > MAX_INT64) return null
  const rows = body.slice(mark + 1)
  if (rows === '') return { height, rows: null }
  const hashes = rows.slice(1)
  if (rows[0] !== 'r' || hashes.length % ROW_HASH_CHARACTERS !== 0) return null
  if (hashes.length / ROW_HASH_CHARACTERS > MAX_HASHES || !/^[A-Za-z0-9_-]*$/.test(hashes)) return null
  return { height, rows: new Set(hashes.match(new RegExp(`.{${ROW_HASH_CHARACTERS}}`, 'g'))) }
}

function digits(value: bigint): string {
  return value.toString(RADIX)
}

/** Numbers joined by `-`; null where a part is none, or has more digits than 64 bits do. */
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

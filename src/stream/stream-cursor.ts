import { hash } from 'node:crypto'
import type { Lacks, PlaceRange } from '../domain/lacks.ts'
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

/** What the follower has had who holds a cursor; null for what is no cursor of such a stream. */
export function decodeStreamCursor(resource: Resource, selection: Selection, text: string): Progress | null {
  const end = text.length - CHECK_CHARACTERS - 1
  if (end < 0 || text[end] !== '_' || text.slice(end + 1) !== checkSum(text.slice(0, end))) return null
  const head = `${headOf(resource, selection).join('_')}_`
  if (!text.startsWith(head)) return null
  const body = text.slice(head.length, end)
  if (keepsPlace(resource)) return placeProgress(body.split('_'))
  const mark = body.indexOf('_')
  const rows = body.slice(mark + 1)
  return { height: number(body.slice(0, mark)), rows: rows === '' ? null : rowHashes(rows.slice(1)) }
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

function placeProgress(parts: string[]): Progress {
  const numbers = parts.map((part) => part.split('-').map(number))
  // A cursor of version 0.1.0 does not name the first height.
  const first = numbers[0]!.length === 1 ? numbers.shift()![0]! : null
  const [tail, ...gaps] = numbers
  return {
    lacks: {
      first,
      tail: { height: tail![0]!, index: Number(tail![1]!) },
      gaps: gaps.map(
        ([height, index, length]): PlaceRange => ({
          height: height!,
          index: Number(index!),
          to: height! + length!,
        }),
      ),
    },
  }
}

function rowHashes(text: string): ReadonlySet<string> {
  return new Set(text.match(new RegExp(`.{${ROW_HASH_CHARACTERS}}`, 'g')))
}

function digits(value: bigint): string {
  return value.toString(RADIX)
}

/** Of text whose check sum has been found right. */
function number(text: string): bigint {
  let value = 0n
  for (const digit of text) value = value * BigInt(RADIX) + BigInt(Number.parseInt(digit, RADIX))
  return value
}

function checkSum(text: string): string {
  return hash('sha256', `stream cursor ${text}`, 'base64url').slice(0, CHECK_CHARACTERS)
}

import { MARKET_ID, PARTY_ID } from '#core/domain/ids'
import { MAX_INT64, MAX_UINT64 } from '#core/domain/integers'
import type { LeftOutReason } from '#core/events/left-out'
import { idOf } from '../reference-values.ts'

/*
 * The rows of the data node's tables are decoded as events, by the same rules as events of the stream, in the other files of
 * this folder. A row has the columns of tables.ts, in that order. A function returns null if the row is left out; it has then
 * called `leaveOut` with the reason.
 */

/** Why a row is left out. */
export type LeftOutRowReason =
  | LeftOutReason
  | 'its block is not in the source'
  | 'invalid time'
  | 'invalid place in its block'
  | 'invalid JSON'

/** Called with the reason for each row, or element of a list in it, that is left out. */
export type LeftOutRows = (reason: LeftOutRowReason) => void

/** A number that no enum has. */
const UNKNOWN_ENUM = 255

/** Maximum index of an event in its block. */
const MAX_INDEX = 2 ** 31 - 1

/** Maximum number of cached ids: a few ids recur all the time. */
const MAX_CACHED_IDS = 4_096

/** Creates a function that reads the id in a column's bytes; it returns `""` for an invalid id. */
function idsLike(pattern: RegExp): (bytea: string | null | undefined) => string {
  const ids = new Map<string, string>()
  return (bytea) => {
    const cached = ids.get(bytea ?? '')
    if (cached !== undefined) return cached
    // A copy, because the text is a slice, which would retain a larger text in memory.
    const own = Buffer.from(bytea ?? '').toString()
    const id = idOf(own)
    if (!pattern.test(id)) return ''
    if (ids.size >= MAX_CACHED_IDS) ids.clear()
    ids.set(own, id)
    return id
  }
}

/** The market id in a column's bytes; `""` if it is invalid. */
export const marketOf = idsLike(MARKET_ID)

/** The party id in a column's bytes; `""` if it is invalid. */
export const partyOf = idsLike(PARTY_ID)

/** The event of a row, or null if there is a reason to leave it out, which `leaveOut` is then called with. */
export function rowUnlessFault<T>(value: T, fault: LeftOutRowReason | null, leaveOut: LeftOutRows): T | null {
  if (fault === null) return value
  leaveOut(fault)
  return null
}

/** Why a time in Unix microseconds is not one; null for no fault. */
export function faultOfTime(microseconds: number): LeftOutRowReason | null {
  return Number.isNaN(microseconds) ? 'invalid time' : null
}

/** Why an index in a block, as of {@link eventIndexOf}, is not one; null for no fault. */
export function faultOfIndex(index: number): LeftOutRowReason | null {
  return index > 0 ? null : 'invalid place in its block'
}

/** An index in a block; 0 if the text is not an integer. */
export function eventIndexOf(text: string | null | undefined): number {
  const index = /^\d{1,10}$/.test(text ?? '') ? Number(text) : 0
  return index <= MAX_INDEX ? index : 0
}

/**
 * An integer of 0 or more, which the tables store as a signed 64-bit one. For any other text it is MAX_UINT64, which is out
 * of range.
 */
export function naturalOf(text: string | null | undefined): bigint {
  if (text == null || !/^\d{1,19}$/.test(text)) return MAX_UINT64
  // Most have only a few digits.
  const value = text.length < 16 ? BigInt(Number(text)) : BigInt(text)
  return value > MAX_INT64 ? MAX_UINT64 : value
}

/** The number of an enum's value by its name; for any other name one that no enum has. */
export function numberIn(names: readonly string[], name: string | null | undefined): number {
  const number = names.indexOf(name ?? '')
  return number < 0 ? UNKNOWN_ENUM : number
}

/** The value of a JSON text; undefined if it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** An object in JSON. */
export type ParsedObject = Record<string, unknown>

/** A value if it is an object, and no list; otherwise null. */
export function objectOf(value: unknown): ParsedObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as ParsedObject) : null
}

/** The list in a column, which is empty for `null` and for no value; null if the value is not a list. */
export function parsedList(text: string | null | undefined): ParsedObject[] | null {
  if (text == null) return []
  const value = parsed(text)
  if (value === null) return []
  return Array.isArray(value) ? value.map((element) => objectOf(element) ?? {}) : null
}

/** A value if it is a text; otherwise `""`. */
export function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A value if it is a text; otherwise null. */
export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

import { MAX_INT32, MAX_INT64, MIN_INT64 } from '../domain/integers.ts'
import type { CursorCodec } from './cursor-codec.ts'
import { FINGERPRINT_LENGTH, fingerprintOf } from './fingerprint.ts'
import type { KeyColumn, KeyType, KeyValue, Row } from './row.ts'

/*
 * A cursor is text that a database can write too: a letter for the resource; if cursors are bound to a market, 8 characters
 * of its fingerprint; then the key's values, joined by `_`. Integers are decimal digits, ids are unchanged. Texts of hex
 * bytes, such as hashes, are unchanged; others are `-` and their UTF-8 in hex.
 */

const MAX_CHARACTERS = 2_304

/** How values of each type are written and parsed. */
const VALUES: Record<
  Exclude<KeyType, 'source'>,
  { pattern: RegExp; read: (text: string) => KeyValue | null }
> = {
  int64: { pattern: /^(?:0|-?[1-9]\d{0,18})$/, read: integerWithin(MIN_INT64) },
  uint64: { pattern: /^(?:0|[1-9]\d{0,18})$/, read: integerWithin(0n) },
  index: { pattern: /^(?:0|[1-9]\d{0,9})$/, read: integerWithin(0n, MAX_INT32) },
  id: { pattern: /^(?:[0-9a-f]{64}|network)$/, read: (text) => text },
  text: { pattern: /^(?:(?:[0-9A-Fa-f]{2})*|-(?:[0-9A-F]{2})+)$/, read: readText },
}

function integerWithin(least: bigint, most = MAX_INT64): (text: string) => bigint | null {
  return (text) => {
    const value = BigInt(text)
    return value >= least && value <= most ? value : null
  }
}

const HEX_TEXT = /^(?:[0-9A-Fa-f]{2})*$/

function writeText(text: string): string {
  return HEX_TEXT.test(text) ? text : `-${Buffer.from(text).toString('hex').toUpperCase()}`
}

/** Null if {@link writeText} does not write a text like this. */
function readText(text: string): string | null {
  if (!text.startsWith('-')) return text
  const read = Buffer.from(text.slice(1), 'hex').toString()
  return writeText(read) === text && !read.includes('\0') ? read : null
}

/**
 * The cursors of a resource, by its key.
 *
 * @param letter distinguishes the resource's cursors from all others
 * @param scope the filter whose value cursors are bound to
 */
export function textCursor(
  letter: string,
  key: readonly KeyColumn[],
  scope: 'marketId' | null = null,
): CursorCodec {
  const types = key.map(({ type }) => {
    if (type === 'source') throw new TypeError('a text cursor cannot contain a source')
    return type
  })
  const isScoped = scope !== null
  const head = (id: string | null) => (isScoped ? `${letter}${fingerprintOf(id!)}` : letter)
  const valuesOf = (text: string) => text.slice(isScoped ? 1 + FINGERPRINT_LENGTH : 1).split('_')
  const isOne = (text: string) => {
    if (text.length > MAX_CHARACTERS || !text.startsWith(letter)) return false
    const values = valuesOf(text)
    return (
      values.length === types.length &&
      values.every((value, index) => VALUES[types[index]!].pattern.test(value))
    )
  }
  return {
    letter,
    encode: (id, row: Row | readonly KeyValue[]) => {
      let text = head(id)
      for (const [index, type] of types.entries()) {
        const value = String(row[index])
        text += `${index === 0 ? '' : '_'}${type === 'text' ? writeText(value) : value}`
      }
      return text
    },
    isOne,
    decode: (id, text) => {
      if (!isOne(text)) return 'garbled'
      if (!text.startsWith(head(id))) return 'of another market'
      const values = valuesOf(text).map((value, index) => VALUES[types[index]!].read(value))
      return values.includes(null) ? 'garbled' : (values as KeyValue[])
    },
    sql: () => [
      { constant: (id) => head(id) },
      ...key.flatMap(({ column, type }, index) => [
        ...(index === 0 ? [] : [{ constant: () => '_' }]),
        { sql: type === 'text' ? textSql(column) : column },
      ]),
    ],
  }
}

/** The result of {@link writeText}, in SQLite's SQL. */
function textSql(column: string): string {
  return `case when unhex(${column}) is null then '-' || hex(${column}) else ${column} end`
}

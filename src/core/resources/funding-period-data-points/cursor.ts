import { MAX_INT64 } from '../../domain/integers.ts'
import { SECOND } from '../../domain/time.ts'
import type { CursorCodec } from '../../model/cursor-codec.ts'
import { fingerprintOf } from '../../model/fingerprint.ts'
import type { Key, KeyValue, Row } from '../../model/row.ts'

/*
 * The cursor of a data point is text that a database can write as well as this program (`pointSql`):
 *
 *     p  8 characters of the market's fingerprint  4 digits of check  time  source  seq
 *
 * The time is 10 digits if it is in whole seconds, like the core's, and otherwise 16 hex
 * digits of nanoseconds; the source is a letter, upper case for seconds, lower case for nanoseconds.
 */

const LETTERS = 'NEI'
const POINT_CURSOR = /^p([A-Za-z0-9_-]{8})(\d{4})(?:(\d{10})([NEI])|([0-9a-f]{16})([nei]))(0|[1-9]\d{0,18})$/

/** Times from this one to the end of 64 bits have 10 digits of seconds. */
const FIRST_IN_SECONDS = 1_000_000_000n * SECOND

/** A prime, so that changing any digit changes the check. */
const MODULUS = 8999

/** All checks as texts: formatting a number takes as long as the rest of a cursor. */
const CHECKS = Array.from({ length: MODULUS }, (_, residue) => String(1000 + residue))

/** The cursors of data points. */
export const pointCursor: CursorCodec = {
  letter: 'p',
  encode: encodePoint,
  isOne: (text) => readPoint(text) !== null,
  decode: (scope, text) => {
    const key = readPoint(text)
    if (key === null) return 'garbled'
    return text.startsWith(pointCursorHead(scope!)) ? key : 'of another market'
  },
  sql: ({ source = 'source' }) => [{ constant: pointCursorHead }, { sql: pointSql(source) }],
}

/** The beginning of every cursor of a market. */
function pointCursorHead(marketId: string): string {
  return `p${fingerprintOf(marketId)}`
}

function encodePoint(marketId: string | null, row: Row | Key): string {
  // Works on the digits of numbers and allocates nothing: pages of PostgreSQL write a cursor for each row.
  const time = String(row[0])
  const seq = String(row[1])
  const source = Number(row[2])
  const head = pointCursorHead(marketId!)
  // 19 digits are enough to be FIRST_IN_SECONDS or later.
  if (time.length === 19 && time.endsWith('000000000') && !time.startsWith('-')) {
    return `${head}${checkOf(time, seq, source)}${time.slice(0, -9)}${LETTERS[source]}${seq}`
  }
  const hex = BigInt.asUintN(64, BigInt(time)).toString(16).padStart(16, '0')
  return `${head}${checkOf(time, seq, source)}${hex}${LETTERS[source]!.toLowerCase()}${seq}`
}

/**
 * The part of a cursor after the fingerprint, in SQLite's SQL over the columns `timestamp` and `seq`, as terms to be
 * joined.
 *
 * @param source the source as a number, or the name of its column
 */
function pointSql(source: string): string {
  const number = Number(source)
  const letter = (letters: string): string => {
    const letterOfNumber = letters[number]
    if (letterOfNumber !== undefined) return `'${letterOfNumber}'`
    const [none, external, internal] = letters
    return `case ${source} when 2 then '${internal}' when 1 then '${external}' else '${none}' end`
  }
  const added = Number.isNaN(number) ? `${7 * MODULUS} + ${source} * 13` : String(7 * MODULUS + number * 13)
  const check = `1000 + (timestamp % ${MODULUS} * 7 + seq % ${MODULUS} * 31 + ${added}) % ${MODULUS}`
  return `${check}, case when timestamp % ${SECOND} = 0 and timestamp >= ${FIRST_IN_SECONDS}
    then (timestamp / ${SECOND}) || ${letter(LETTERS)}
    else format('%016x', timestamp) || ${letter(LETTERS.toLowerCase())} end, seq`
}

function readPoint(text: string): Key | null {
  const match = POINT_CURSOR.exec(text)
  if (match === null) return null
  const [, , check, seconds, upper, hex, lower, digits] = match
  const timestamp = seconds === undefined ? BigInt.asIntN(64, BigInt(`0x${hex}`)) : BigInt(seconds) * SECOND
  const source = BigInt(LETTERS.indexOf(upper ?? lower!.toUpperCase()))
  const seq = BigInt(digits!)
  const key: KeyValue[] = [timestamp, seq, source]
  if (timestamp > MAX_INT64 || seq > MAX_INT64) return null
  if (check !== checkOf(String(timestamp), digits!, Number(source))) return null
  // Any other spelling of the same time is not a valid cursor.
  const isInSeconds = timestamp % SECOND === 0n && timestamp >= FIRST_IN_SECONDS
  return isInSeconds === (seconds !== undefined) ? key : null
}

let lastSeq = ''
let lastResidue = 0

/** The four check digits of a key; `timestamp` and `seq` are decimal digits. */
function checkOf(timestamp: string, seq: string, source: number): string {
  // Rows of one funding period are adjacent.
  if (seq !== lastSeq) {
    lastResidue = residueOf(seq)
    lastSeq = seq
  }
  return CHECKS[(residueOf(timestamp) * 7 + lastResidue * 31 + source * 13) % MODULUS]!
}

/** Up to this remainder, appending a digit stays within 31 bits. */
const MAX_REMAINDER = 100_000_000

const ASCII_ZERO = 0x30

/** The remainder of an integer of any size, in decimal digits, divided by the modulus; 0 or more. */
function residueOf(digits: string): number {
  const isNegative = digits.startsWith('-')
  let residue = 0
  for (let at = isNegative ? 1 : 0; at < digits.length; at++) {
    residue = residue * 10 + digits.charCodeAt(at) - ASCII_ZERO
    if (residue > MAX_REMAINDER) residue %= MODULUS
  }
  residue %= MODULUS
  return isNegative && residue > 0 ? MODULUS - residue : residue
}

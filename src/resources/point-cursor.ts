import { MAX_INT64 } from '../domain/integers.ts'
import { fingerprintOf } from './fingerprint.ts'
import type { Key, KeyValue, Row } from './resource.ts'

/*
 * The cursor of a data point is text that a database can write as well as this program (pointCursorSql):
 *
 *     p  8 characters of the market's fingerprint  4 digits of check  time  source  seq
 *
 * The time is 10 digits of seconds where it is a whole number of them, as those of the core are, and 16 hex
 * digits of nanoseconds otherwise; the source is a letter, upper case for seconds, lower case for nanoseconds.
 */

const LETTERS = 'NEI'
const WRITTEN = /^p([A-Za-z0-9_-]{8})(\d{4})(?:(\d{10})([NEI])|([0-9a-f]{16})([nei]))(0|[1-9]\d{0,18})$/

const SECOND = 1_000_000_000n

/** Times from here on have 10 digits of seconds, to the end of 64 bits. */
const FIRST_IN_SECONDS = 1_000_000_000n * SECOND

/** A prime: a changed digit, wherever it stands, changes the check. */
const MODULUS = 8999n

/**
 * What stands behind the fingerprint in a cursor, as SQL over the columns `timestamp`, `seq` and a source: texts and
 * numbers to be put together.
 *
 * @param source the source, as a number or the name of a column
 * @param hex 16 hex digits of the column `timestamp`, as the database writes them
 */
export function pointCursorSql(source: string, hex: string): string {
  const letter = (letters: string): string => {
    const known = letters[Number(source)]
    if (known !== undefined) return `'${known}'`
    const [none, external, internal] = letters
    return `case ${source} when 2 then '${internal}' when 1 then '${external}' else '${none}' end`
  }
  const run = Number(source)
  const added = Number.isNaN(run)
    ? `${7n * MODULUS} + ${source} * 13`
    : String(7n * MODULUS + BigInt(run) * 13n)
  const check = `1000 + (timestamp % ${MODULUS} * 7 + seq % ${MODULUS} * 31 + ${added}) % ${MODULUS}`
  return `${check}, case when timestamp % ${SECOND} = 0 and timestamp >= ${FIRST_IN_SECONDS}
    then (timestamp / ${SECOND}) || ${letter(LETTERS)}
    else ${hex} || ${letter(LETTERS.toLowerCase())} end, seq`
}

/** The beginning of every cursor of a market. */
export function pointCursorHead(marketId: string): string {
  return `p${fingerprintOf(marketId)}`
}

/** The cursor of a row, or of a key: time, seq, source. */
export function encodePointCursor(marketId: string, row: Row | Key): string {
  const [timestamp, seq, source] = row.slice(0, 3).map((value) => BigInt(value!)) as [bigint, bigint, bigint]
  const inSeconds = timestamp % SECOND === 0n && timestamp >= FIRST_IN_SECONDS
  const letter = LETTERS[Number(source)]!
  const time = inSeconds
    ? `${timestamp / SECOND}${letter}`
    : `${BigInt.asUintN(64, timestamp).toString(16).padStart(16, '0')}${letter.toLowerCase()}`
  return `${pointCursorHead(marketId)}${checkOf(timestamp, seq, source)}${time}${seq}`
}

/** Whether a text is a data point's cursor, of whatever market. */
export function isPointCursor(text: string): boolean {
  return readPoint(text) !== null
}

/** The key that a cursor holds, or what is wrong with it. */
export function decodePointCursor(marketId: string, text: string): Key | 'garbled' | 'of another market' {
  const key = readPoint(text)
  if (key === null) return 'garbled'
  return text.startsWith(pointCursorHead(marketId)) ? key : 'of another market'
}

function readPoint(text: string): Key | null {
  const match = WRITTEN.exec(text)
  if (match === null) return null
  const [, , check, seconds, upper, hex, lower, digits] = match
  const timestamp = seconds === undefined ? BigInt.asIntN(64, BigInt(`0x${hex}`)) : BigInt(seconds) * SECOND
  const source = BigInt(LETTERS.indexOf(upper ?? lower!.toUpperCase()))
  const seq = BigInt(digits!)
  const key: KeyValue[] = [timestamp, seq, source]
  if (timestamp > MAX_INT64 || seq > MAX_INT64 || BigInt(check!) !== checkOf(timestamp, seq, source))
    return null
  // Whatever does not come out the same again (another spelling of the same time) is no cursor of ours.
  const isInSeconds = timestamp % SECOND === 0n && timestamp >= FIRST_IN_SECONDS
  return isInSeconds === (seconds !== undefined) ? key : null
}

function checkOf(timestamp: bigint, seq: bigint, source: bigint): bigint {
  return 1000n + ((((timestamp % MODULUS) + MODULUS) * 7n + (seq % MODULUS) * 31n + source * 13n) % MODULUS)
}

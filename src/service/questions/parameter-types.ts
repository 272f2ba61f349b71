import { CALENDAR_SPANS } from '#core/domain/calendar'
import { ASSET_ID, MARKET_ID, PARTY_ID, TRADER_ID } from '#core/domain/ids'
import { MAX_INT32, MAX_INT64, MAX_UINT64, MIN_INT32, MIN_INT64 } from '#core/domain/integers'
import { INTERVALS } from '#core/domain/intervals'
import { DAY, readTime } from '#core/domain/time'
import { SOURCES } from '#core/resources/funding-period-data-points/description'
import { LEADER_ORDERS } from '#core/store/queries/payments/funding-leaders'
import { EXPORT_TYPES, TIMES_FORMS } from '../formats/export-bytes.ts'

/** Rows of a page: maximum and default. */
export const MAX_PAGE_SIZE = 5000
export const DEFAULT_PAGE_SIZE = 1000

const SIGNED = /^[+-]?[0-9]+$/
const UNSIGNED = /^[0-9]+$/
/** The size of a position. */
const POSITION_SIZE = /^-?[0-9]{1,38}(\.[0-9]{1,18})?$/
/** The characters of a cursor (resources/cursor.ts). */
const CURSOR_TEXT = /^[A-Za-z0-9_-]+$/

const BOOLEANS = new Map([
  ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((text) => [text, false] as const),
])

const SOURCES_BY_TEXT = new Map<string, bigint>([
  ...SOURCES.map((name, number) => [name, BigInt(number)] as const),
  ...SOURCES.map((_, number) => [String(number), BigInt(number)] as const),
])

/** Buckets of a series: maximum and default. */
const MAX_BUCKETS = 2_000n
const MAX_LEADERS = 1_000
export const DEFAULT_BUCKETS = 500n

/** Seconds between two events of a market's state, at most. */
const MAX_SECONDS = 60n

/** Intervals of funding rates, and the default range of each, in nanoseconds. */
export const RATE_INTERVALS: ReadonlyMap<string, bigint> = new Map([
  ['8h', 7n * DAY],
  ['1d', 30n * DAY],
])

/** A parsed parameter; a list if it may be given several times. */
export type ParameterValue = string | bigint | boolean | readonly string[]

/** The type of a parameter. */
export type ParameterType = {
  /** The value of a text; undefined if it has none. */
  parse: (text: string) => ParameterValue | undefined
  /** Whether it may be given several times: its value is the list of its texts. */
  isList?: true
  /** Allowed values, for people. */
  allowed: string
  /** The text that was meant by one that is not allowed; null if that is not known. */
  meant?: (text: string) => string | null
  /** Its schema in the OpenAPI document. */
  schema: object
}

/** Takes certain texts. */
function oneOfTexts(values: ReadonlyMap<string, ParameterValue>, byDefault?: string) {
  const texts = [...values.keys()]
  return {
    parse: (text: string) => values.get(text),
    allowed: `one of ${texts.join(', ')}`,
    schema: { type: 'string', enum: texts, ...(byDefault === undefined ? {} : { default: byDefault }) },
  }
}

/** Texts that are values themselves. */
const themselves = (texts: Iterable<string>) => new Map(Array.from(texts, (text) => [text, text]))

const INTERVAL = oneOfTexts(themselves(INTERVALS.map(({ name }) => name)))

/** Accepts any text; its content is checked later, with a separate error. */
function textLike(pattern: RegExp): ParameterType {
  return { parse: (text) => text, allowed: 'any text', schema: { type: 'string', pattern: pattern.source } }
}

/** The type of a number of rows, and the greatest one. */
export type SizeType = ParameterType & { maximum: number }

/** A number of rows. Any int32 parses: its range is checked if it counts, with a separate error (page-request.ts). */
function sizeFrom(minimum: number, maximum = MAX_PAGE_SIZE): SizeType {
  return {
    parse: (value) => parseInteger(value, SIGNED, MIN_INT32, MAX_INT32),
    maximum,
    allowed: `an integer from ${minimum} to ${maximum}`,
    schema: {
      type: 'integer',
      format: 'int32',
      // Without a default, which some generated clients send: that it is given says which page is meant.
      minimum,
      maximum,
    },
  }
}

const UINT64: ParameterType = {
  parse: (value) => parseInteger(value, UNSIGNED, 0n, MAX_UINT64),
  allowed: `an integer from 0 to ${MAX_UINT64}, without sign`,
  schema: { type: 'string', format: 'uint64', pattern: UNSIGNED.source, examples: ['1'] },
}

/** The types of parameters: how to parse their values, and their schemas. */
export const PARAMETER_TYPES = {
  pageSize: sizeFrom(1),
  /** Of a part that comes with totals, which may be all that is wanted. */
  partSize: sizeFrom(0),
  leaders: sizeFrom(1, MAX_LEADERS),
  timestamp: {
    parse: (value) => parseInteger(value, SIGNED, MIN_INT64, MAX_INT64),
    allowed: `an integer from ${MIN_INT64} to ${MAX_INT64} (Unix nanoseconds)`,
    meant: (text) => {
      const read = readTime(text)
      return 'time' in read ? read.time.toString() : null
    },
    schema: { type: 'string', format: 'int64', pattern: SIGNED.source, examples: ['1696500000000000000'] },
  },
  uint64: UINT64,
  buckets: {
    parse: (text) => parseInteger(text, SIGNED, 1n, MAX_BUCKETS),
    allowed: `an integer from 1 to ${MAX_BUCKETS}`,
    // Without a default, which excludes an interval.
    schema: { type: 'integer', minimum: 1, maximum: Number(MAX_BUCKETS) },
  },
  seconds: {
    parse: (text) => parseInteger(text, SIGNED, 1n, MAX_SECONDS),
    allowed: `an integer from 1 to ${MAX_SECONDS}`,
    schema: { type: 'integer', minimum: 1, maximum: Number(MAX_SECONDS) },
  },
  interval: { ...INTERVAL, schema: { title: 'SeriesInterval', ...INTERVAL.schema } },
  units: {
    parse: (text) => (POSITION_SIZE.test(text) ? text : undefined),
    allowed: 'a decimal number of at most 38 digits before the point and 18 after it',
    schema: { type: 'string', pattern: POSITION_SIZE.source, default: '1' },
  },
  boolean: {
    ...oneOfTexts(BOOLEANS),
    // Programs and forms make it true or false; the other spellings are those that the reference takes.
    schema: { type: 'boolean', default: true },
  },
  /** A boolean that has an effect only if it is true. */
  flag: { ...oneOfTexts(BOOLEANS), schema: { type: 'boolean' } },
  rateInterval: oneOfTexts(themselves(RATE_INTERVALS.keys()), '1d'),
  leaderOrder: oneOfTexts(themselves(LEADER_ORDERS), LEADER_ORDERS[0]),
  calendarSpan: oneOfTexts(themselves([...CALENDAR_SPANS, 'all']), 'all'),
  source: oneOfTexts(SOURCES_BY_TEXT, SOURCES[0]),
  exportFormat: oneOfTexts(themselves(Object.keys(EXPORT_TYPES))),
  fileFormat: oneOfTexts(themselves(['csv', 'json'])),
  fileTimes: oneOfTexts(themselves(['iso'])),
  exportTimes: oneOfTexts(themselves(TIMES_FORMS)),
  exportNumbers: oneOfTexts(themselves(['text'])),
  cursor: textLike(CURSOR_TEXT),
  // Where a stream starts: an empty text means that the parameter is not given.
  streamId: textLike(/^[A-Za-z0-9_-]*$/),
  startBlock: {
    ...UINT64,
    parse: (text) => (text === '' ? '' : UINT64.parse(text)),
    schema: { ...UINT64.schema, pattern: '^[0-9]*$' },
  },
  marketId: textLike(MARKET_ID),
  partyId: textLike(PARTY_ID),
  traderId: textLike(TRADER_ID),
  assetId: textLike(ASSET_ID),
  partyIds: {
    ...textLike(PARTY_ID),
    isList: true,
    schema: { type: 'array', items: { type: 'string', pattern: PARTY_ID.source } },
  },
} as const satisfies Record<string, ParameterType>

function parseInteger(text: string, pattern: RegExp, min: bigint, max: bigint): bigint | undefined {
  if (!pattern.test(text)) return undefined
  // A sign, leading zeros and all: beyond this length no value is in any range, and BigInt would be slow.
  const digits = text.replace(/^[+-]?0*/, '')
  if (digits.length > 20) return undefined
  const magnitude = BigInt(digits === '' ? '0' : digits)
  const value = text.startsWith('-') ? -magnitude : magnitude
  return value >= min && value <= max ? value : undefined
}

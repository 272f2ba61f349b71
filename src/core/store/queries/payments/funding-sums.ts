import type { Coverage, Since } from '../../../domain/coverage.ts'
import {
  add,
  type Decimal,
  decimalOfText,
  parseDecimal,
  subtract,
  textOfDecimal,
  ZERO,
} from '../../../domain/decimal.ts'
import type { HeightRange } from '../../../domain/height-ranges.ts'
import { greatest, least, MAX_INT64, MIN_INT64 } from '../../../domain/integers.ts'
import { type Missing, missingOf } from '../../../domain/missing.ts'
import { indexAt } from '../../../domain/series.ts'
import { DAY } from '../../../domain/time.ts'
import type { Row } from '../../../model/resource.ts'
import { fundingPayments } from '../../../resources/funding-payments/description.ts'
import type { StoreVersion } from '../../changes.ts'
import type { StoreHead } from '../../pages/page.ts'
import type { Query } from '../../queries-protocol.ts'
import { textOf } from '../../statements.ts'
import { readFilledStore } from '../freshness.ts'
import { readPrunedBefore } from '../pruned.ts'
import { type KeysetScan, ROWS_AT_ONCE, readByKey } from './keyset.ts'

/*
 * Payments are added up from the sums of whole days, as far as these are stored, and from the payments of the rest: parts of
 * days at the ends of a range, the day of the newest payment, and days that pruning has reached.
 */

/** An answer adds up so many payments and sums of days at most. */
export const MAX_SUMMED_ROWS = 500_000

/** A range of times of payments: start (inclusive) and end (exclusive), Unix nanoseconds; null for an open end. */
export type PaymentRange = { start: bigint | null; end: bigint | null }

/** The sums of payments, in the smallest unit of an asset. */
export type FundingSums = {
  count: number
  /** What changed balances for the better and for the worse, after losses; both positive. */
  received: string
  paid: string
  /** `received` less `paid`. */
  net: string
  /** What others could not pay; zero or negative. */
  lossAmount: string
}

/** What is added to a sum: a payment, or the sum of several. */
type Summand = {
  count: number
  received: Decimal
  paid: Decimal
  lossAmount: Decimal
}

/** What is added to the sums of a party in a market. */
type PartySummand = Summand & {
  marketId: string
  partyId: string
  /** Of the payment, or the beginning of its day. */
  time: bigint
}

/** Adds up payments. */
export class FundingSum {
  #count = 0
  #received = ZERO
  #paid = ZERO
  #lossAmount = ZERO

  add({ count, received, paid, lossAmount }: Summand): void {
    this.#count += count
    this.#received = add(this.#received, received)
    this.#paid = add(this.#paid, paid)
    this.#lossAmount = add(this.#lossAmount, lossAmount)
  }

  get received(): Decimal {
    return this.#received
  }

  get paid(): Decimal {
    return this.#paid
  }

  get net(): Decimal {
    return subtract(this.#received, this.#paid)
  }

  texts(): FundingSums {
    return {
      count: this.#count,
      received: textOfDecimal(this.#received),
      paid: textOfDecimal(this.#paid),
      net: textOfDecimal(this.net),
      lossAmount: textOfDecimal(this.#lossAmount),
    }
  }
}

/** The payments of a party, of one market, or of a party in one market. */
type PaymentSelection = { marketId: string; partyId: string | null } | { marketId: null; partyId: string }

/**
 * Hands on what is to be added up for a selection in a range.
 *
 * @param days the days of the range whose sums are read (readPaymentCoverage)
 * @param most how many payments and sums of days may be read
 * @returns how many were read; null if there are more than that
 */
export function* readSummands(
  selection: PaymentSelection,
  range: PaymentRange,
  days: Days | null,
  most: number,
  onSummand: (summand: PartySummand) => void,
): Query<number | null> {
  if (days === null) return yield* readPayments(selection, range, most, onSummand)
  const before = { start: range.start, end: days.from * DAY }
  const after = { start: days.to * DAY, end: range.end }
  const ofBefore = yield* readPayments(selection, before, most, onSummand)
  if (ofBefore === null) return null
  const ofDays = yield* readDailySums(selection, days, most - ofBefore, onSummand)
  if (ofDays === null) return null
  const ofAfter = yield* readPayments(selection, after, most - ofBefore - ofDays, onSummand)
  return ofAfter === null ? null : ofBefore + ofDays + ofAfter
}

/** UTC days from one (inclusive) to another (exclusive), counted from 1970-01-01 on. */
type Days = { from: bigint; to: bigint }

const READ_LAST_TIME = `select ${textOf('timestamp')} from funding_payments
  order by funding_payments.timestamp desc limit 1`

/** `+height`: by the index of heights, SQLite would read and sort all payments. */
export const READ_LAST_UP_TO_HEIGHT = `select ${textOf('timestamp')}, cast(height as text) from funding_payments
  where +height <= $1 order by funding_payments.timestamp desc limit 1`

/** The first day that pruning has not reached, as stored with the sums. */
export const READ_SUMS_FROM = 'select cast(sums_from_day as text) from pruned where sums_from_day is not null'

/** The first day that begins at a time of 64 bits. */
const FIRST_DAY = indexAt(MIN_INT64, DAY) + 1n

/**
 * The days whose payments are added up in the store: those that pruning has not reached, up to that of the newest payment, which
 * is not. None in a store without payments.
 */
export function* readStoredDays(): Query<Days> {
  const [last] = yield { text: READ_LAST_TIME }
  return yield* readDaysBefore(last === undefined ? null : BigInt(last[0]!))
}

/** The days that pruning has not reached, up to that of a time; none if it is null. */
function* readDaysBefore(time: bigint | null): Query<Days> {
  const [pruned] = yield { text: READ_SUMS_FROM }
  return {
    from: pruned === undefined ? FIRST_DAY : BigInt(pruned[0]!),
    to: time === null ? FIRST_DAY : indexAt(time, DAY),
  }
}

/**
 * The time of the newest payment of a published block; null if there is none. On a cluster, a payment of a later block may be
 * visible on one machine before the sums of the day that it closes are on another one: the sums of days before a published
 * payment are on all.
 */
function* readLastPublished({ first, height, gaps, imported }: Coverage): Query<bigint | null> {
  const unpublished: HeightRange[] = [
    { from: 1n, to: first - 1n },
    ...gaps.filter(({ kind }) => kind === 'missing'),
    ...imported.filter(({ lacks }) => lacks.split(' ').includes(fundingPayments.name)),
  ]
  for (let upTo = height; ; ) {
    const [last] = yield { text: READ_LAST_UP_TO_HEIGHT, values: [upTo] }
    if (last === undefined) return null
    const [time, at] = last.map((text) => BigInt(text!)) as [bigint, bigint]
    const range = unpublished.find(({ from, to }) => from <= at && at <= to)
    if (range === undefined) return time
    upTo = range.from - 1n
  }
}

/** The whole days of a range whose sums are stored; null if there are none. */
function* readSummedDays({ start, end }: PaymentRange, coverage: Coverage): Query<Days | null> {
  const stored = yield* readDaysBefore(yield* readLastPublished(coverage))
  const from = start === null ? stored.from : greatest([stored.from, indexAt(start + DAY - 1n, DAY)])
  const to = end === null ? stored.to : least([stored.to, indexAt(end, DAY)])
  return from < to ? { from, to } : null
}

const SUM_COLUMNS = `market_id, party_id, ${textOf('day')}, ${textOf('payments')}, received, paid, loss_amount`

/** The statement for sums by day of a selection, in the order of an index. */
function dailyScanOf({ marketId, partyId }: PaymentSelection, { from, to }: Days): KeysetScan {
  if (marketId === null) {
    return {
      text: `select ${SUM_COLUMNS} from funding_daily_sums
        where party_id = $1 and day < $2 and (day, market_id) > ($3, $4)
        order by funding_daily_sums.day, market_id limit ${ROWS_AT_ONCE}`,
      fixed: [partyId, to],
      begin: [from, ''],
      keyOf: ([market, , day]) => [BigInt(day!), String(market)],
    }
  }
  if (partyId === null) {
    return {
      text: `select ${SUM_COLUMNS} from funding_daily_sums
        where market_id = $1 and day < $2 and (day, party_id) > ($3, $4)
        order by funding_daily_sums.day, party_id limit ${ROWS_AT_ONCE}`,
      fixed: [marketId, to],
      begin: [from, ''],
      keyOf: ([, party, day]) => [BigInt(day!), String(party)],
    }
  }
  return {
    text: `select ${SUM_COLUMNS} from funding_daily_sums
      where party_id = $1 and market_id = $2 and day < $3 and day > $4
      order by funding_daily_sums.day limit ${ROWS_AT_ONCE}`,
    fixed: [partyId, marketId, to],
    begin: [from - 1n],
    keyOf: ([, , day]) => [BigInt(day!)],
  }
}

/** Hands on the sums of a selection by day. */
function* readDailySums(
  selection: PaymentSelection,
  days: Days,
  most: number,
  onSummand: (summand: PartySummand) => void,
): Query<number | null> {
  return yield* readByKey(dailyScanOf(selection, days), most, ([marketId, partyId, day, count, ...sums]) => {
    const [received, paid, lossAmount] = sums.map((text) => decimalOfText(String(text)))
    onSummand({
      marketId: String(marketId),
      partyId: String(partyId),
      time: BigInt(day!) * DAY,
      count: Number(count),
      received: received!,
      paid: paid!,
      lossAmount: lossAmount!,
    })
  })
}

const COLUMNS = `market_id, party_id, ${textOf('timestamp')}, ${textOf('seq')}, amount, loss_amount`

/** The statement for payments of a selection, in the order of an index. */
function scanOf({ marketId, partyId }: PaymentSelection, from: bigint, upTo: bigint): KeysetScan {
  if (marketId === null) {
    return {
      text: `select ${COLUMNS} from funding_payments
        where party_id = $1 and timestamp <= $2 and (timestamp, market_id, seq) > ($3, $4, $5)
        order by timestamp, market_id, seq limit ${ROWS_AT_ONCE}`,
      fixed: [partyId, upTo],
      begin: [from, '', -1n],
      keyOf: ([market, , time, seq]) => [BigInt(time!), String(market), BigInt(seq!)],
    }
  }
  if (partyId === null) {
    return {
      text: `select ${COLUMNS} from funding_payments
        where market_id = $1 and timestamp <= $2 and (timestamp, seq, party_id) > ($3, $4, $5)
        order by timestamp, seq, party_id limit ${ROWS_AT_ONCE}`,
      fixed: [marketId, upTo],
      begin: [from, -1n, ''],
      keyOf: ([, party, time, seq]) => [BigInt(time!), BigInt(seq!), String(party)],
    }
  }
  return {
    text: `select ${COLUMNS} from funding_payments
      where market_id = $1 and party_id = $2 and timestamp >= $3 and timestamp <= $4 and seq > $5
      order by seq limit ${ROWS_AT_ONCE}`,
    fixed: [marketId, partyId, from, upTo],
    begin: [-1n],
    keyOf: ([, , , seq]) => [BigInt(seq!)],
  }
}

/**
 * Hands on each payment of a selection in a range.
 *
 * @param most how many may be read
 * @returns how many were read; null if there are more than that
 */
export function* readPayments(
  selection: PaymentSelection,
  { start, end }: PaymentRange,
  most: number,
  onSummand: (summand: PartySummand) => void,
): Query<number | null> {
  const scan = scanOf(selection, start ?? MIN_INT64, end === null ? MAX_INT64 : end - 1n)
  return yield* readByKey(scan, most, ([marketId, partyId, time, , amount, lossAmount]: Row) => {
    const summand = summandOf(String(amount), String(lossAmount))
    if (summand === null) return
    onSummand({ marketId: String(marketId), partyId: String(partyId), time: BigInt(time!), ...summand })
  })
}

/** A payment as what is added to a sum; null for an amount that is too large to calculate with. */
export function summandOf(amountText: string, lossText: string): Summand | null {
  const amount = parseDecimal(amountText)
  const lossAmount = parseDecimal(lossText)
  if (amount === null || lossAmount === null) return null
  const change = add(amount, lossAmount)
  const isReceived = change.digits > 0n
  return {
    count: 1,
    received: isReceived ? change : ZERO,
    paid: isReceived ? ZERO : subtract(ZERO, change),
    lossAmount,
  }
}

/** What an answer about a range of payments begins with. */
type PaymentCoverage = {
  state: { storeHead: StoreHead; version: StoreVersion } & Missing
  /** The whole days of the range whose sums are stored; null if there are none. */
  days: Days | null
}

/** The state of a store, and what it has of a range of payments; null in an empty store. */
export function* readPaymentCoverage({ start, end }: PaymentRange): Query<PaymentCoverage | null> {
  const filled = yield* readFilledStore()
  if (filled === null) return null
  const { storeHead, version, coverage } = filled
  const since = [...coverage.since, ...(yield* readUnprunedSince(storeHead))]
  const used = [{ resource: fundingPayments.name, start, end }]
  return {
    state: { storeHead, version, ...missingOf({ ...coverage, since }, used) },
    days: yield* readSummedDays({ start, end }, coverage),
  }
}

const READ_HEIGHT_FROM_TIME = `
  select cast(height as text) from funding_payments where timestamp >= $1
  order by timestamp, market_id, seq, party_id limit 1`

const READ_TIME_FROM_HEIGHT = `
  select cast(timestamp as text) from funding_payments where height >= $1
  order by height, event_index, market_id, party_id limit 1`

/** From where payments have not been pruned: the other side of each bound is that of the first payment after it. */
export function* readUnprunedSince(storeHead: StoreHead): Query<Since[]> {
  const pruned = yield* readPrunedBefore()
  const since: Since[] = []
  const resource = fundingPayments.name
  if (pruned?.timestamp != null) {
    const start = BigInt(pruned.timestamp)
    const [first] = yield { text: READ_HEIGHT_FROM_TIME, values: [start] }
    since.push({ resource, height: BigInt(first?.[0] ?? storeHead.height), start })
  }
  if (pruned?.height != null) {
    const height = BigInt(pruned.height)
    const [first] = yield { text: READ_TIME_FROM_HEIGHT, values: [height] }
    since.push({ resource, height, start: BigInt(first?.[0] ?? storeHead.timestamp) })
  }
  return since
}

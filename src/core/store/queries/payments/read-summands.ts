import { decimalOfText } from '../../../domain/decimal.ts'
import { MAX_INT64, MIN_INT64 } from '../../../domain/integers.ts'
import { DAY } from '../../../domain/time.ts'
import type { Row } from '../../../model/resource.ts'
import type { Query } from '../../queries-protocol.ts'
import { textOf } from '../../statements.ts'
import { type PaymentRange, type Summand, summandOf } from './funding-sum.ts'
import { type KeysetScan, ROWS_AT_ONCE, readByKey } from './keyset.ts'
import type { Days } from './summed-days.ts'

/*
 * Payments are added up from the sums of whole days, as far as these are stored, and from the payments of the rest: parts of
 * days at the ends of a range, the day of the newest payment, and days that pruning has reached.
 */

/** An answer adds up so many payments and sums of days at most. */
export const MAX_SUMMED_ROWS = 500_000

/** The payments of a party, of one market, or of a party in one market. */
type PaymentSelection = { marketId: string | null; partyId: string } | { marketId: string; partyId: null }

/** What is added to the sums of a party in a market. */
type PartySummand = Summand & {
  marketId: string
  partyId: string
  /** Of the payment, or the beginning of its day. */
  time: bigint
}

/**
 * Hands on what is to be added up for a selection in a range.
 *
 * @param days the days of the range whose sums are read (`readPaymentCoverage`)
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

const SUM_COLUMNS = `market_id, party_id, ${textOf('day')}, ${textOf('payments')}, received, paid, loss_amount`

/** The scan of a selection's sums by day, in the order of an index. */
function sumsScanOf({ marketId, partyId }: PaymentSelection, { from, to }: Days): KeysetScan {
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
  return yield* readByKey(sumsScanOf(selection, days), most, ([marketId, partyId, day, count, ...sums]) => {
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

const PAYMENT_COLUMNS = `market_id, party_id, ${textOf('timestamp')}, ${textOf('seq')}, amount, loss_amount`

/** The scan of a selection's payments, in the order of an index. */
function paymentsScanOf({ marketId, partyId }: PaymentSelection, from: bigint, upTo: bigint): KeysetScan {
  if (partyId === null) {
    return {
      text: `select ${PAYMENT_COLUMNS} from funding_payments
        where market_id = $1 and timestamp <= $2 and (timestamp, seq, party_id) > ($3, $4, $5)
        order by timestamp, seq, party_id limit ${ROWS_AT_ONCE}`,
      fixed: [marketId, upTo],
      begin: [from, -1n, ''],
      keyOf: ([, party, time, seq]) => [BigInt(time!), BigInt(seq!), String(party)],
    }
  }
  if (marketId === null) {
    return {
      text: `select ${PAYMENT_COLUMNS} from funding_payments
        where party_id = $1 and timestamp <= $2 and (timestamp, market_id, seq) > ($3, $4, $5)
        order by timestamp, market_id, seq limit ${ROWS_AT_ONCE}`,
      fixed: [partyId, upTo],
      begin: [from, '', -1n],
      keyOf: ([market, , time, seq]) => [BigInt(time!), String(market), BigInt(seq!)],
    }
  }
  return {
    text: `select ${PAYMENT_COLUMNS} from funding_payments
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
  const scan = paymentsScanOf(selection, start ?? MIN_INT64, end === null ? MAX_INT64 : end - 1n)
  return yield* readByKey(scan, most, ([marketId, partyId, time, , amount, lossAmount]: Row) => {
    const summand = summandOf(String(amount), String(lossAmount))
    if (summand === null) return
    onSummand({ marketId: String(marketId), partyId: String(partyId), time: BigInt(time!), ...summand })
  })
}

import { MAX_INT64, MIN_INT64 } from '../../domain/integers.ts'
import {
  add,
  type Decimal,
  divide,
  multiply,
  ofInteger,
  parseDecimal,
  textOfDecimal,
  ZERO,
} from '../../funding/decimal.ts'
import type { StoreVersion } from '../changes.ts'
import type { Position, Reading } from '../pages/page.ts'
import { readEndedPeriods } from './ended-periods.ts'
import { readFreshness } from './freshness.ts'
import { readKnownSeqs } from './known-seqs.ts'

export type FundingPaymentsQuery = {
  marketId: string
  /** On the ends of periods: start (inclusive) and end (exclusive), Unix nanoseconds; null if the request leaves it open. */
  start: bigint | null
  end: bigint | null
  /** The size of the position, a decimal number; negative for a short one. */
  units: string
  /** So many payments, the newest first, of the periods before `after`. */
  limit: number
  after: { start: bigint; seq: bigint } | null
}

/** Payment received for a period, in the smallest unit of the settlement asset; negative if the position paid. */
export type ReceivedPayment = { start: bigint; seq: bigint; end: bigint; fundingRate: string; amount: string }

/** The payments of a position over a range of times, of one snapshot. */
export type FundingPayments = {
  position: Position
  version: StoreVersion
  count: number
  total: string
  sumOfRates: string
  averageRate: string | null
  firstEnd: bigint | null
  lastEnd: bigint | null
  /** The start of the earliest period from which on all are stored, up to the last known one; null if there is none. */
  completeFrom: bigint | null
  /** Numbers of known periods within the range, and of those between them, that are not stored with an end: the least. */
  missing: bigint[]
  payments: ReceivedPayment[]
  /** Whether earlier payments of the range follow. */
  more: boolean
}

/** Missing periods that are named, at most. */
const MAX_MISSING = 1_000

/** The latest period that does not follow one that is stored with an end. */
const READ_COMPLETE_FROM = `
  select cast(start_timestamp as text) from funding_periods
  where market_id = $1 and not exists (
    select 1 from funding_periods as before
    where before.market_id = funding_periods.market_id and before.seq = funding_periods.seq - 1
      and before.end_timestamp is not null)
  order by funding_periods.seq desc limit 1`

const READ_LAST_ENDED = `
  select cast(seq as text), cast(end_timestamp as text) from funding_periods
  where market_id = $1 and end_timestamp is not null
  order by funding_periods.start_timestamp desc, funding_periods.seq desc limit 1`

/**
 * Calculates the payments of a position for each period of a market that ended within a range. Null if the store is
 * empty.
 */
export function* readFundingPayments(query: FundingPaymentsQuery): Reading<FundingPayments | null> {
  const { position, version } = yield* readFreshness(null)
  if (position === null) return null
  const { marketId, limit, after } = query
  const units = parseDecimal(query.units)!
  const known = yield* readKnownSeqs(marketId)
  const [complete] = yield { text: READ_COMPLETE_FROM, values: [marketId] }
  const [lastEnded] = yield { text: READ_LAST_ENDED, values: [marketId] }
  const payments: ReceivedPayment[] = []
  const missing = new MissingPeriods()
  let [total, sumOfRates]: [Decimal, Decimal] = [ZERO, ZERO]
  let count = 0
  let [firstEnd, lastEnd]: [bigint | null, bigint | null] = [null, null]
  let more = false
  const [from, upTo] = [query.start ?? MIN_INT64, query.end === null ? MAX_INT64 : query.end - 1n]
  if (known !== null && (lastEnded === undefined || BigInt(lastEnded[1]!) <= upTo)) {
    missing.add(known.last + 1n)
    missing.add(lastEnded === undefined ? known.first - 1n : BigInt(lastEnded[0]!))
  }
  yield* readEndedPeriods(marketId, from, upTo, ({ start, seq, end, paid }) => {
    missing.add(seq)
    if (paid === null) return
    const amount = multiply(multiply(paid.payment, units), MINUS_ONE)
    total = add(total, amount)
    sumOfRates = add(sumOfRates, paid.rate)
    count++
    firstEnd = end
    lastEnd ??= end
    const isAsked = after === null || start < after.start || (start === after.start && seq < after.seq)
    if (!isAsked) return
    if (payments.length === limit) more = true
    else
      payments.push({ start, seq, end, fundingRate: textOfDecimal(paid.rate), amount: textOfDecimal(amount) })
  })
  return {
    ...{ position, version, count, firstEnd, lastEnd, payments, more },
    total: textOfDecimal(total),
    sumOfRates: textOfDecimal(sumOfRates),
    averageRate: count === 0 ? null : textOfDecimal(divide(sumOfRates, ofInteger(BigInt(count)))),
    completeFrom: known?.isLastStored ? BigInt(complete![0]!) : null,
    missing: missing.least,
  }
}

/** A long position pays a positive funding payment. */
const MINUS_ONE = ofInteger(-1n)

/** The numbers between those that are given in descending order. */
class MissingPeriods {
  #before: bigint | null = null
  #gaps: { from: bigint; to: bigint }[] = []

  add(seq: bigint): void {
    if (this.#before !== null && seq + 1n < this.#before)
      this.#gaps.push({ from: seq + 1n, to: this.#before - 1n })
    this.#before = seq
  }

  /** The smallest of them, ascending. */
  get least(): bigint[] {
    const all: bigint[] = []
    for (const { from, to } of this.#gaps.toReversed()) {
      for (let seq = from; seq <= to && all.length < MAX_MISSING; seq++) all.push(seq)
    }
    return all
  }
}

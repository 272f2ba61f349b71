import {
  add,
  type Decimal,
  divide,
  multiply,
  ofInteger,
  parseDecimal,
  textOfDecimal,
  ZERO,
} from '../../../domain/decimal.ts'
import { MAX_INT64, MIN_INT64 } from '../../../domain/integers.ts'
import type { StoreVersion } from '../../changes.ts'
import type { StoreHead } from '../../pages/page.ts'
import type { Query } from '../../queries-protocol.ts'
import { textOf } from '../../statements.ts'
import { readFreshness } from '../freshness.ts'
import { EndedPeriods, type PeriodKey } from './ended-periods.ts'
import { readNamedSeqs } from './named-seqs.ts'

export type PositionFundingQuery = {
  marketId: string
  /**
   * The range of the ends of periods: start (inclusive) and end (exclusive), Unix nanoseconds; null if the request leaves
   * it open.
   */
  start: bigint | null
  end: bigint | null
  /** The size of the position, a decimal number; negative for a short one. */
  units: string
  /** Maximum number of payments, newest first, of periods before `after`. */
  limit: number
  after: PeriodKey | null
}

/** Payment received for a period, in the smallest unit of the settlement asset; negative if the position paid. */
type ReceivedPayment = PeriodKey & { end: bigint; fundingRate: string; amount: string }

/** The payments of a position over a range of times, in one snapshot. */
export type PositionFunding = {
  storeHead: StoreHead
  version: StoreVersion
  /** Null if the request continues after a payment: then no others are read. */
  totals: FundingTotals | null
  payments: ReceivedPayment[]
  /** Whether earlier payments of the range follow; false if no payments were requested. */
  more: boolean
}

/** The sums over all payments of a range. */
type FundingTotals = {
  count: number
  total: string
  sumOfRates: string
  averageRate: string | null
  firstEnd: bigint | null
  lastEnd: bigint | null
  /** The start of the earliest period from which all are stored, up to the last named one; null if there is none. */
  completeFrom: bigint | null
  /**
   * The lowest seqs of missing periods within the range: named ones, and those between named ones, whose end is not stored.
   */
  missing: bigint[]
}

/** Maximum number of missing periods that are named. */
const MAX_MISSING = 1_000

/** The latest period whose predecessor is not stored with an end. */
const READ_COMPLETE_FROM = `
  select cast(start_timestamp as text) from funding_periods
  where market_id = $1 and not exists (
    select 1 from funding_periods as before
    where before.market_id = funding_periods.market_id and before.seq = funding_periods.seq - 1
      and before.end_timestamp is not null)
  order by funding_periods.seq desc limit 1`

const READ_LAST_ENDED = `
  select ${textOf('seq')}, cast(end_timestamp as text) from funding_periods
  where market_id = $1 and end_timestamp is not null
  order by start_timestamp desc, seq desc limit 1`

/**
 * Calculates the payments of a position for all of a market's periods that ended within a range; null if the store is
 * empty.
 */
export function* readPositionFunding(query: PositionFundingQuery): Query<PositionFunding | null> {
  const { storeHead, version } = yield* readFreshness(null)
  if (storeHead === null) return null
  const { marketId, limit, after } = query
  const units = parseDecimal(query.units)!
  const [from, upTo] = [query.start ?? MIN_INT64, query.end === null ? MAX_INT64 : query.end - 1n]
  const sums = after === null ? new PositionSums(yield* readStored(marketId, from, upTo)) : null
  const payments: ReceivedPayment[] = []
  const periods = new EndedPeriods(marketId, { from, upTo, before: after })
  let more = false
  let isComplete = false
  while (!isComplete && !periods.isAtEnd) {
    for (const { start, seq, end, paid } of yield* periods.readChunk()) {
      sums?.addPeriod(seq)
      if (paid === null) continue
      const amount = multiply(multiply(paid.payment, units), MINUS_ONE)
      sums?.addPayment(end, amount, paid.rate)
      if (payments.length < limit) {
        const fundingRate = textOfDecimal(paid.rate)
        payments.push({ start, seq, end, fundingRate, amount: textOfDecimal(amount) })
        continue
      }
      more = limit > 0
      // Only the sums need the payments after those of the page.
      isComplete = sums === null
      if (isComplete) break
    }
  }
  return { storeHead, version, totals: sums?.totals() ?? null, payments, more }
}

/** A long position pays if the funding payment is positive. */
const MINUS_ONE = ofInteger(-1n)

/** Adds up the payments of a range, newest first. */
class PositionSums {
  readonly #stored: StoredPeriods
  #count = 0
  #total = ZERO
  #rates = ZERO
  #firstEnd: bigint | null = null
  #lastEnd: bigint | null = null

  constructor(stored: StoredPeriods) {
    this.#stored = stored
  }

  /** Notes that a period is stored with its end, whether or not it was paid. */
  addPeriod(seq: bigint): void {
    this.#stored.missing.add(seq)
  }

  addPayment(end: bigint, amount: Decimal, rate: Decimal): void {
    this.#count++
    this.#total = add(this.#total, amount)
    this.#rates = add(this.#rates, rate)
    this.#firstEnd = end
    this.#lastEnd ??= end
  }

  totals(): FundingTotals {
    const { completeFrom, missing } = this.#stored
    return {
      count: this.#count,
      firstEnd: this.#firstEnd,
      lastEnd: this.#lastEnd,
      completeFrom,
      missing: missing.least(),
      total: textOfDecimal(this.#total),
      sumOfRates: textOfDecimal(this.#rates),
      averageRate:
        this.#count === 0 ? null : textOfDecimal(divide(this.#rates, ofInteger(BigInt(this.#count)))),
    }
  }
}

/** The start from which all periods are stored, and the first of the seqs that are missing in a range. */
type StoredPeriods = { completeFrom: bigint | null; missing: MissingPeriods }

function* readStored(marketId: string, from: bigint, upTo: bigint): Query<StoredPeriods> {
  const missing = new MissingPeriods()
  const named = yield* readNamedSeqs(marketId)
  const [complete] = yield { text: READ_COMPLETE_FROM, values: [marketId] }
  const [lastEnded] = yield { text: READ_LAST_ENDED, values: [marketId] }
  // Nothing is missing in an empty range.
  if (named !== null && from <= upTo && (lastEnded === undefined || BigInt(lastEnded[1]!) <= upTo)) {
    missing.add(named.last + 1n)
    missing.add(lastEnded === undefined ? named.first - 1n : BigInt(lastEnded[0]!))
  }
  return { completeFrom: named?.isLastStored ? BigInt(complete![0]!) : null, missing }
}

/** Collects the seqs between those that are added, in descending order. */
class MissingPeriods {
  #before: bigint | null = null
  readonly #gaps: { from: bigint; to: bigint }[] = []

  add(seq: bigint): void {
    if (this.#before !== null && seq + 1n < this.#before) {
      this.#gaps.push({ from: seq + 1n, to: this.#before - 1n })
    }
    this.#before = seq
  }

  /** The lowest ones, ascending. */
  least(): bigint[] {
    const all: bigint[] = []
    for (const { from, to } of this.#gaps.toReversed()) {
      for (let seq = from; seq <= to && all.length < MAX_MISSING; seq++) all.push(seq)
    }
    return all
  }
}

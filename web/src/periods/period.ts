import type { FundingPeriod, LyraClient } from 'lyra-client'
import { DAY } from '../../../src/core/domain/time.ts'
import { add, type Decimal, parseDecimal, scaleBy, ZERO } from '../figures/decimal.ts'

/** What rates of periods of different lengths are brought to: their names, and lengths in nanoseconds. */
export const RATE_SPANS = {
  '8h': DAY / 3n,
  year: 365n * DAY,
} as const

/** A market's periods are regular if the last ten are equally long; fewer than three do not tell. */
const REGULAR = 10
const LEAST_REGULAR = 3

/** Decimal places of a rate that is brought to a span. */
const SCALED_PLACES = 18

/** A funding period as views show it; texts are the API's. */
export type Period = {
  seq: bigint
  /** Unix nanoseconds. */
  start: bigint
  /** Null while it is in progress, or if the blocks of its end are missing. */
  end: bigint | null
  payment: string | null
  rate: string | null
  internalTwap: string | null
  externalTwap: string | null
}

export function readPeriod(row: FundingPeriod): Period {
  return {
    seq: BigInt(row.seq),
    start: BigInt(row.start),
    end: row.end === undefined ? null : BigInt(row.end),
    payment: row.fundingPayment ?? null,
    rate: row.fundingRate ?? null,
    internalTwap: row.internalTwap ?? null,
    externalTwap: row.externalTwap ?? null,
  }
}

/** A market's loaded periods, with derived values. */
export type Periods = {
  /** In order of time, oldest first. */
  list: readonly Period[]
  /** Whether the market has older ones than the first. */
  more: boolean
}

/** Requests the newest periods that begin in a range, at most `rows` of them. */
export async function askPeriods(
  lyra: Pick<LyraClient, 'fundingPeriodsPage'>,
  filters: { marketId: string; from?: bigint; to?: bigint },
  rows: number,
  signal?: AbortSignal,
): Promise<Periods> {
  const page = await lyra.fundingPeriodsPage(filters, { first: rows, newestFirst: true, signal })
  return { list: page.rows.map(({ node }) => readPeriod(node)).reverse(), more: page.pageInfo.hasNextPage }
}

/** How long a period was; null if its end is not known. */
export function lengthOf({ start, end }: Pick<Period, 'start' | 'end'>): bigint | null {
  return end === null ? null : end - start
}

/** A rate of a period of this length as it would be for a span; null if there is none. */
export function rateFor(span: bigint, rate: string | null, length: bigint | null): Decimal | null {
  const number = rate === null ? null : parseDecimal(rate)
  return number === null || length === null ? null : scaleBy(number, span, length, SCALED_PLACES)
}

export function annualised(rate: string | null, length: bigint | null): Decimal | null {
  return rateFor(RATE_SPANS.year, rate, length)
}

/** Paid periods whose end is in a range. */
export function dueWithin(periods: readonly Period[], { from, to }: { from: bigint; to: bigint }): Period[] {
  return periods.filter(({ rate, end }) => rate !== null && end !== null && end >= from && end < to)
}

/** The sum of the rates of periods that were paid. */
export function cumulative(periods: readonly Period[]): Decimal {
  return periods.reduce<Decimal>(
    (sum, { rate }) => add(sum, (rate === null ? null : parseDecimal(rate)) ?? ZERO),
    ZERO,
  )
}

/** The length of a market's periods if the last ten of non-zero length are equally long; null if not, or not known. */
export function regularLength(periods: readonly Period[]): bigint | null {
  const last = lastLengths(periods)
  return last.length >= LEAST_REGULAR && last.every((length) => length === last[0]) ? last[0]! : null
}

/** Whether a market's periods are known to be of different lengths. */
export function areIrregular(periods: readonly Period[]): boolean {
  return lastLengths(periods).length >= LEAST_REGULAR && regularLength(periods) === null
}

const lastLengths = (periods: readonly Period[]) =>
  periods
    .map(lengthOf)
    .filter((length) => length !== null && length > 0n)
    .slice(-REGULAR)

/** Length used to annualise a running period: its expected length, or that of the last paid one. */
export function expectedLength(periods: readonly Period[]): bigint | null {
  const paid = periods.filter(({ rate }) => rate !== null).at(-1)
  return regularLength(periods) ?? (paid === undefined ? null : lengthOf(paid))
}

/** Who pays whom, by the sign of a payment or a rate. */
export function whoPays(text: string | null): string {
  const number = text === null ? null : parseDecimal(text)
  if (number === null) return 'no payment'
  if (number.digits === 0n) return 'nobody pays'
  return number.digits > 0n ? 'longs pay shorts' : 'shorts pay longs'
}

/** Why a period was not paid; null if it was. */
export function whyUnpaid({ start, end, payment }: Period, isLast: boolean): string | null {
  if (payment !== null) return null
  if (end === null) return isLast ? 'running' : 'its end lies in missing blocks'
  return end === start ? 'no payment: zero length' : 'no payment: a source had no price before its end'
}

/** When a period ended, as far as is known; the next one's start, or a limit, where its own end is not. */
export function endOf(periods: readonly Period[], index: number, limit: bigint): bigint {
  return periods[index]!.end ?? periods[index + 1]?.start ?? limit
}

/** Periods that overlap a range. */
export function within(periods: readonly Period[], { from, to }: { from: bigint; to: bigint }): Period[] {
  return periods.filter(
    ({ start }, index) => start < to && (start >= from || endOf(periods, index, to) > from),
  )
}

/** Periods that overlap a range or are due in it: one that ends as the range begins is due, but does not overlap. */
export function withinOrDue(periods: readonly Period[], range: { from: bigint; to: bigint }): Period[] {
  const listed = new Set([...within(periods, range), ...dueWithin(periods, range)])
  return periods.filter((period) => listed.has(period))
}

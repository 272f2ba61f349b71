import type { FundingPayment, MarketFunding } from 'lyra-client'
import { DAY } from '../../../src/core/domain/time.ts'
import { add, compare, type Decimal, parseDecimal, ZERO } from '../figures/decimal.ts'

/** A party's payments in a range. */
export type PartyPayments = {
  /** The sums by market and day. */
  markets: readonly MarketFunding[]
  /** The payments; null if they are too many to draw. */
  list: readonly FundingPayment[] | null
}

/** A party's payments on a market, in smallest units of its settlement asset. */
export type MarketSums = {
  marketId: string
  count: number
  /** Sum of all payments and losses; negative if it paid more than it received. */
  total: Decimal
  received: Decimal
  /** Zero or below. */
  paid: Decimal
  /** What others could not pay, zero or below. */
  missed: Decimal
}

/** Change of the party's balance by a payment. */
export function changeOf({ amount, lossAmount }: FundingPayment): Decimal {
  return add(numberOf(amount), numberOf(lossAmount))
}

/** The sums by market, those of the greatest amounts first, whether they were received or paid. */
export function sumsByMarket(markets: readonly MarketFunding[]): MarketSums[] {
  return markets
    .map(({ marketId, count, received, paid, net, lossAmount }) => ({
      marketId,
      count,
      total: numberOf(net),
      received: numberOf(received),
      paid: negative(numberOf(paid)),
      missed: numberOf(lossAmount),
    }))
    .sort(bySize)
}

/** Those of the greatest amounts first, whether they were received or paid; equal ones by id. */
export function bySize(a: Pick<MarketSums, 'total' | 'marketId'>, b: typeof a): number {
  return compare(sizeOf(b.total), sizeOf(a.total)) || (a.marketId < b.marketId ? -1 : 1)
}

const negative = ({ digits, scale }: Decimal): Decimal => ({ digits: -digits, scale })

const sizeOf = (value: Decimal): Decimal => (value.digits < 0n ? negative(value) : value)

/** The sums of several markets of one asset, under the id of the first. */
export function totalOf(sums: readonly MarketSums[]): MarketSums {
  return sums.reduce((all, one) => ({
    marketId: all.marketId,
    count: all.count + one.count,
    total: add(all.total, one.total),
    received: add(all.received, one.received),
    paid: add(all.paid, one.paid),
    missed: add(all.missed, one.missed),
  }))
}

/** The sums of a day, by market. */
export type DaySums = { start: bigint; byMarket: ReadonlyMap<string, Decimal> }

/** The sums by day (UTC), newest first. */
export function sumsByDay(markets: readonly MarketFunding[]): DaySums[] {
  const sums = markets.flatMap(({ marketId, buckets = [] }) =>
    buckets.map(({ start, net }) => ({ start, marketId, sum: numberOf(net) })),
  )
  return [...Map.groupBy(sums, ({ start }) => start)]
    .map(([start, ofDay]) => ({
      start: BigInt(start),
      byMarket: new Map(ofDay.map(({ marketId, sum }) => [marketId, sum])),
    }))
    .sort((a, b) => (a.start > b.start ? -1 : 1))
}

/** The sums by day, and days without any that are to be listed, newest first. */
export function withDays(sums: readonly DaySums[], days: ReadonlySet<bigint>): DaySums[] {
  const summed = new Set(sums.map(({ start }) => start))
  const empty = [...days]
    .filter((start) => !summed.has(start))
    .map((start) => ({ start, byMarket: new Map() }))
  return [...sums, ...empty].sort((a, b) => (a.start > b.start ? -1 : 1))
}

/** A change of a party's balance on a market. */
export type Change = { marketId: string; time: bigint; amount: Decimal }

/** Those by single payments. */
export const changesOf = (payments: readonly FundingPayment[]): Change[] =>
  payments.map((payment) => ({
    marketId: payment.marketId,
    time: BigInt(payment.timestamp),
    amount: changeOf(payment),
  }))

/** Those of whole days, at the end of each, or of the range if that is earlier. */
export const changesByDay = (markets: readonly MarketFunding[], { to }: { to: bigint }): Change[] =>
  markets.flatMap(({ marketId, buckets = [] }) =>
    buckets.map(({ start, net }) => {
      const end = BigInt(start) + DAY
      return { marketId, time: end < to ? end : to, amount: numberOf(net) }
    }),
  )

/** A running sum of changes. */
export type Steps = { times: readonly bigint[]; totals: readonly Decimal[] }

/** The running sum of a market's changes. */
export type MarketSteps = Steps & { marketId: string }

/** The sums over time, by market: those with the greatest amounts at the end first. */
export function cumulative(changes: readonly Change[]): MarketSteps[] {
  const byMarket = Map.groupBy(changes, ({ marketId }) => marketId)
  return [...byMarket]
    .map(([marketId, own]) => {
      const steps = runningSum(own)
      return { marketId, ...steps, total: steps.totals.at(-1)! }
    })
    .sort(bySize)
}

/** The sum over time of changes in one asset. */
export function runningSum(changes: readonly Change[]): Steps {
  const inOrder = changes.toSorted((a, b) => Number(a.time - b.time))
  let total = ZERO
  const totals = inOrder.map(({ amount }) => {
    total = add(total, amount)
    return total
  })
  return { times: inOrder.map(({ time }) => time), totals }
}

/** Amounts that are no numbers of the usual form are left out of sums; the table of a market shows them. */
function numberOf(text: string): Decimal {
  return parseDecimal(text) ?? ZERO
}

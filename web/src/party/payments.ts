import type { FundingPayment } from 'lyra-client'
import { add, compare, type Decimal, parseDecimal, ZERO } from '../figures/decimal.ts'

const DAY = 86_400_000_000_000n

/** A party's payments on a market, in smallest units of its settlement asset. */
export type MarketSums = {
  marketId: string
  count: number
  /** Sum of all payments and losses; negative if it paid more than it received. */
  total: Decimal
  received: Decimal
  paid: Decimal
  /** What others could not pay, zero or below. */
  missed: Decimal
}

/** Change of the party's balance by a payment. */
export function changeOf({ amount, lossAmount }: FundingPayment): Decimal {
  return add(numberOf(amount), numberOf(lossAmount))
}

/** The sums of payments by market, those of the greatest amounts first, whether they were received or paid. */
export function sumsByMarket(payments: readonly FundingPayment[]): MarketSums[] {
  const sums = new Map<string, MarketSums>()
  for (const payment of payments) {
    const { marketId, lossAmount } = payment
    const known = sums.get(marketId)
    const own = known ?? { marketId, count: 0, total: ZERO, received: ZERO, paid: ZERO, missed: ZERO }
    const change = changeOf(payment)
    own.count++
    own.total = add(own.total, change)
    if (change.digits > 0n) own.received = add(own.received, change)
    else own.paid = add(own.paid, change)
    own.missed = add(own.missed, numberOf(lossAmount))
    if (known === undefined) sums.set(marketId, own)
  }
  return [...sums.values()].sort(bySize)
}

function bySize(a: Pick<MarketSums, 'total' | 'marketId'>, b: typeof a): number {
  return compare(sizeOf(b.total), sizeOf(a.total)) || (a.marketId < b.marketId ? -1 : 1)
}

const sizeOf = ({ digits, scale }: Decimal): Decimal => ({ digits: digits < 0n ? -digits : digits, scale })

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

/** The sums of payments by day (UTC), newest first. */
export function sumsByDay(payments: readonly FundingPayment[]): DaySums[] {
  const days = Map.groupBy(payments, ({ timestamp }) => {
    const time = BigInt(timestamp)
    return time - (((time % DAY) + DAY) % DAY)
  })
  return [...days]
    .map(([start, own]) => ({
      start,
      byMarket: new Map(sumsByMarket(own).map(({ marketId, total }) => [marketId, total])),
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

/** A running sum of payments. */
export type Steps = { times: readonly bigint[]; totals: readonly Decimal[] }

/** The running sum of a market's payments. */
export type MarketSteps = Steps & { marketId: string }

/** The sums over time, by market: those with the greatest amounts at the end first. */
export function cumulative(payments: readonly FundingPayment[]): MarketSteps[] {
  const byMarket = Map.groupBy(payments, ({ marketId }) => marketId)
  return [...byMarket]
    .map(([marketId, own]) => {
      const steps = runningSum(own)
      return { marketId, ...steps, total: steps.totals.at(-1)! }
    })
    .sort(bySize)
}

/** The sum over time of payments of one asset. */
export function runningSum(payments: readonly FundingPayment[]): Steps {
  const inOrder = payments.toSorted((a, b) => Number(BigInt(a.timestamp) - BigInt(b.timestamp)))
  let total = ZERO
  const totals = inOrder.map((payment) => {
    total = add(total, changeOf(payment))
    return total
  })
  return { times: inOrder.map(({ timestamp }) => BigInt(timestamp)), totals }
}

/** Amounts that are no numbers of the usual form are left out of sums; the table of a market shows them. */
function numberOf(text: string): Decimal {
  return parseDecimal(text) ?? ZERO
}

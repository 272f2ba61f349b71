import type { LyraClient, MarketFunding, MarketSummary } from 'lyra-client'
import { DAY } from '../../../src/core/domain/time.ts'
import { add, type Decimal, parseDecimal, scaleBy, ZERO } from '../figures/decimal.ts'
import { receivedBy } from '../funding/data/units.ts'
import { bySize, changeOf } from '../payments/payments.ts'
import { askEach, type SinglePayment } from '../payments/single-payments.ts'
import { nextPaymentOf } from '../service/summary.ts'

/** Payments that are looked through for the latest one of each market. */
const LATEST = 200

/** What a party has paid and received, and its latest payments. */
export type PartyFigures = {
  week: readonly MarketFunding[]
  month: readonly MarketFunding[]
  latest: readonly SinglePayment[]
}

/** Asks for a party's figures of 7 and 30 days up to a time, the last block's, which is included. */
export async function askParty(
  client: LyraClient,
  partyId: string,
  last: bigint,
  signal?: AbortSignal,
): Promise<PartyFigures> {
  const rangeOf = (days: bigint) => ({ from: last + 1n - days * DAY, to: last + 1n })
  const sumsOf = async (days: bigint) =>
    (await client.partyFunding(partyId, { ...rangeOf(days), signal })).partyFunding.markets
  const [week, month, { payments }] = await Promise.all([
    sumsOf(7n),
    sumsOf(30n),
    askEach(client, { partyId, ...rangeOf(30n) }, { first: LATEST }, signal),
  ])
  return { week, month, latest: payments }
}

/** A party on a market, in smallest units of the settlement asset. */
export type Holding = {
  marketId: string
  /** What changed its balance in the last 7 and 30 days. */
  week: Decimal
  month: Decimal
  last: SinglePayment | null
  /** When the next payment is due, Unix nanoseconds; null if that is not known. */
  due: bigint | null
  /** What it will receive then by the estimate now, with the position of the last payment; null if that is not known. */
  estimate: Decimal | null
}

/** The markets on which a party has paid or received anything in 30 days, those of the greatest amounts first. */
export function holdingsOf(
  { week, month, latest }: PartyFigures,
  summaries: readonly MarketSummary[],
  last: bigint,
): Holding[] {
  return month
    .map(({ marketId, net }): Holding => {
      const summary = summaries.find((one) => one.marketId === marketId) ?? null
      const paid = latest.find((payment) => payment.marketId === marketId) ?? null
      const due = summary === null ? null : nextPaymentOf(summary, last)
      return {
        marketId,
        week: parseDecimal(week.find((one) => one.marketId === marketId)?.net ?? '') ?? ZERO,
        month: parseDecimal(net) ?? ZERO,
        last: paid,
        due,
        estimate: due === null || paid === null ? null : estimatedFor(paid, summary),
      }
    })
    .sort((a, b) =>
      bySize({ marketId: a.marketId, total: a.month }, { marketId: b.marketId, total: b.month }),
    )
}

/** Null if the position has ended, as far as payments say: the period after the last payment was paid, too. */
function estimatedFor(
  { size, fundingPeriodSeq }: SinglePayment,
  summary: MarketSummary | null,
): Decimal | null {
  const isOfLastPeriod = summary?.lastPaidPeriod?.seq === fundingPeriodSeq
  const received = receivedBy(size ?? '', summary?.estimate?.fundingPayment ?? '')
  const number = received === null || !isOfLastPeriod ? null : parseDecimal(received)
  // The core cuts amounts to the smallest unit.
  return number === null ? null : scaleBy(number, 1n, 1n, 0)
}

/** The sum of those of several amounts that are known, and how many these are; null if none is. */
export function totalOf(amounts: readonly (Decimal | null)[]): { sum: Decimal; known: number } | null {
  const known = amounts.filter((amount) => amount !== null)
  return known.length === 0 ? null : { sum: known.reduce(add), known: known.length }
}

/** What the party received at its last payment on a market, after losses. */
export const lastChange = ({ last }: Holding): Decimal | null => (last === null ? null : changeOf(last))

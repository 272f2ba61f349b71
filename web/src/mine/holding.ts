import type { LyraClient, MarketFunding, MarketSummary } from 'lyra-client'
import { add, type Decimal, parseDecimal, round, ZERO } from '../figures/decimal.ts'
import { midnightBefore } from '../funding/days.ts'
import { receivedBy } from '../funding/units.ts'
import { DAY } from '../funding/view-range.ts'
import { nextPaymentOf } from '../markets/summary.ts'
import { bySize, changeOf } from '../party/payments.ts'
import { askEach, type SinglePayment } from '../party/single-payments.tsx'

/** Payments that are looked through for the latest one of each market. */
const LATEST = 200

/** What a party has paid and received, and its latest payment on each market. */
export type PartyFigures = { markets: readonly MarketFunding[]; latest: readonly SinglePayment[] }

/** Asks for a party's figures of 30 days up to a time, the last block's. */
export async function askParty(
  client: LyraClient,
  partyId: string,
  last: bigint,
  signal?: AbortSignal,
): Promise<PartyFigures> {
  const range = { from: last - 30n * DAY, to: last + 1n }
  const [{ partyFunding }, { payments }] = await Promise.all([
    client.partyFunding(partyId, { ...range, interval: '1d', signal }),
    askEach(client, { partyId, ...range }, { first: LATEST }, signal),
  ])
  return { markets: partyFunding.markets, latest: payments }
}

/** A party on a market, in smallest units of the settlement asset. */
export type Holding = {
  marketId: string
  /** What changed its balance in the last seven days (by whole UTC days) and in the last 30. */
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
  { markets, latest }: PartyFigures,
  summaries: readonly MarketSummary[],
  last: bigint,
): Holding[] {
  const weekStart = midnightBefore(last) - 6n * DAY
  return markets
    .map(({ marketId, net, buckets = [] }): Holding => {
      const summary = summaries.find((one) => one.marketId === marketId) ?? null
      const paid = latest.find((payment) => payment.marketId === marketId) ?? null
      const due = summary === null ? null : nextPaymentOf(summary, last)
      return {
        marketId,
        week: buckets
          .filter(({ start }) => BigInt(start) >= weekStart)
          .reduce((sum, { net: ofDay }) => add(sum, parseDecimal(ofDay) ?? ZERO), ZERO),
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
  // Amounts are whole numbers of the smallest unit.
  return number === null ? null : round(number, 0)
}

/** The sums of several markets with one settlement asset. */
export function totalOfHoldings(holdings: readonly Holding[]): {
  week: Decimal
  month: Decimal
  estimate: Decimal
} {
  const sumOf = (read: (holding: Holding) => Decimal | null) =>
    holdings.reduce((sum, holding) => add(sum, read(holding) ?? ZERO), ZERO)
  return {
    week: sumOf(({ week }) => week),
    month: sumOf(({ month }) => month),
    estimate: sumOf(({ estimate }) => estimate),
  }
}

/** What the party received at its last payment on a market, after losses. */
export const lastChange = ({ last }: Holding): Decimal | null => (last === null ? null : changeOf(last))

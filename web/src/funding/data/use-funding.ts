import type { FundingEstimate } from 'lyra-client'
import { useRef } from 'preact/hooks'
import { askPeriods, type Periods } from '../../periods/period.ts'
import { subjectOf, type ViewRange } from '../../range/view-range.ts'
import { type Auction, readAuctions } from '../../series/auctions.ts'
import { type Range, readSeries, type Series } from '../../series/series.ts'
import { lastHeight, latestCoverage } from '../../service/coverage.ts'
import { lyra } from '../../service/lyra.ts'
import { useChanges } from '../../service/use-changes.ts'
import { type Query, useQuery } from '../../service/use-query.ts'
import { areTooMany, askDays, type Day, daysOf } from './days.ts'
import { bucketsWanted, FIRST_PERIODS, widened } from './requests.ts'
import { type RangePayments, usePayments } from './use-payments.ts'

/** A range that changes quickly, as when it is dragged, is asked for once it rests. */
const REST_MS = 120

/** How many times as long as the shown range the loaded one may be: beyond, its buckets are seen. */
const COARSEST = 3n

/** Periods that are asked for if the range has more than the first ones: as many as a page has. */
const MOST_PERIODS = 5_000

/** A market's funding in a range: what its view asks for at once, and keeps up to date. */
export type Funding = {
  series: Query<Series>
  /** The market's newest periods: one of them runs, and one was paid last. */
  newest: Query<Periods>
  /** Those of the range, and the newest ones. */
  periods: Query<Periods>
  /** Null if nothing runs, or what would be needed is not known. */
  estimate: Query<FundingEstimate | null>
  auctions: Query<readonly Auction[]>
  /** Whether the range has too many periods to draw, so that sums by day are drawn. */
  byDay: boolean
  /** Sums by day; null data unless they are drawn. */
  days: Query<readonly Day[]>
  /** The service's sums over the range. */
  payments: Query<RangePayments>
  /** Changes when there may be new points. */
  version: string
  /** How many points have arrived since the view was opened. */
  newPoints: number
}

/**
 * Asks for a market's funding in a range, and again when there may be new data.
 *
 * @param stored the time that the market's data cover
 */
export function useFunding(marketId: string, stored: Range, range: ViewRange): Funding {
  const arrived = useChanges(marketId, (client, options) =>
    client.streamFundingPeriodDataPoints({ marketId }, options),
  )
  const loaded = useWindow(range)
  const subject = `${marketId} ${loaded.subject}`
  const ends = { from: loaded.from, to: loaded.to }
  const window = `${ends.from} ${ends.to}`
  const coverage = latestCoverage()
  const height = coverage === null ? '' : lastHeight(coverage)
  const points = coverage?.fundingPeriodDataPoints.find((entry) => entry.marketId === marketId)
  const version = `${arrived.version} ${points?.count ?? ''} ${points?.lastTimestamp ?? ''}`
  const series = useQuery(
    subject,
    async (signal) => readSeries(await lyra.series(marketId, { ...ends, buckets: bucketsWanted(), signal })),
    { version: `${window} ${version}`, restMs: REST_MS },
  )
  const counted = coverage?.fundingPeriods.find((entry) => entry.marketId === marketId)
  // A period ends in the block in which the next one begins; or its end comes with blocks that were missing.
  const periodsVersion = `${counted?.count} ${counted?.lastTimestamp} ${coverage?.blocks.gaps.length}`
  const newest = useQuery(marketId, (signal) => askPeriods(lyra, { marketId }, FIRST_PERIODS, signal), {
    version: periodsVersion,
  })
  const [oldest] = newest.data?.list ?? []
  const older = newest.data?.more === true && oldest !== undefined && loaded.from < oldest.start
  const wider = useQuery(older ? subject : null, (signal) => askPeriodsOf(marketId, ends, signal), {
    version: window,
    restMs: REST_MS,
  })
  const estimate = useQuery(marketId, (signal) => lyra.fundingEstimate(marketId, { signal }), {
    version: height,
  })
  const auctions = useQuery(
    marketId,
    async (signal) => readAuctions(await lyra.marketAuctions(marketId, { signal })),
    { version },
  )
  const periods = older ? { ...wider, data: merge(wider.data, newest.data) } : newest
  // While periods are loading, the chart does not change.
  const byDay = useRef(false)
  if (!periods.loading && periods.data !== null) {
    byDay.current = areTooMany(periods.data.list, periods.data.more, range)
  }
  const whole = daysOf(loaded, stored)
  const days = useQuery(byDay.current ? subject : null, (signal) => askDays(lyra, marketId, whole, signal), {
    version: `${whole.from} ${whole.to} ${periodsVersion}`,
    restMs: REST_MS,
  })
  const latest = newest.data?.list ?? []
  const payments = usePayments(marketId, range, `${latest.length} ${latest.at(-1)?.seq ?? ''}`)
  return {
    series,
    newest,
    periods,
    estimate,
    auctions,
    byDay: byDay.current,
    days,
    payments,
    version,
    newPoints: arrived.rows,
  }
}

/** The periods of a range, with the one that ran when it begins. */
async function askPeriodsOf(marketId: string, range: Range, signal: AbortSignal): Promise<Periods> {
  const begun = await askPeriods(lyra, { marketId, ...range }, MOST_PERIODS, signal)
  if (begun.more) return begun
  const earlier = await askPeriods(lyra, { marketId, to: range.from }, 1, signal)
  return { list: [...earlier.list, ...begun.list], more: earlier.more }
}

/** The range that is loaded, kept while the shown one moves in it. */
function useWindow(shown: ViewRange): Range & { subject: string } {
  const loaded = useRef<(Range & { subject: string }) | null>(null)
  const { current } = loaded
  const fits =
    current !== null &&
    current.from <= shown.from &&
    shown.to <= current.to &&
    current.to - current.from <= (shown.to - shown.from) * COARSEST
  if (!fits) loaded.current = { ...widened(shown), subject: subjectOf(shown) }
  return loaded.current!
}

/** Periods of a range and the newest ones, each once. */
function merge(older: Periods | null, newest: Periods | null): Periods | null {
  if (older === null || newest === null) return null
  const first = newest.list[0]
  return {
    list: [...older.list.filter(({ seq }) => first === undefined || seq < first.seq), ...newest.list],
    more: older.more,
  }
}

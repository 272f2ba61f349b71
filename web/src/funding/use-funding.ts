import type { FundingEstimate } from 'lyra-client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { askPeriods, type Periods } from '../periods/period.ts'
import { type Auction, readAuctions } from '../series/auctions.ts'
import { type Range, readSeries, type Series } from '../series/series.ts'
import { lastHeight, latestCoverage } from '../service/coverage.ts'
import { lyra } from '../service/lyra.ts'
import { type Query, useQuery } from '../service/use-query.ts'
import { areTooMany, askDays, type Day, daysOf } from './days.ts'
import { bucketsWanted, FIRST_PERIODS, widened } from './requests.ts'

/** A range that changes quickly, as when it is dragged, is asked for once it rests. */
const REST_MS = 120

/** How many times as long as the shown range the loaded one may be: beyond, its buckets are seen. */
const COARSEST = 3n

/** Periods that are asked for if the range has more than the first ones: as many as a page has. */
const MOST_PERIODS = 5_000

/** Data of a funding chart, from four requests, or five. */
export type Funding = {
  series: Query<Series>
  periods: Query<Periods>
  /** Null if nothing runs, or what would be needed is not known. */
  estimate: Query<FundingEstimate | null>
  auctions: Query<readonly Auction[]>
  /** Sums by day, if the range has too many periods to draw; null data if it does not. */
  days: Query<readonly Day[]>
}

/**
 * A market's points and periods about a range.
 *
 * @param held the time that the market's data cover
 * @param version changes when there may be new ones
 */
export function useFunding(marketId: string, held: Range, range: Range, version: string): Funding {
  const loaded = useWindow(range)
  const coverage = latestCoverage()
  const height = coverage === null ? '' : lastHeight(coverage)
  const series = useQuery(`${marketId} ${loaded.from} ${loaded.to} ${version}`, async (signal) =>
    readSeries(await lyra.series(marketId, { ...loaded, buckets: bucketsWanted(), signal })),
  )
  const counted = coverage?.fundingPeriods.find((entry) => entry.marketId === marketId)
  // A period ends in the block in which the next one begins; or its end comes with blocks that were missing.
  const changes = `${counted?.count} ${counted?.lastTimestamp} ${coverage?.blocks.gaps.length}`
  const known = useQuery(`${marketId} ${changes}`, (signal) =>
    askPeriods(lyra, { marketId }, FIRST_PERIODS, signal),
  )
  const [oldest] = known.data?.list ?? []
  const older = known.data?.more === true && oldest !== undefined && loaded.from < oldest.start
  const wider = useQuery(older ? `${marketId} ${loaded.from} ${loaded.to}` : null, (signal) =>
    askPeriods(lyra, { marketId, ...loaded }, MOST_PERIODS, signal),
  )
  const estimate = useQuery(`${marketId} ${height}`, (signal) => lyra.fundingEstimate(marketId, { signal }))
  const auctions = useQuery(`${marketId} ${version}`, async (signal) =>
    readAuctions(await lyra.auctions(marketId, { signal })),
  )
  const periods = older ? { ...wider, data: merge(wider.data, known.data) } : known
  // While periods are loading, the chart does not change.
  const byDay = useRef(false)
  if (!periods.loading && periods.data !== null) {
    byDay.current = areTooMany(periods.data.list, periods.data.more, range)
  }
  const whole = daysOf(loaded, held)
  const days = useQuery(byDay.current ? `${marketId} ${whole.from} ${whole.to} ${changes}` : null, (signal) =>
    askDays(lyra, marketId, whole, signal),
  )
  return { series, auctions, periods, estimate, days: byDay.current ? days : { ...days, data: null } }
}

/** The range that is loaded, kept while the shown one moves in it. */
function useWindow(shown: Range): Range {
  const [loaded, setLoaded] = useState(() => widened(shown))
  const length = shown.to - shown.from
  const fits =
    loaded.from <= shown.from && shown.to <= loaded.to && loaded.to - loaded.from <= length * COARSEST
  useEffect(() => {
    if (fits) return
    const timer = setTimeout(() => setLoaded(widened({ from: shown.from, to: shown.to })), REST_MS)
    return () => clearTimeout(timer)
  }, [fits, shown.from, shown.to])
  return loaded
}

/** Periods of a range and the newest ones, each once. */
function merge(older: Periods | null, newest: Periods | null): Periods | null {
  if (older === null || newest === null) return newest
  const first = newest.list[0]
  return {
    list: [...older.list.filter(({ seq }) => first === undefined || seq < first.seq), ...newest.list],
    more: older.more,
  }
}

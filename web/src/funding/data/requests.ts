import type { Coverage } from 'lyra-client'
import { pageTarget, reportTarget } from '../../../../client/src/requests.ts'
import { nearestInt64 } from '../../../../src/core/domain/integers.ts'
import { param } from '../../location.ts'
import { type GivenRange, viewRange } from '../../range/view-range.ts'
import type { Range } from '../../series/series.ts'
import { latestCoverage } from '../../service/coverage.ts'
import { instruments } from '../../service/instruments.ts'
import { knownMarkets } from '../../service/markets.ts'

/**
 * Maximum number of buckets in a chart: a third is invisible, since a quarter of the range is loaded on either
 * side too.
 */
const MOST_BUCKETS = 1_500

/** Answers of a few sizes can be shared between readers. */
const BUCKETS_STEP = 250

/** Buckets of a chart: about one for each pixel of the window. */
export function bucketsWanted(): number {
  const wanted = Math.ceil(innerWidth / BUCKETS_STEP) * BUCKETS_STEP
  return Math.min(MOST_BUCKETS, Math.max(2 * BUCKETS_STEP, wanted))
}

/** Periods that are asked for at first; a range of more gets as many as a page has. */
export const FIRST_PERIODS = 1_000

/** The market that the view shows: the one named, or the first by name; null if that is not known yet, or none is stored. */
export function fundingMarket(): string | null {
  const named = param('market')?.toLowerCase()
  if (named !== undefined) return named
  const coverage = latestCoverage()
  const areNamed = coverage?.instruments.count === '0' || instruments.value !== null
  return areNamed ? (knownMarkets('funding')[0] ?? null) : null
}

/** The range that is loaded: the shown one with a quarter of its length on either side. */
export function widened({ from, to }: Range): Range {
  const quarter = (to - from) / 4n
  return { from: nearestInt64(from - quarter), to: nearestInt64(to + quarter) }
}

/** The requests of a chart's points and periods, as the view makes them first; none for a market that the coverage does not name. */
export function fundingRequests(coverage: Coverage, marketId: string, given: GivenRange): string[] {
  const stored = storedRange(coverage, marketId)
  if (stored === null) return []
  const range = viewRange(given, stored, BigInt(coverage.blocks.lastTimestamp))
  return [
    reportTarget('series', marketId, { ...widened(range), buckets: bucketsWanted() }),
    pageTarget('fundingPeriods', { marketId }, { first: FIRST_PERIODS, newestFirst: true }),
  ]
}

/** Time span of a market's data: from its first point or period to its last. */
export function storedRange(coverage: Coverage, marketId: string): Range | null {
  const found = [coverage.fundingPeriodDataPoints, coverage.fundingPeriods].flatMap(
    (list) => list.find((entry) => entry.marketId === marketId) ?? [],
  )
  if (found.length === 0) return null
  const times = (name: 'firstTimestamp' | 'lastTimestamp') => found.map((entry) => BigInt(entry[name]))
  return {
    from: times('firstTimestamp').reduce((least, time) => (time < least ? time : least)),
    to: times('lastTimestamp').reduce((most, time) => (time > most ? time : most)),
  }
}

import { describeGaps } from '../../charts/gap-times.ts'
import { groupDigits } from '../../figures/format-figure.ts'
import { formatSecond } from '../../figures/format-time.ts'
import type { Range } from '../../series/series.ts'
import { MOST_BARS } from '../data/days.ts'
import { type FundingData, isWithin } from './chart-columns.ts'
import { CHARTS } from './funding-charts.ts'

/** The latest of several times, and how many there are besides. */
function describeAuctions(times: readonly Range[]): string {
  const { from, to } = times.at(-1)!
  const others = times.length - 1
  const latest = `from ${formatSecond(from)} to ${formatSecond(to)}`
  return others === 0
    ? latest
    : `${latest} and ${groupDigits(`${others}`)} earlier ${others === 1 ? 'auction' : 'auctions'}`
}

type ChartNotesProps = {
  data: FundingData
  range: Range
  why: string | null
  /** Whether rates are drawn in sums by day. */
  byDay: boolean
}

/** Describes what the charts show and omit. */
export function ChartNotes({ data, range, why, byDay }: ChartNotesProps) {
  const shades = data.shades.filter(({ from, to }) => from < range.to && to > range.from)
  const gaps = shades.filter(({ kind }) => kind === 'gap')
  const auctions = shades.filter(({ kind }) => kind === 'auction')
  const counts = (['external', 'internal'] as const).map((source) =>
    data.moments.reduce(
      (sum, moment) =>
        moment[source]?.start === moment.start && isWithin(moment, data, range)
          ? sum + moment[source]!.count
          : sum,
      0n,
    ),
  )
  return (
    <p class="notes" data-charts={CHARTS.length}>
      Drawn from {groupDigits(`${counts[0]}`)} external and {groupDigits(`${counts[1]}`)} internal points: the
      last price and TWAP of each step, with a band from its lowest to its highest price. Steps at the ends of
      the range count whole, and each point once: the table of data points lists it again for each later
      period into which it was carried over.
      {byDay &&
        ` The range has more than ${groupDigits(`${MOST_BARS}`)} funding periods: rates are drawn in sums by day (UTC), from /api/v2/funding-rates.`}
      {auctions.length > 0 && (
        <>
          {' '}
          <span class="key auction" /> In auction {describeAuctions(auctions)}: prices in an auction do not
          count towards TWAPs.
        </>
      )}
      {gaps.length > 0 && (
        <>
          {' '}
          <span class="key gap" /> {describeGaps(gaps)}.
        </>
      )}
      {why !== null && ` Prices are shown as sent, as whole numbers: ${why}.`}
    </p>
  )
}

import { DAY, SECOND } from '../../../src/core/domain/time.ts'
import { formatMinute } from '../figures/format-time.ts'
import { param, setParams } from '../location.ts'
import { MissingRows } from '../parts/states/missing-rows.tsx'
import { RangeBar } from '../range/range-bar.tsx'
import { type ViewRange, viewRange } from '../range/view-range.ts'
import type { Range } from '../series/series.ts'
import { latestCoverage } from '../service/coverage.ts'

/** From when to when the store has payments of any party; null if it has none. */
export function rangeOfPayments(): Range | null {
  const spans = latestCoverage()?.fundingPayments ?? []
  const times = spans.flatMap(({ firstTimestamp, lastTimestamp }) => [
    BigInt(firstTimestamp),
    BigInt(lastTimestamp),
  ])
  if (times.length === 0) return null
  const last = times.reduce((a, b) => (a > b ? a : b))
  // To the end of its second: ranges are shown in whole seconds.
  return { from: times.reduce((a, b) => (a < b ? a : b)), to: last - (last % SECOND) + SECOND - 1n }
}

/** The time of the last block. */
export const lastTime = () => BigInt(latestCoverage()?.blocks.lastTimestamp ?? 0)

/** A week up to the last payment, unless the address names another range. */
export function shownRange(stored: Range): ViewRange {
  const given = { from: param('from'), to: param('to'), span: param('span') }
  return viewRange(given, stored, lastTime(), '7d')
}

/** The first pages of both tables. */
export const FIRST_PAGES = { day: null, after: null, before: null }

/** The range of the payments that are added up, to be changed, and what is missing of them. */
export function PaymentRange({ stored, range }: { stored: Range; range: ViewRange }) {
  return (
    <>
      <RangeBar
        range={range}
        stored={stored}
        last={lastTime()}
        least={DAY}
        onSpan={(name) => setParams({ span: name, from: null, to: null, ...FIRST_PAGES })}
        onRange={({ from, to }) => setParams({ from: `${from}`, to: `${to}`, span: null, ...FIRST_PAGES })}
      />
      <p class="range-said">
        {formatMinute(range.from)} to {formatMinute(range.to)} UTC
      </p>
      <MissingRows resource="fundingPayments" range={range} />
    </>
  )
}

import { useMemo } from 'preact/hooks'
import { useGapShades } from '../charts/gap-times.ts'
import { inUnit } from '../figures/amount.ts'
import { changesByDay, changesOf, cumulative, type PartyPayments, runningSum } from '../payments/payments.ts'
import { latestCoverage } from '../service/coverage.ts'
import { marketLabel, marketUnit } from '../service/instruments.ts'
import { CumulativeChart } from './cumulative-chart.tsx'

/** Lines of a chart: more cannot be told apart. */
const MOST_LINES = 6

/** The running sums of a party's payments on the markets of one asset. */
export function AssetChart({
  payments: { markets, list },
  shown,
  to,
}: {
  payments: PartyPayments
  shown: readonly string[]
  /** The end of the range. */
  to: bigint
}) {
  // The chart is drawn anew for other lines only.
  const { own, lines, total } = useMemo(() => {
    const all = list === null ? changesByDay(markets, { to }) : changesOf(list)
    const changes = all.filter(({ marketId }) => shown.includes(marketId))
    const own = cumulative(changes)
    return { own, lines: own.slice(0, MOST_LINES), total: own.length > 1 ? runningSum(changes) : null }
  }, [markets, list, shown.join(), to])
  const unit = marketUnit(shown[0]!)
  const gaps = useGapShades(latestCoverage()?.blocks.gaps ?? [])
  return (
    <>
      <h3 class="chart-title">
        Cumulative{list === null && ', by day'}
        {inUnit(unit)}
      </h3>
      <CumulativeChart lines={lines} total={total} unit={unit} shades={gaps} />
      {own.length > MOST_LINES && (
        <p class="quiet">
          Not drawn, as the smaller ones:{' '}
          {own
            .slice(MOST_LINES)
            .map(({ marketId }) => marketLabel(marketId))
            .join(', ')}
          .
        </p>
      )}
    </>
  )
}

import { formatSecond } from '../../figures/format-time.ts'
import { Empty } from '../../parts/states/states.tsx'
import type { Range } from '../../series/series.ts'
import { lyra } from '../../service/lyra.ts'
import { isWhole, missingOf } from '../../service/missing.ts'
import { useQuery } from '../../service/use-query.ts'

export type NearestProps = {
  marketId: string
  range: Range
  stored: Range
  onRange: (range: Range) => void
  onAll: () => void
}

/** Shown for a range without points: links to the nearest ones. */
export function Nearest({ marketId, range, stored, onRange, onAll }: NearestProps) {
  const query = useQuery(`${marketId} ${range.from} ${range.to}`, async (signal) => {
    const [before, after] = await Promise.all([
      lyra.fundingPeriodDataPointsPage({ marketId, to: range.from }, { first: 1, signal }),
      lyra.fundingPeriodDataPointsPage(
        { marketId, from: range.to },
        { first: 1, newestFirst: false, signal },
      ),
    ])
    return { before: before.rows[0]?.node.timestamp, after: after.rows[0]?.node.timestamp }
  })
  const data = query.isOther ? null : query.data
  const length = range.to - range.from
  const jump = (time: bigint) => onRange({ from: time - length / 2n, to: time + length / 2n })
  return (
    <Empty title="No data points in this range">
      <p>
        From {formatSecond(range.from)} to {formatSecond(range.to)} no data points are stored
        {isWhole(missingOf('fundingPeriodDataPoints', range)) ? '' : ', and blocks are missing'}. This
        market's data are from {formatSecond(stored.from)} to {formatSecond(stored.to)} (UTC).
      </p>
      <p class="jumps">
        {data?.before !== undefined && (
          <button type="button" class="button" onClick={() => jump(BigInt(data.before!))}>
            ← Last before: {formatSecond(data.before)}
          </button>
        )}
        {data?.after !== undefined && (
          <button type="button" class="button" onClick={() => jump(BigInt(data.after!))}>
            First after: {formatSecond(data.after)} →
          </button>
        )}
        <button type="button" class="button" onClick={onAll}>
          Show all
        </button>
      </p>
    </Empty>
  )
}

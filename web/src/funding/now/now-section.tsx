import type { MarketSummary } from 'lyra-client'
import { nextPayment } from '../../../../src/core/domain/market-figures.ts'
import { useNarrow } from '../../parts/narrow.ts'
import { Answered, Skeleton } from '../../parts/states/states.tsx'
import type { ViewRange } from '../../range/view-range.ts'
import { latestCoverage } from '../../service/coverage.ts'
import { instrumentOf, marketUnit } from '../../service/instruments.ts'
import { type Query, together } from '../../service/use-query.ts'
import { areAllOf } from '../data/days.ts'
import { runningPeriod } from '../data/reading.ts'
import type { Funding } from '../data/use-funding.ts'
import { Cumulative, NowFigures } from './now-figures.tsx'
import { PositionPayments } from './position-payments.tsx'

export type FiguresProps = {
  marketId: string
  funding: Funding
  range: ViewRange
  summary: Query<MarketSummary | null>
}

/** The estimated payment of the running period and the last payment, with the figures of the range unless the page is a phone's. */
export function NowSection({ marketId, funding, range, summary }: FiguresProps) {
  const { newest, estimate } = funding
  const last = BigInt(latestCoverage()!.blocks.lastTimestamp)
  const narrow = useNarrow()
  return (
    <section class="panel now" aria-label="Funding now">
      {newest.data === null && newest.error === null ? (
        <Skeleton what="funding periods" lines={3} />
      ) : (
        <Answered query={together(newest, estimate)}>
          <NowFigures
            periods={newest.data?.list ?? null}
            estimate={estimate.data}
            summary={summary.data}
            due={nextPayment(instrumentOf(marketId)?.funding?.schedule, last)}
            unit={marketUnit(marketId)}
            last={last}
          >
            {!narrow && (
              <RangeFigures marketId={marketId} funding={funding} range={range} summary={summary} />
            )}
          </NowFigures>
        </Answered>
      )}
    </section>
  )
}

/** The cumulative rate of the range, and what a position has received in it. */
export function RangeFigures({ marketId, funding, range, summary }: FiguresProps) {
  const { periods, newest, estimate, payments } = funding
  return (
    <>
      <Cumulative
        periods={periods.data?.list ?? null}
        range={range}
        areAll={periods.data !== null && areAllOf(periods.data, range)}
        payments={payments}
      />
      <PositionPayments
        marketId={marketId}
        payments={payments}
        running={runningPeriod(newest.data?.list ?? [])}
        estimate={estimate.data}
        unit={marketUnit(marketId)}
        summary={summary}
      />
    </>
  )
}

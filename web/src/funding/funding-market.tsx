import type { Coverage } from 'lyra-client'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { groupDigits } from '../figures/format-figure.ts'
import { param, setParams } from '../location.ts'
import { Failure, Loading } from '../parts/states.tsx'
import { connection, recoveries } from '../service/connection.ts'
import { lyra } from '../service/lyra.ts'
import { ChartPanel } from './chart-panel.tsx'
import { DensityNote } from './density-note.tsx'
import { createFundingFeed, type FundingFeed } from './feed.ts'
import { Figures } from './figures.tsx'
import { Legend } from './legend.tsx'
import { PointsTable } from './points-table.tsx'
import { RangeBar } from './range-bar.tsx'
import { type Moment, momentAt } from './series.ts'
import type { Range } from './tiles.ts'
import { viewRange } from './view-range.ts'

export type FundingMarketProps = { held: Coverage['fundingPeriodDataPoints'][number] }

/** Charts, figures and table of one market, over the range that the URL names. */
export function FundingMarket({ held }: FundingMarketProps) {
  const { marketId } = held
  const [feed, setFeed] = useState<FundingFeed | null>(null)
  useEffect(() => {
    const made = createFundingFeed(lyra, marketId)
    setFeed(made)
    return () => made.close()
  }, [marketId])
  return feed === null ? <Loading what="data points" /> : <FundingPanels held={held} feed={feed} />
}

function FundingPanels({ held, feed }: FundingMarketProps & { feed: FundingFeed }) {
  const [pointed, setPointed] = useState<Moment | null>(null)
  const whole = wholeRange(held, feed.streamedUpTo.value)
  const range = viewRange({ from: param('from'), to: param('to'), span: param('span') }, whole)
  const hiddenText = param('hide') ?? ''
  const hidden = useMemo(() => new Set(hiddenText.split(',').filter((name) => name !== '')), [hiddenText])
  const data = feed.data.value

  useEffect(() => feed.show({ from: range.from, to: range.to }), [feed, range.from, range.to])
  // What came while the service was away, or where it has no stream to tell of it.
  const unseen = `${recoveries.value} ${feed.live.value === 'asking' ? `${held.count} ${held.lastTimestamp}` : ''}`
  const seen = useRef(unseen)
  useEffect(() => {
    if (seen.current !== unseen) feed.refresh()
    seen.current = unseen
  }, [feed, unseen])

  const look = ({ from, to }: Range, settled: boolean) =>
    setParams({ from: `${from}`, to: `${to}`, span: null, after: null, before: null }, { push: settled })
  const last = data === null ? null : momentAt(data.external.points, data.internal.points, range.to - 1n)
  const error = feed.error.value
  return (
    <>
      <RangeBar
        range={range}
        held={whole}
        onSpan={(span) => setParams({ span, from: null, to: null, after: null, before: null })}
        onRange={(next) => look(next, true)}
      />
      <section class="panel chart-panel" aria-label="Charts" aria-busy={feed.progress.value !== null}>
        <Figures moment={pointed ?? last} pointed={pointed !== null} />
        <div class="chart-bar">
          <Legend hidden={hidden} onChange={(next) => setParams({ hide: [...next].join(',') || null })} />
          <LiveButton feed={feed} follows={range.follows} />
        </div>
        <Progress part={feed.progress.value} />
        <ChartPanel data={data} range={range} hidden={hidden} onRange={look} onPoint={setPointed} />
        {data !== null && <DensityNote data={data} range={range} />}
        {error !== null && <Failure error={error} onRetry={() => feed.refresh()} />}
      </section>
      <PointsTable
        marketId={held.marketId}
        range={range}
        version={`${feed.streamed.value} ${feed.live.value === 'asking' ? held.count : ''}`}
      />
    </>
  )
}

/** From the market's first point to its last, as far as is known. */
function wholeRange(
  { firstTimestamp, lastTimestamp }: FundingMarketProps['held'],
  streamedUpTo: bigint | null,
): Range {
  const last = BigInt(lastTimestamp)
  return {
    from: BigInt(firstTimestamp),
    to: streamedUpTo !== null && streamedUpTo > last ? streamedUpTo : last,
  }
}

/** Whether new points come in, and whether the range follows them. */
function LiveButton({ feed, follows }: { feed: FundingFeed; follows: boolean }) {
  const down = connection.value.state === 'down'
  const state = down ? 'down' : feed.live.value
  const text = { down: 'Offline', connecting: 'Connecting', streaming: 'Live', asking: 'Polling' }[state]
  const count = feed.streamed.value
  return (
    <button
      type="button"
      class={`live ${state}`}
      aria-pressed={follows}
      title={follows ? 'The range follows the latest point' : 'Follow the latest point'}
      onClick={() => setParams({ from: null, to: null, after: null, before: null })}
    >
      <span class={`dot ${down ? 'down' : follows ? 'up' : 'unknown'}`} aria-hidden="true" />
      {follows ? text : 'Follow live'}
      {count > 0 && <span class="live-count">+{groupDigits(String(count))}</span>}
    </button>
  )
}

function Progress({ part }: { part: number | null }) {
  return (
    <div class="progress" aria-hidden="true">
      {part !== null && <div class="progress-bar" style={{ width: `${Math.max(4, part * 100)}%` }} />}
    </div>
  )
}

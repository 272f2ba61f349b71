import type { Coverage, FundingPeriodDataPoint } from 'lyra-client'
import { useRef } from 'preact/hooks'
import { formatBasisPoints, formatDifference, groupDigits } from '../figures/format-figure.ts'
import { formatSpan, formatTime } from '../figures/format-time.ts'
import { Id } from '../parts/id.tsx'
import { Link } from '../parts/link.tsx'
import { useQuery } from '../service/use-query.ts'
import { askLatestPoints, type LatestPoints } from './latest-points.ts'

/** A market: its latest points, its funding period now, its providers. */
export function MarketRow({ marketId, coverage }: { marketId: string; coverage: Coverage }) {
  const points = coverage.fundingPeriodDataPoints.find((entry) => entry.marketId === marketId)
  const providers = coverage.liquidityProviders.find((entry) => entry.marketId === marketId)
  const { data, error } = useQuery(
    points === undefined ? null : `latest ${marketId} ${points.count} ${points.lastTimestamp}`,
    (signal) => askLatestPoints(marketId, signal),
  )
  // While newer points are asked for, the ones before stay.
  const shown = useRef<LatestPoints | null>(null)
  if (data !== null) shown.current = data
  return (
    <li class="market">
      <div class="market-head">
        <Id id={marketId} what="the market id" />
        <span class="market-links">
          {points !== undefined && (
            <Link view="funding" params={{ market: marketId }} class="button">
              Funding
            </Link>
          )}
          {providers !== undefined && (
            <Link view="providers" params={{ market: marketId }} class="button">
              Providers
            </Link>
          )}
        </span>
      </div>
      {points === undefined ? (
        <p class="quiet">
          No data points: it is no perpetual market, or its first funding period has not begun.
        </p>
      ) : (
        <Latest
          points={shown.current}
          failed={error !== null}
          lastBlockTime={coverage.blocks.lastTimestamp}
        />
      )}
      <dl class="facts">
        <Fact name="Data points">{groupDigits(points?.count ?? '0')}</Fact>
        {points !== undefined && (
          <Fact name="Since">
            <time>{formatTime(points.firstTimestamp).slice(0, 16)}</time>
          </Fact>
        )}
        <Fact name="Liquidity providers">{groupDigits(providers?.count ?? '0')}</Fact>
      </dl>
    </li>
  )
}

type LatestProps = { points: LatestPoints | null; failed: boolean; lastBlockTime: string }

function Latest({ points, failed, lastBlockTime }: LatestProps) {
  if (points === null)
    return <p class="quiet">{failed ? 'The latest points could not be read.' : 'Loading …'}</p>
  const { external, internal } = points
  const [latest] = [external, internal]
    .filter((point) => point !== null)
    .sort((left, right) => (BigInt(left.timestamp) > BigInt(right.timestamp) ? -1 : 1))
  if (latest === undefined) return <p class="quiet">Points of no source only.</p>
  const same = external !== null && internal !== null && external.seq === internal.seq
  return (
    <div class="latest">
      <SourceFigures name="External" kind="external" point={external} />
      <SourceFigures name="Internal" kind="internal" point={internal} />
      <div class="figure">
        <span class="figure-name">TWAP difference</span>
        {same ? (
          <>
            <span class="figure-value">{formatDifference(internal.twap, external.twap) ?? '–'}</span>
            <span class="figure-more">{formatBasisPoints(internal.twap, external.twap) ?? ''}</span>
          </>
        ) : (
          <span class="figure-more">the sources are not of one period</span>
        )}
      </div>
      <div class="figure">
        <span class="figure-name">Funding period now</span>
        <span class="figure-value">{groupDigits(latest.seq)}</span>
        <span class="figure-more">
          last point {formatSpan(BigInt(lastBlockTime) - BigInt(latest.timestamp))} before the last block
        </span>
      </div>
    </div>
  )
}

type SourceFiguresProps = { name: string; kind: string; point: FundingPeriodDataPoint | null }

function SourceFigures({ name, kind, point }: SourceFiguresProps) {
  return (
    <div class={`figure ${kind}`}>
      <span class="figure-name">
        <span class="swatch" aria-hidden="true" />
        {name} TWAP
      </span>
      <span class="figure-value">{point === null ? '–' : groupDigits(point.twap)}</span>
      <span class="figure-more">{point === null ? 'no point' : `price ${groupDigits(point.price)}`}</span>
    </div>
  )
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

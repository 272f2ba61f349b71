import type { Coverage, Readiness } from 'lyra-client'
import type { ComponentChildren } from 'preact'
import { printable } from '../../../src/domain/printable.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { formatSpan, formatTime } from '../figures/format-time.ts'
import { now } from '../parts/clock.ts'
import { Failure, Loading } from '../parts/states.tsx'
import { coverageError, coverageSamples, lastHeight, latestCoverage } from '../service/coverage.ts'
import { lyra } from '../service/lyra.ts'
import { useQuery } from '../service/use-query.ts'
import { BlocksBar } from './blocks-bar.tsx'
import { Holdings } from './holdings.tsx'
import { perMinute, ratesOf } from './rates.ts'

/** How the service stands: where it is, what it holds and lacks, how fast it goes. */
export function NodeView() {
  const coverage = latestCoverage()
  const samples = coverageSamples.value
  const ready = useQuery(
    `ready ${samples.length} ${samples.at(-1)?.at ?? ''}`,
    (signal) => lyra.ready({ signal }),
    {
      keep: true,
    },
  )
  const error = coverageError.value
  return (
    <>
      {ready.data !== null && <Ready readiness={ready.data} />}
      {coverage === null && error === null && <Loading what="the state of the service" />}
      {coverage === null && error !== null && <Failure error={error} onRetry={() => location.reload()} />}
      {coverage !== null && (
        <>
          <Tiles coverage={coverage} />
          <section class="panel" aria-labelledby="blocks-title">
            <div class="panel-head">
              <h2 id="blocks-title">Blocks held</h2>
            </div>
            <BlocksBar blocks={coverage.blocks} />
          </section>
          <Holdings coverage={coverage} />
        </>
      )}
    </>
  )
}

function Ready({ readiness }: { readiness: Readiness }) {
  if (readiness.status === 'ready') {
    return (
      <p class="readiness good">
        <span class="dot up" aria-hidden="true" /> Ready: it serves current data.
      </p>
    )
  }
  return (
    <div class="readiness not-good">
      <p>
        <span class="dot faulty" aria-hidden="true" /> Not ready
      </p>
      <ul>
        {readiness.reasons.map(({ reason, message }) => (
          <li key={`${reason} ${message}`}>
            <strong>{reason}</strong>: {message}
          </li>
        ))}
      </ul>
    </div>
  )
}

function Tiles({ coverage }: { coverage: Coverage }) {
  const rates = ratesOf(coverageSamples.value)
  const lastTime = BigInt(coverage.blocks.lastTimestamp)
  const age = BigInt(now.value) * 1_000_000n - lastTime
  const over =
    rates === null ? 'watching …' : `over the last ${formatSpan(BigInt(rates.overMs) * 1_000_000n)}`
  const rate = (count: bigint | undefined) =>
    rates === null || count === undefined ? '–' : `${perMinute(count, rates.overMs)} / min`
  return (
    <dl class="tiles">
      <Tile name="Chain">{printable(coverage.chainId)}</Tile>
      <Tile name="Last block" more={`${formatTime(lastTime)} UTC`}>
        {groupDigits(lastHeight(coverage))}
      </Tile>
      <Tile name="Age of the last block" more="by this browser's clock">
        {formatSpan(age - (age % 1_000_000_000n))}
      </Tile>
      <Tile name="Blocks coming in" more={over}>
        {rate(rates?.blocks)}
      </Tile>
      <Tile name="Data points coming in" more={over}>
        {rate(rates?.points)}
      </Tile>
      <Tile name="Taken out before" more={prunedHeight(coverage)}>
        {coverage.prunedBefore === null
          ? 'nothing'
          : coverage.prunedBefore.timestamp === null
            ? `block ${groupDigits(coverage.prunedBefore.height ?? '')}`
            : formatTime(coverage.prunedBefore.timestamp)}
      </Tile>
    </dl>
  )
}

function prunedHeight({ prunedBefore }: Coverage): string {
  if (prunedBefore === null) return 'all that came is kept'
  if (prunedBefore.timestamp === null || prunedBefore.height === null) return 'older rows are pruned'
  return `and below block ${groupDigits(prunedBefore.height)}`
}

function Tile({ name, more, children }: { name: string; more?: string; children: ComponentChildren }) {
  return (
    <div class="tile">
      <dt>{name}</dt>
      <dd>
        <span class="tile-value">{children}</span>
        {more !== undefined && <span class="tile-more">{more}</span>}
      </dd>
    </div>
  )
}

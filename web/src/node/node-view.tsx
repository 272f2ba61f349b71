import type { Coverage } from 'lyra-client'
import type { ComponentChildren } from 'preact'
import { printable } from '../../../src/core/domain/printable.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { formatAge, formatSpan, formatTime } from '../figures/format-time.ts'
import { CopyLink } from '../parts/request.tsx'
import { beforeCoverage } from '../parts/states/before-coverage.tsx'
import { FRESHNESS_DOTS, FreshnessText } from '../parts/states/freshness-text.tsx'
import { Answered } from '../parts/states/states.tsx'
import { now } from '../service/clock.ts'
import {
  coverageError,
  coverageSamples,
  coverageTime,
  lastHeight,
  latestCoverage,
  pollCoverage,
  readiness,
} from '../service/coverage.ts'
import { freshness } from '../service/freshness.ts'
import type { QueryState } from '../service/use-query.ts'
import { BlocksBar } from './blocks-bar.tsx'
import { Holdings } from './holdings.tsx'
import { perMinute, ratesOf } from './rates.ts'

/** The service's state: how current it is, its blocks, rows and gaps, and its speed. */
export function NodeView() {
  const coverage = latestCoverage()
  const before = beforeCoverage('the state of the service')
  const error = coverageError.value
  const polled: QueryState = {
    isOther: false,
    loading: false,
    error,
    reload: () => void pollCoverage(),
    staleSince: error === null ? null : coverageTime(),
  }
  return (
    <>
      <Ready />
      {before}
      {coverage !== null && before === null && (
        <Answered query={polled}>
          <Tiles coverage={coverage} />
          <section class="panel" aria-labelledby="blocks-title">
            <div class="panel-head">
              <h2 id="blocks-title">Stored blocks</h2>
              <CopyLink />
            </div>
            <BlocksBar blocks={coverage.blocks} />
          </section>
          <Holdings coverage={coverage} />
        </Answered>
      )}
    </>
  )
}

/** How current the data are, with every reason for which the service is not ready. */
function Ready() {
  const { state, more } = freshness.value
  const ready = readiness.value
  const reasons = ready?.status === 'not ready' && state !== 'down' ? ready.reasons : []
  return (
    <div class={`readiness ${['faulty', 'down'].includes(FRESHNESS_DOTS[state]) ? 'not-good' : 'good'}`}>
      <p>
        <FreshnessText /> <span class="quiet">{more}</span>
      </p>
      {reasons.length > 0 && (
        <ul>
          {reasons.map(({ reason, message }) => (
            <li key={`${reason} ${message}`}>
              <strong>{reason}</strong>: {forPeople(message)}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** The message of a reason, with a number of seconds as people say it. */
function forPeople(message: string): string {
  return message.replace(/(\d+) seconds/, (_, seconds: string) => formatAge(BigInt(seconds) * 1_000_000_000n))
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
        {formatAge(age)}
      </Tile>
      <Tile name="Blocks received" more={over}>
        {rate(rates?.blocks)}
      </Tile>
      <Tile name="Data points received" more={over}>
        {rate(rates?.points)}
      </Tile>
      <Tile name="Pruned before" more={prunedHeight(coverage)}>
        {coverage.prunedBefore === null
          ? 'nothing'
          : coverage.prunedBefore.timestamp === null
            ? `block ${groupDigits(coverage.prunedBefore.height ?? '')}`
            : formatTime(coverage.prunedBefore.timestamp)}
      </Tile>
    </dl>
  )
}

function prunedHeight({ prunedBefore }: Coverage): string | undefined {
  if (prunedBefore === null) return undefined
  if (prunedBefore.timestamp === null || prunedBefore.height === null) return 'older rows are pruned'
  return `and below block ${groupDigits(prunedBefore.height)}`
}

function Tile({
  name,
  more,
  children,
}: {
  name: string
  more?: string | undefined
  children: ComponentChildren
}) {
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

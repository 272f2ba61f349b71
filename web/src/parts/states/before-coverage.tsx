import type { ComponentChildren } from 'preact'
import { coverageError, latestCoverage } from '../../service/coverage.ts'
import { freshness } from '../../service/freshness.ts'
import { areInstrumentsAsked } from '../../service/instruments.ts'
import { lazy } from './lazy.tsx'
import { Failure, Skeleton } from './states.tsx'

/** Only an empty store is greeted. */
const Greeting = lazy('the store', async () => (await import('./greeting.tsx')).Greeting)

/**
 * Shown before the service has reported its coverage and instruments; null afterwards.
 *
 * @param bar content above the view, in its place from the beginning
 */
export function beforeCoverage(what: string, bar?: ComponentChildren): preact.JSX.Element | null {
  if (latestCoverage() !== null && areInstrumentsAsked.value) return null
  if (freshness.value.state === 'empty') return <Greeting />
  const error = coverageError.value
  return error === null ? (
    <>
      {bar}
      <section class="panel">
        <Skeleton what={what} tall />
      </section>
    </>
  ) : (
    <Failure error={error} onRetry={() => location.reload()} />
  )
}

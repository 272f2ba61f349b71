import { now } from '../service/clock.ts'
import { connection, nextTry, tryNow } from '../service/connection.ts'
import { latestCoverage } from '../service/coverage.ts'

/** Shown while the service is unreachable: since when, and the time of the next attempt. */
export function ConnectionBanner() {
  const { value } = connection
  return (
    <div role="status" class="banner-place">
      {value.state === 'down' && (
        <div class="banner">
          <span>
            <strong>The service does not respond.</strong>{' '}
            {latestCoverage() !== null &&
              `The figures shown are the last that it sent, before ${timeOf(value.since)}. `}
            <Countdown />
          </span>
          <button type="button" class="button" onClick={() => void tryNow()}>
            Try now
          </button>
        </div>
      )}
    </div>
  )
}

function Countdown() {
  const seconds = Math.ceil(((nextTry.value ?? 0) - now.value) / 1_000)
  // Every second would be read out again.
  return <span aria-hidden="true">{seconds > 0 ? `Next try in ${seconds} s.` : 'Trying again …'}</span>
}

function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 19)} UTC`
}

import { printable } from '../../../src/domain/printable.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { connection } from '../service/connection.ts'
import { coverageError, lastHeight, latestCoverage } from '../service/coverage.ts'

/** Where the service stands: the chain and its last block. */
export function Position() {
  const coverage = latestCoverage()
  const down = connection.value.state === 'down'
  const state = down ? 'down' : coverage === null ? 'unknown' : coverageError.value === null ? 'up' : 'faulty'
  return (
    <div class="position">
      <span class={`dot ${state}`} aria-hidden="true" />
      {coverage === null ? (
        <span class="quiet">
          {down ? 'not reachable' : coverageError.value === null ? 'connecting' : 'no data'}
        </span>
      ) : (
        <span>
          <span class="chain">{printable(coverage.chainId)}</span> <span class="visually-hidden">block</span>
          <span class="height">#{groupDigits(lastHeight(coverage))}</span>
        </span>
      )}
    </div>
  )
}

import { printable } from '../../../src/core/domain/printable.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { FreshnessText } from '../parts/states/freshness-text.tsx'
import { lastHeight, latestCoverage } from '../service/coverage.ts'

/** The service's position: how current it is, the chain and its last block. */
export function Position() {
  const coverage = latestCoverage()
  return (
    <div class="position">
      <FreshnessText />
      {coverage !== null && (
        <span class="block">
          <span class="chain">{printable(coverage.chainId)}</span> <span class="visually-hidden">block</span>
          <span class="height">#{groupDigits(lastHeight(coverage))}</span>
        </span>
      )}
    </div>
  )
}

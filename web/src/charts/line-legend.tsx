import type { ComponentChildren } from 'preact'
import { MarketName, type MarketNameProps } from '../parts/values/market-name.tsx'
import { DASHES, TOTAL } from './line-chart.ts'

export type LineLegendProps = {
  label: string
  /** In the order of the lines. */
  markets: readonly (MarketNameProps & { said: ComponentChildren })[]
  /** The text about the thick line, of their total; null without one. */
  total?: ComponentChildren
  /** What that line is, if not the total. */
  totalName?: string
}

/** The markets whose lines a chart shows, with a text about each. */
export function LineLegend({ label, markets, total = null, totalName = 'Total' }: LineLegendProps) {
  return (
    <ul class="compare-legend" aria-label={label}>
      {markets.map(({ said, ...market }, index) => (
        <li key={market.marketId} data-compared={market.marketId}>
          <svg viewBox="0 0 24 4" width="24" height="4" aria-hidden="true">
            <path class={`line-${index}`} d="M0 2H24" stroke-dasharray={DASHES[index]!.join(' ')} />
          </svg>
          <MarketName {...market} />
          <span class="quiet">{said}</span>
        </li>
      ))}
      {total !== null && (
        <li data-compared="total">
          <svg viewBox="0 0 24 4" width="24" height="4" aria-hidden="true">
            <path class={`line-${TOTAL}`} d="M0 2H24" />
          </svg>
          <strong>{totalName}</strong>
          <span class="quiet">{total}</span>
        </li>
      )}
    </ul>
  )
}

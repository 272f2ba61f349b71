import type { LiquidityProvider } from 'lyra-client'
import { approximate, parseDecimal } from '../figures/decimal.ts'
import { type Column, showFigure } from './columns.ts'

/** A figure of a provider: exact on hover, with a bar where it is a part of one, marked where it is a penalty. */
export function ProviderFigure({ column, provider }: { column: Column; provider: LiquidityProvider }) {
  const text = column.read(provider)
  if (text === null || text === '') return <span class="quiet">none</span>
  const number = parseDecimal(text)
  const bad = column.penalty && number !== null && number.digits !== 0n
  return (
    <>
      <data class={bad ? 'amount bad' : 'amount'} value={text} title={text} data-figure={column.name}>
        {showFigure(column, text, provider)}
      </data>
      {column.bar && number !== null && (
        <span class="bar" aria-hidden="true">
          <span style={{ width: `${Math.min(100, Math.max(0, approximate(number) * 100))}%` }} />
        </span>
      )}
    </>
  )
}

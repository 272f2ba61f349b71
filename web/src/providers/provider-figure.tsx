import type { LiquidityProvider } from 'lyra-client'
import { approximate, parseDecimal } from '../figures/decimal.ts'
import { FigureText } from '../parts/figure-text.tsx'
import type { Column } from './columns.ts'

/** A figure of a provider: exact, with a bar where it is a part of one, marked where it is a penalty. */
export function ProviderFigure({ column, provider }: { column: Column; provider: LiquidityProvider }) {
  const text = column.read(provider)
  if (text === null || text === '') return <span class="quiet">none</span>
  const number = parseDecimal(text)
  const bad = column.penalty && number !== null && number.digits !== 0n
  return (
    <>
      <span class={bad ? 'bad' : ''}>
        {column.list ? column.show(text) : <FigureText text={column.show(text)} />}
      </span>
      {column.bar && number !== null && (
        <span class="bar" aria-hidden="true">
          <span style={{ width: `${Math.min(100, Math.max(0, approximate(number) * 100))}%` }} />
        </span>
      )}
    </>
  )
}

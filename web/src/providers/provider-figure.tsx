import { exactAmount } from '../figures/amount.ts'
import { approximate, compare, type Decimal, parseDecimal } from '../figures/decimal.ts'
import { formatPercent } from '../figures/format-figure.ts'
import { Rounded } from '../parts/values/amount.tsx'
import { instrumentOf, marketUnit } from '../service/instruments.ts'
import { type Column, isPenalty, showFigure } from './columns.ts'
import type { ProviderRow } from './fees.ts'

const HAVE_BARS: ReadonlySet<Column['kind']> = new Set(['share', 'fee share', 'time on book'])

/** A figure of a provider: exact on hover, with a bar if it is a part of one, marked if it is a penalty. */
export function ProviderFigure({ column, provider }: { column: Column; provider: ProviderRow }) {
  const text = column.read(provider)
  if (text === null || text === '')
    return provider.sla === null || column.kind === 'penalties' ? (
      <span class="quiet">none</span>
    ) : (
      <NotKnown />
    )
  const number = parseDecimal(text)
  return (
    <>
      {column.kind === 'fee share' && provider.fees.others !== null && 'at most '}
      <Rounded
        text={column.kind === 'amount' ? exactAmount(text, marketUnit(provider.marketId)) : text}
        shown={showFigure(column, text, provider.marketId)}
        name={column.name}
        bad={column.kind === 'penalty' && isPenalty(text)}
      />
      {HAVE_BARS.has(column.kind) && number !== null && (
        <Bar part={number} least={column.kind === 'time on book' ? leastTime(provider.marketId) : null} />
      )}
    </>
  )
}

/** In place of a figure that the core has left empty: it has none before the market's opening auction ends. */
export function NotKnown() {
  return (
    <span class="quiet" title="Not known: the market was in its opening auction">
      <span aria-hidden="true">–</span>
      <span class="visually-hidden">not known</span>
    </span>
  )
}

/** The least part of an epoch that a market's SLA asks its providers to be on the book; null if it asks for none. */
export function leastTime(marketId: string): string | null {
  const text = instrumentOf(marketId)?.sla?.commitmentMinTimeFraction ?? ''
  return (parseDecimal(text)?.digits ?? 0n) === 0n ? null : text
}

/** Whether a time on book is below the required minimum. */
export function isBelow(timeOnBook: string, least: string | null): boolean {
  const [time, minimum] = [parseDecimal(timeOnBook), parseDecimal(least ?? '')]
  return time !== null && minimum !== null && compare(time, minimum) < 0
}

/** A fraction as a bar, with a mark at the required minimum. */
export function Bar({ part, least }: { part: Decimal; least: string | null }) {
  return (
    <>
      <span class="bar" aria-hidden="true">
        <span class="bar-part" style={{ width: placeOf(part) }} />
        {least !== null && (
          <span class="bar-mark" data-least={least} style={{ left: placeOf(parseDecimal(least)!) }} />
        )}
      </span>
      {least !== null && <span class="visually-hidden"> of at least {formatPercent(least)}</span>}
    </>
  )
}

function placeOf(part: Decimal): string {
  return `${Math.min(100, Math.max(0, approximate(part) * 100))}%`
}

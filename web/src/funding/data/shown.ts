import { useMemo } from 'preact/hooks'
import { param, setParams } from '../../location.ts'
import { type ViewRange, viewRange } from '../../range/view-range.ts'
import type { Range } from '../../series/series.ts'
import { BAR_KINDS, type BarKind } from './reading.ts'

/** What the address says is shown of a market's funding. */
export type Shown = {
  range: ViewRange
  /** The values of the bars. */
  kind: BarKind
  /** The names of lines that are hidden. */
  hidden: ReadonlySet<string>
  /** Whether estimates at each time are to be drawn over the bars, if these are of periods. */
  wantsEstimates: boolean
}

/**
 * Reads the address. The hidden lines are the same set until others are.
 *
 * @param stored the time that the market's data cover
 * @param last the time of the last block, which ages are counted back from
 */
export function useShown(stored: Range, last: bigint): Shown {
  const hiddenText = param('hide') ?? ''
  const hidden = useMemo(() => new Set(hiddenText.split(',').filter((name) => name !== '')), [hiddenText])
  const kind = param('bars') ?? ''
  return {
    range: viewRange({ from: param('from'), to: param('to'), span: param('span') }, stored, last),
    kind: Object.hasOwn(BAR_KINDS, kind) ? (kind as BarKind) : 'rate',
    hidden,
    wantsEstimates: param('estimates') !== null,
  }
}

/** The size of a position if the address names none. */
const ONE_UNIT = '1'

/** The size of the position whose payments are summed, as the address has it: not yet checked. */
export function shownUnits(): string {
  return param('units') ?? ONE_UNIT
}

export function showUnits(units: string): void {
  setParams({ units: units === ONE_UNIT ? null : units })
}

/** The first page of the data points (`tables/points-table.tsx`): those of another range begin anew. */
const FIRST_PAGE = { after: null, before: null }

/** Shows a range; `settled` once the gesture that chooses it has ended: "back" goes to the range before it. */
export function showRange({ from, to }: Range, settled = true): void {
  setParams({ from: `${from}`, to: `${to}`, span: null, ...FIRST_PAGE }, { push: settled })
}

/** Shows a span up to the latest point; null shows the usual one. */
export function showSpan(span: string | null): void {
  setParams({ span, from: null, to: null, ...FIRST_PAGE })
}

export function hideLines(hidden: ReadonlySet<string>): void {
  setParams({ hide: [...hidden].join(',') || null })
}

export function showEstimates(areShown: boolean): void {
  setParams({ estimates: areShown ? '1' : null }, { push: false })
}

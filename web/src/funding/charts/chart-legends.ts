import type { ChartColours } from '../../charts/chart-options.ts'
import type { LegendItem } from '../../charts/save-png.ts'
import type { Range } from '../../series/series.ts'
import type { FundingData } from './chart-columns.ts'
import { LINE_NAMES, LINE_STYLES, LINES } from './price-lines.ts'

/** The legend of the chart of rates in a file. */
export function ratesLegend(colours: ChartColours, hasEstimateLine: boolean): LegendItem[] {
  const legend: LegendItem[] = [
    { text: 'longs pay', colour: colours.longs, look: 'box' },
    { text: 'shorts pay', colour: colours.shorts, look: 'hatched' },
    { text: 'estimate', colour: colours.text, look: 'outlined' },
  ]
  if (hasEstimateLine) {
    legend.push({ text: 'estimate at each time', colour: colours.text, look: 'line', width: 1.5 })
  }
  return legend
}

/** The legend of the chart of prices in a file: the lines that are not hidden. */
export function pricesLegend(colours: ChartColours, hidden: ReadonlySet<string>): LegendItem[] {
  return LINES.filter((line) => !hidden.has(line)).map((line) => ({
    text: LINE_NAMES[line],
    colour: colours[line.startsWith('external') ? 'external' : 'internal'],
    look: 'line',
    ...LINE_STYLES[line],
  }))
}

/** The legend of what is drawn behind the lines of every chart, in a file. */
export function backgroundLegend(
  colours: ChartColours,
  data: FundingData | null,
  range: Range,
): LegendItem[] {
  const { hasAuctions, hasGaps } = shownShades(data, range)
  const legend: LegendItem[] = [{ text: 'every other funding period', colour: colours.band, look: 'box' }]
  if (hasAuctions) legend.push({ text: 'in auction', colour: colours.mark, look: 'box' })
  if (hasGaps) legend.push({ text: 'blocks are missing', colour: colours.gap, look: 'hatched' })
  return legend
}

/** Whether auctions and gaps are in sight. */
export function shownShades(
  data: FundingData | null,
  { from, to }: Range,
): { hasAuctions: boolean; hasGaps: boolean } {
  const shown = (data?.shades ?? []).filter((shade) => shade.from < to && shade.to > from)
  return {
    hasAuctions: shown.some(({ kind }) => kind === 'auction'),
    hasGaps: shown.some(({ kind }) => kind === 'gap'),
  }
}

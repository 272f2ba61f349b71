import uPlot from 'uplot'
import type { ChartColours } from './chart-options.ts'
import { commonOptions, figureAxis, readColours, steps, timeAxis } from './chart-options.ts'
import { drawPeriods } from './draw-periods.ts'
import type { FundingData } from './feed.ts'
import { attachGestures } from './gestures.ts'
import { MAX_PERIODS, type Period, periodsOf } from './periods.ts'
import { nanosecondsOf, secondsOf } from './point.ts'
import { differenceColumns, type Moment, priceColumns } from './series.ts'
import type { Range } from './tiles.ts'

/** A line of the price chart that may be hidden. */
export const LINES = ['external-price', 'external-twap', 'internal-price', 'internal-twap'] as const

export type Line = (typeof LINES)[number]

export type ChartsOptions = {
  prices: HTMLElement
  difference: HTMLElement
  /** Below this chart is narrow: shorter figures at the axis. */
  narrow: boolean
  /** The reader wants to see another range; `settled` once the hand is off. */
  onRange(range: Range, settled: boolean): void
  /** The moment that the reader points at; null where at none. */
  onHover(moment: Moment | null): void
}

/** The two charts of the funding view, one beneath the other, that move together. */
export type Charts = {
  setData(data: FundingData): void
  setRange(range: Range): void
  setHidden(hidden: ReadonlySet<string>): void
  /** Points at a moment as the mouse would; null points at none. */
  point(index: number | null): void
  destroy(): void
}

const HEIGHTS = { wide: [340, 150], narrow: [260, 130] } as const

export function createCharts({ prices, difference, narrow, onRange, onHover }: ChartsOptions): Charts {
  const colours = readColours(prices)
  let data: FundingData | null = null
  let periods: Period[] = []
  let range: Range = { from: 0n, to: 1n }
  const [priceHeight, differenceHeight] = HEIGHTS[narrow ? 'narrow' : 'wide']

  const hover = (chart: uPlot) => {
    const { idx, left } = chart.cursor
    const shown = idx != null && left != null && left >= 0
    onHover(shown ? (data?.moments[idx] ?? null) : null)
  }
  const select = (chart: uPlot) => {
    const { left, width } = chart.select
    if (width > 4) {
      const [from, to] = [left, left + width].map((place) => nanosecondsOf(chart.posToVal(place, 'x')))
      onRange({ from: from!, to: to! }, true)
    }
    chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
  }
  const cursor: uPlot.Cursor = {
    sync: { key: 'funding', setSeries: false, scales: ['x', null] },
    drag: { x: true, y: false, setScale: false },
    points: { size: 7 },
    bind: {
      // A drag with Shift moves the range (gestures.ts); uPlot's own double click knows no range of ours.
      mousedown: (_, __, handler) => (event) => {
        if (event.button === 0 && !event.shiftKey) handler(event)
        return null
      },
      dblclick: () => () => null,
    },
  }
  const make = (
    place: HTMLElement,
    height: number,
    { zero = false, ...options }: Pick<uPlot.Options, 'series' | 'hooks' | 'axes'> & { zero?: boolean },
  ) =>
    new uPlot(
      { ...commonOptions(place.clientWidth, height, zero), ...options, cursor },
      options.series.map(() => []) as unknown as uPlot.AlignedData,
      place,
    )
  const draw = (labels: boolean) => (chart: uPlot) => {
    if (periods.length <= MAX_PERIODS) drawPeriods(chart, periods, colours, labels)
  }

  const priceChart = make(prices, priceHeight, {
    axes: [timeAxis(colours, false), figureAxis(colours, narrow)],
    series: [{}, ...priceSeries(colours)],
    hooks: { drawClear: [draw(true)], setCursor: [hover], setSelect: [select] },
  })
  const differenceChart = make(difference, differenceHeight, {
    zero: true,
    axes: [timeAxis(colours, true), figureAxis(colours, narrow)],
    series: [
      {},
      { stroke: colours.difference, width: 1.5, fill: colours.fill, fillTo: 0, points: { show: false } },
    ],
    hooks: { drawClear: [draw(false)], setSelect: [select] },
  })
  const charts = [priceChart, differenceChart]

  const detach = charts.map((chart) =>
    attachGestures(chart.over, { range: () => range, move: (next, settled) => onRange(next, settled) }),
  )
  const resized = new ResizeObserver(() => {
    for (const [chart, place] of [
      [priceChart, prices],
      [differenceChart, difference],
    ] as const) {
      if (place.clientWidth > 0 && place.clientWidth !== chart.width) {
        chart.setSize({ width: place.clientWidth, height: chart.height })
      }
    }
  })
  resized.observe(prices)

  const place = () => {
    const [min, max] = [secondsOf(range.from), secondsOf(range.to)]
    for (const chart of charts) chart.setScale('x', { min, max })
  }

  return {
    setData: (next) => {
      data = next
      periods = periodsOf(next.moments, next.moments.at(-1)?.timestamp ?? 0n)
      priceChart.setData(priceColumns(next.moments), false)
      const sampled = next.external.sampleStep !== null || next.internal.sampleStep !== null
      differenceChart.setData(differenceColumns(next.moments, sampled), false)
      place()
    },
    setRange: (next) => {
      range = next
      if (data !== null) place()
    },
    setHidden: (hidden) => {
      for (const [index, line] of LINES.entries()) {
        const show = !hidden.has(line)
        if (priceChart.series[index + 1]!.show !== show) priceChart.setSeries(index + 1, { show })
      }
    },
    point: (index) => {
      const x = index === null ? undefined : data?.moments[index]?.x
      const left = x === undefined ? -10 : priceChart.valToPos(x, 'x')
      for (const chart of charts)
        chart.setCursor({ left, top: chart.over.clientHeight / 2 }, chart === priceChart)
    },
    destroy: () => {
      resized.disconnect()
      for (const end of detach) end()
      for (const chart of charts) chart.destroy()
    },
  }
}

/** Prices thin and in steps, since each holds until the next; means thick, one of them dashed: told apart without colours. */
function priceSeries(colours: ChartColours): uPlot.Series[] {
  const price = (stroke: string): uPlot.Series => ({
    stroke,
    width: 1,
    alpha: 0.65,
    paths: steps,
    spanGaps: true,
    points: { show: false },
  })
  const twap = (stroke: string, dash: number[]): uPlot.Series => ({
    stroke,
    width: 2.25,
    dash,
    spanGaps: true,
    points: { show: false },
  })
  return [
    price(colours.external),
    twap(colours.external, []),
    price(colours.internal),
    twap(colours.internal, [7, 3]),
  ]
}

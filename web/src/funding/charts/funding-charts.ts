import uPlot from 'uplot'
import type { Bar } from '../../charts/bar.ts'
import { type ChartColours, commonOptions, readColours } from '../../charts/chart-options.ts'
import { crosshair } from '../../charts/crosshair.ts'
import { drawBands, drawBars, drawNumbers, drawShades } from '../../charts/draw.ts'
import { attachGestures } from '../../charts/gestures.ts'
import { type LegendItem, type Picture, savePng } from '../../charts/save-png.ts'
import { nanosecondsOf, type Range, secondsOf } from '../../series/series.ts'
import {
  type EstimateLine,
  type FundingData,
  premiumColumns,
  priceColumns,
  rateColumns,
} from './chart-columns.ts'
import {
  type ChartDefinition,
  limitsOfRates,
  premiumChart,
  pricesChart,
  ratesChart,
  SERIES_OF_LINE,
} from './chart-definitions.ts'
import { backgroundLegend, pricesLegend, ratesLegend } from './chart-legends.ts'
import { LINES } from './price-lines.ts'

/** The charts, from top to bottom. */
export const CHARTS = ['rates', 'prices', 'premium'] as const

export type ChartName = (typeof CHARTS)[number]

export type FundingChartsOptions = {
  places: Record<ChartName, HTMLElement>
  /** Whether charts are for a narrow page: of other heights, with less room for figures. */
  narrow: boolean
  /** Whether prices are whole numbers of unknown decimals, which need more room. */
  long: boolean
  /** The reader chose another range; `settled` once the gesture has ended. */
  onRange(range: Range, settled: boolean): void
  /** The time under the pointer; null without one. */
  onHover(time: bigint | null): void
  /** Lines about the time under the pointer. */
  tip(time: bigint): readonly string[]
}

/** Pixels of the style sheet. */
const HEIGHTS = {
  // A screen of 1,440 by 900 pixels shows rates and prices without scrolling.
  wide: { rates: 156, prices: 280, premium: 150 },
  narrow: { rates: 170, prices: 230, premium: 140 },
} as const

/** Where the mouse is, in all charts: what it draws selects a range. */
const CURSOR: uPlot.Cursor = {
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

/**
 * The charts of the funding view, one beneath the other, which move together. They have the colours of the theme in which they were
 * created, and are empty until they get a range, data and bars.
 */
export class FundingCharts {
  readonly #options: FundingChartsOptions
  readonly #colours: ChartColours
  readonly #charts: Record<ChartName, uPlot>
  readonly #all: readonly uPlot[]
  readonly #detach: readonly (() => void)[]
  readonly #resized: ResizeObserver
  #data: FundingData | null = null
  #bars: readonly Bar[] = []
  #line: EstimateLine = []
  #range: Range = { from: 0n, to: 1n }
  #hidden: ReadonlySet<string> = new Set()

  /** Draws empty charts into their places. */
  constructor(options: FundingChartsOptions) {
    const { places, narrow, long, onRange } = options
    const colours = readColours(places.rates)
    const axisSize = narrow ? 62 : long ? 118 : 84
    const drawClear = [this.#drawBackground]
    const setSelect = [this.#select]
    this.#options = options
    this.#colours = colours
    const limits = () => limitsOfRates(this.#bars, this.#line, this.#range)
    this.#charts = {
      rates: this.#create('rates', ratesChart(colours, axisSize, limits), {
        drawClear,
        drawAxes: [(chart) => drawBars(chart, this.#bars, colours)],
        setSelect,
      }),
      prices: this.#create('prices', pricesChart(colours, axisSize), {
        drawClear,
        draw: [(chart) => drawNumbers(chart, this.#data?.periods ?? [], this.#range, colours)],
        setCursor: [this.#hover],
        setSelect,
      }),
      premium: this.#create('premium', premiumChart(colours, axisSize), { drawClear, setSelect }),
    }
    this.#all = CHARTS.map((name) => this.#charts[name])
    this.#detach = this.#all.map(({ over }) =>
      attachGestures(over, { range: () => this.#range, move: (range, settled) => onRange(range, settled) }),
    )
    this.#resized = new ResizeObserver(() => this.#fit())
    this.#resized.observe(places.rates)
  }

  /** Draws the lines of prices and premiums, and what is behind all lines. */
  setData(data: FundingData): void {
    this.#data = data
    this.#charts.prices.setData(priceColumns(data), false)
    this.#charts.premium.setData(premiumColumns(data), false)
    this.#showRange()
  }

  /** Draws the bars of rates, and the line of estimates over them. */
  setBars(bars: readonly Bar[], line: EstimateLine): void {
    this.#bars = bars
    this.#line = line
    this.#charts.rates.setData(rateColumns(bars, line), false)
    this.#showRange()
  }

  /** Moves all charts to a range; without data, those that come are shown in it. */
  setRange(range: Range): void {
    this.#range = range
    if (this.#data !== null) this.#showRange()
  }

  /** Hides these lines of the chart of prices, and shows the others. */
  setHidden(hidden: ReadonlySet<string>): void {
    this.#hidden = hidden
    const { prices } = this.#charts
    for (const line of LINES) {
      const show = !hidden.has(line)
      for (const index of SERIES_OF_LINE[line]) {
        if (prices.series[index]!.show !== show) prices.setSeries(index, { show })
      }
    }
  }

  /** Points at a time as the mouse would, and tells `onHover`; null points at none. */
  point(time: bigint | null): void {
    const { prices } = this.#charts
    const left = time === null ? -10 : prices.valToPos(secondsOf(time), 'x')
    for (const chart of this.#all) {
      chart.setCursor({ left, top: chart.over.clientHeight / 2 }, chart === prices)
    }
  }

  /** Saves a chart as a picture, with title, unit and legend. */
  save(name: ChartName, picture: Pick<Picture, 'title' | 'figures' | 'name'>): Promise<void> {
    return savePng(this.#charts[name], {
      ...picture,
      legend: [...this.#legendOf(name), ...backgroundLegend(this.#colours, this.#data, this.#range)],
      paper: this.#colours.paper,
      ink: this.#colours.text,
    })
  }

  /** Takes the charts out of their places. Nothing may be called afterwards. */
  destroy(): void {
    this.#resized.disconnect()
    for (const detach of this.#detach) detach()
    for (const chart of this.#all) chart.destroy()
  }

  #create(name: ChartName, { zero, suffix, ...own }: ChartDefinition, hooks: uPlot.Hooks.Arrays): uPlot {
    const { places, narrow, tip } = this.#options
    const height = HEIGHTS[narrow ? 'narrow' : 'wide'][name]
    const tipAt = (seconds: number) => (this.#data === null ? [] : tip(nanosecondsOf(seconds)))
    return new uPlot(
      {
        ...commonOptions(places[name].clientWidth, height, zero),
        ...own,
        hooks,
        cursor: CURSOR,
        plugins: [crosshair(suffix, tipAt)],
      },
      own.series.map(() => []) as unknown as uPlot.AlignedData,
      places[name],
    )
  }

  readonly #drawBackground = (chart: uPlot): void => {
    if (this.#data === null) return
    drawBands(chart, this.#data.periods ?? [], this.#range, this.#colours)
    drawShades(chart, this.#data.shades, this.#colours)
  }

  readonly #hover = (chart: uPlot): void => {
    const { left } = chart.cursor
    this.#options.onHover(left != null && left >= 0 ? nanosecondsOf(chart.posToVal(left, 'x')) : null)
  }

  /** Zooms to what was drawn with the mouse, unless that is too little to be meant. */
  readonly #select = (chart: uPlot): void => {
    const { left, width } = chart.select
    if (width > 4) {
      const [from, to] = [left, left + width].map((place) => nanosecondsOf(chart.posToVal(place, 'x')))
      this.#options.onRange({ from: from!, to: to! }, true)
    }
    chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
  }

  #showRange(): void {
    const [min, max] = [secondsOf(this.#range.from), secondsOf(this.#range.to)]
    for (const chart of this.#all) chart.setScale('x', { min, max })
  }

  /** Gives each chart the width of its place. */
  #fit(): void {
    for (const name of CHARTS) {
      const { clientWidth } = this.#options.places[name]
      const chart = this.#charts[name]
      if (clientWidth > 0 && clientWidth !== chart.width) {
        chart.setSize({ width: clientWidth, height: chart.height })
      }
    }
  }

  #legendOf(name: ChartName): LegendItem[] {
    switch (name) {
      case 'rates':
        return ratesLegend(this.#colours, this.#line.length > 0)
      case 'prices':
        return pricesLegend(this.#colours, this.#hidden)
      case 'premium':
        return []
    }
  }
}

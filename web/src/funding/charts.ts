import uPlot from 'uplot'
import type { Bar } from '../charts/bar.ts'
import {
  type ChartColours,
  commonOptions,
  figureAxis,
  readColours,
  steps,
  timeAxis,
} from '../charts/chart-options.ts'
import { crosshair } from '../charts/crosshair.ts'
import { drawBands, drawBars, drawNumbers, drawShades, type Shade } from '../charts/draw.ts'
import { attachGestures } from '../charts/gestures.ts'
import { type LegendItem, type Picture, savePng } from '../charts/save-png.ts'
import { approximate } from '../figures/decimal.ts'
import type { Period } from '../periods/period.ts'
import {
  type Bucket,
  breaksOf,
  drawn,
  type Moment,
  nanosecondsOf,
  periodBreaks,
  type Range,
  secondsOf,
} from '../series/series.ts'

/** Names of the price chart's lines, which may be hidden. */
export const LINE_NAMES = {
  'external-price': 'External price',
  'external-twap': 'External TWAP',
  'internal-price': 'Internal price',
  'internal-twap': 'Internal TWAP',
} as const

export type Line = keyof typeof LINE_NAMES

export const LINES = Object.keys(LINE_NAMES) as Line[]

/** How a line is drawn: distinguishable without colours. */
const LINE_STYLES: Record<Line, { width: number; dash: number[] }> = {
  'external-price': { width: 1, dash: [] },
  'external-twap': { width: 2.25, dash: [] },
  'internal-price': { width: 1, dash: [2, 2] },
  'internal-twap': { width: 2.25, dash: [7, 3] },
}

/** The charts, from top to bottom. */
export const CHARTS = ['rates', 'prices', 'premium'] as const

export type ChartName = (typeof CHARTS)[number]

export type FundingData = {
  moments: readonly Moment[]
  /** The length of a bucket, nanoseconds. */
  bucket: bigint
  /** Null before they are known. */
  periods: readonly Period[] | null
  shades: readonly Shade[]
  /** Decimals of prices; 0 if they are not known. */
  decimals: number
}

export type ChartsOptions = {
  places: Record<ChartName, HTMLElement>
  /** Below this charts are narrow: lower, with less room for figures. */
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

/** The line of estimates over the bars, in percent; null where it breaks. */
export type EstimateLine = readonly { time: bigint; value: number | null }[]

/** The charts of the funding view, one beneath the other, that move together. */
export type Charts = {
  setData(data: FundingData): void
  setBars(bars: readonly Bar[], line: EstimateLine): void
  setRange(range: Range): void
  setHidden(hidden: ReadonlySet<string>): void
  /** Points at a time as the mouse would; null points at none. */
  point(time: bigint | null): void
  /** Saves a chart as a picture, with title and unit. */
  save(name: ChartName, picture: Pick<Picture, 'title' | 'figures' | 'name'>): Promise<void>
  destroy(): void
}

const HEIGHTS = {
  // A screen of 1,440 by 900 pixels shows rates and prices without scrolling.
  wide: { rates: 156, prices: 280, premium: 150 },
  narrow: { rates: 170, prices: 230, premium: 140 },
} as const

/** Series indexes of a line in the price chart. */
const SERIES: Record<Line, number[]> = {
  'external-price': [1, 2, 3],
  'external-twap': [4],
  'internal-price': [5, 6, 7],
  'internal-twap': [8],
}

export function createCharts({ places, narrow, long, onRange, onHover, tip }: ChartsOptions): Charts {
  const colours = readColours(places.rates)
  let data: FundingData | null = null
  let bars: readonly Bar[] = []
  let line: EstimateLine = []
  let range: Range = { from: 0n, to: 1n }
  let hiddenLines: ReadonlySet<string> = new Set()
  const heights = HEIGHTS[narrow ? 'narrow' : 'wide']
  const axisSize = narrow ? 62 : long ? 118 : 84

  const hover = (chart: uPlot) => {
    const { left } = chart.cursor
    onHover(left != null && left >= 0 ? nanosecondsOf(chart.posToVal(left, 'x')) : null)
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
    name: ChartName,
    {
      zero,
      ...options
    }: Pick<uPlot.Options, 'series' | 'hooks' | 'axes' | 'bands'> & {
      zero: boolean | (() => [least: number, greatest: number])
    },
  ) =>
    new uPlot(
      {
        ...commonOptions(places[name].clientWidth, heights[name], zero),
        ...options,
        cursor,
        plugins: [
          crosshair(name === 'prices' ? '' : ' %', (seconds) =>
            data === null ? [] : tip(nanosecondsOf(seconds)),
          ),
        ],
      },
      options.series.map(() => []) as unknown as uPlot.AlignedData,
      places[name],
    )
  const background = (chart: uPlot) => {
    if (data === null) return
    drawBands(chart, data.periods ?? [], range, colours)
    drawShades(chart, data.shades, colours)
  }

  const numbers = (chart: uPlot) => drawNumbers(chart, data?.periods ?? [], range, colours)

  const charts: Record<ChartName, uPlot> = {
    rates: make('rates', {
      // A bar wider than the range has its middle outside, but must be drawn.
      zero: () => {
        const shown = bars.filter(({ from, to }) => from < range.to && to > range.from)
        const inLine = line.filter(({ time }) => time >= range.from && time < range.to)
        const values = [...shown, ...inLine].flatMap(({ value }) => value ?? [])
        const [least, greatest] = values.reduce(
          ([min, max], value) => [Math.min(min, value), Math.max(max, value)],
          [0, 0],
        )
        return [least!, greatest!]
      },
      axes: [timeAxis(colours), figureAxis(colours, axisSize, ' %')],
      series: [
        {},
        { paths: () => null, points: { show: false } },
        // The line of estimates has an edge, so that it is seen on bars.
        { stroke: colours.paper, width: 4, points: { show: false } },
        { stroke: colours.text, width: 1.5, points: { show: false } },
      ],
      hooks: {
        drawClear: [background],
        drawAxes: [(chart) => drawBars(chart, bars, colours)],
        setSelect: [select],
      },
    }),
    prices: make('prices', {
      zero: false,
      axes: [timeAxis(colours), figureAxis(colours, axisSize)],
      series: [{}, ...priceSeries(colours)],
      bands: [
        { series: [2, 1], fill: `${colours.external}33` },
        { series: [6, 5], fill: `${colours.internal}33` },
      ],
      hooks: { drawClear: [background], draw: [numbers], setCursor: [hover], setSelect: [select] },
    }),
    premium: make('premium', {
      zero: true,
      axes: [timeAxis(colours), figureAxis(colours, axisSize, ' %')],
      series: [
        {},
        { stroke: colours.difference, width: 1.5, fill: colours.fill, fillTo: 0, points: { show: false } },
      ],
      hooks: { drawClear: [background], setSelect: [select] },
    }),
  }
  const all = CHARTS.map((name) => charts[name])

  const detach = all.map((chart) =>
    attachGestures(chart.over, { range: () => range, move: (next, settled) => onRange(next, settled) }),
  )
  const resized = new ResizeObserver(() => {
    for (const name of CHARTS) {
      const { clientWidth } = places[name]
      const chart = charts[name]
      if (clientWidth > 0 && clientWidth !== chart.width) {
        chart.setSize({ width: clientWidth, height: chart.height })
      }
    }
  })
  resized.observe(places.rates)

  const place = () => {
    const [min, max] = [secondsOf(range.from), secondsOf(range.to)]
    for (const chart of all) chart.setScale('x', { min, max })
  }

  const ownLegend = (name: ChartName): LegendItem[] => {
    if (name === 'premium') return []
    if (name === 'rates') {
      return [
        { text: 'longs pay', colour: colours.longs, look: 'box' },
        { text: 'shorts pay', colour: colours.shorts, look: 'hatched' },
        { text: 'estimate', colour: colours.text, look: 'outlined' },
        ...(line.length === 0
          ? []
          : [{ text: 'estimate at each time', colour: colours.text, look: 'line', width: 1.5 } as const]),
      ]
    }
    return LINES.filter((line) => !hiddenLines.has(line)).map((line) => ({
      text: LINE_NAMES[line],
      colour: colours[line.startsWith('external') ? 'external' : 'internal'],
      look: 'line',
      ...LINE_STYLES[line],
    }))
  }
  const backgroundLegend = (): LegendItem[] => {
    const { hasAuctions, hasGaps } = shownShades(data, range)
    return [
      { text: 'every other funding period', colour: colours.band, look: 'box' },
      ...(hasAuctions ? [{ text: 'in auction', colour: colours.mark, look: 'box' } as const] : []),
      ...(hasGaps ? [{ text: 'blocks are missing', colour: colours.gap, look: 'hatched' } as const] : []),
    ]
  }

  return {
    setData: (next) => {
      data = next
      charts.prices.setData(priceColumns(next), false)
      charts.premium.setData(premiumColumns(next), false)
      place()
    },
    setBars: (next, nextLine) => {
      bars = next
      line = nextLine
      charts.rates.setData(rateColumns(bars, line), false)
      place()
    },
    setRange: (next) => {
      range = next
      if (data !== null) place()
    },
    setHidden: (hidden) => {
      hiddenLines = hidden
      for (const line of LINES) {
        const show = !hidden.has(line)
        for (const index of SERIES[line]) {
          if (charts.prices.series[index]!.show !== show) charts.prices.setSeries(index, { show })
        }
      }
    },
    point: (time) => {
      const left = time === null ? -10 : charts.prices.valToPos(secondsOf(time), 'x')
      for (const chart of all) {
        chart.setCursor({ left, top: chart.over.clientHeight / 2 }, chart === charts.prices)
      }
    },
    save: (name, picture) =>
      savePng(charts[name], {
        ...picture,
        legend: [...ownLegend(name), ...backgroundLegend()],
        paper: colours.paper,
        ink: colours.text,
      }),
    destroy: () => {
      resized.disconnect()
      for (const end of detach) end()
      for (const chart of all) chart.destroy()
    },
  }
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

/** Prices thin and in steps, since each holds until the next, the least and the greatest of a bucket as a band; means thick. */
function priceSeries(colours: ChartColours): uPlot.Series[] {
  const common = { points: { show: false } } as const
  const bound: uPlot.Series = { ...common, stroke: 'transparent', width: 0, paths: steps }
  return (['external', 'internal'] as const).flatMap((source) => [
    { ...bound },
    { ...bound },
    {
      ...common,
      stroke: colours[source],
      alpha: 0.75,
      paths: steps,
      ...LINE_STYLES[`${source}-price`],
    },
    { ...common, stroke: colours[source], ...LINE_STYLES[`${source}-twap`] },
  ])
}

/** X positions of buckets: their middles. */
function placesOf({ moments, bucket }: FundingData): number[] {
  return moments.map(({ start }) => secondsOf(start + bucket / 2n))
}

type Column = {
  values: readonly (number | null | undefined)[]
  /** The indexes after which the line breaks, besides those of missing blocks. */
  breaks: ReadonlySet<number>
}

const NO_BREAKS: ReadonlySet<number> = new Set()

/** Columns as uPlot takes them, in the order of {@link SERIES}. */
export function priceColumns(data: FundingData): uPlot.AlignedData {
  const of = (source: 'external' | 'internal'): Column[] => {
    // Only points of the source itself: uPlot draws the line over undefined, but not over null.
    const buckets = data.moments.map((moment) =>
      moment[source]?.start === moment.start ? moment[source] : null,
    )
    const column = (read: (of: Bucket) => string) =>
      buckets.map((bucket) =>
        bucket === null ? undefined : (drawn(read(bucket), data.decimals) ?? undefined),
      )
    return [
      ...[
        column(({ price }) => price.minimum),
        column(({ price }) => price.maximum),
        held(column(({ price }) => price.last)),
      ].map((values) => ({ values, breaks: NO_BREAKS })),
      {
        // Without time outside auctions there is no mean, and the network says 0.
        values: column(({ twap }) => twap.last).map((twap) => twap || undefined),
        breaks: periodBreaks(buckets.map((bucket) => bucket?.seq ?? null)),
      },
    ]
  }
  return broken(data, [...of('external'), ...of('internal')])
}

/** A price holds until the next one: to the last moment, if the other source has later points. */
function held<Value>(values: readonly (Value | undefined)[]): readonly (Value | undefined)[] {
  const last = values.findLast((value) => value !== undefined)
  return values.length === 0 ? values : values.with(-1, values.at(-1) ?? last)
}

function premiumColumns(data: FundingData): uPlot.AlignedData {
  const { moments } = data
  return broken(data, [
    {
      values: moments.map(({ premium }) => (premium === null ? null : approximate(premium) * 100)),
      breaks: periodBreaks(moments.map(({ pair }) => pair?.internal.seq ?? null)),
    },
  ])
}

/** Columns with their x positions, and with nulls that break lines: in all columns where blocks are missing. */
function broken(data: FundingData, columns: readonly Column[]): uPlot.AlignedData {
  const gaps = data.shades.filter(({ kind }) => kind === 'gap')
  const missing = breaksOf(data.moments, data.bucket, gaps)
  const inserted = new Set([...missing, ...columns.flatMap(({ breaks }) => [...breaks])])
  const places = placesOf(data)
  const insert = <Value>(values: readonly Value[], between: (index: number) => Value) =>
    values.flatMap((value, index) => (inserted.has(index) ? [value, between(index)] : [value]))
  return [
    insert(places, (index) => (places[index]! + places[index + 1]!) / 2),
    ...columns.map(({ values, breaks }) =>
      insert(values, (index) => (missing.has(index) || breaks.has(index) ? null : undefined)),
    ),
  ] as uPlot.AlignedData
}

function rateColumns(bars: readonly Bar[], line: EstimateLine): uPlot.AlignedData {
  const values = line.map(({ value }) => value)
  return uPlot.join([
    [bars.map(({ from, to }) => secondsOf((from + to) / 2n)), bars.map(({ value }) => value)],
    [line.map(({ time }) => secondsOf(time)), values, values],
  ])
}

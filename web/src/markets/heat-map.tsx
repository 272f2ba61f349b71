import type { FundingRates, MarketSummary } from 'lyra-client'
import { useRef, useState } from 'preact/hooks'
import { reportTarget } from '../../../client/src/requests.ts'
import { approximate, parseDecimal } from '../figures/decimal.ts'
import { formatRate } from '../figures/format-figure.ts'
import { formatDay, formatMinute, formatTime } from '../figures/format-time.ts'
import { param } from '../location.ts'
import { Segments } from '../parts/pickers/segments.tsx'
import { Request } from '../parts/request.tsx'
import { MissingRows } from '../parts/states/missing-rows.tsx'
import { Answer } from '../parts/states/states.tsx'
import { TablePlace } from '../parts/tables/table-place.tsx'
import { RATE_SPANS, whoPays } from '../periods/period.ts'
import { latestCoverage } from '../service/coverage.ts'
import { marketLabel } from '../service/instruments.ts'
import { lyra } from '../service/lyra.ts'
import { isWhole, missingOf, missingSteps } from '../service/missing.ts'
import { useQuery } from '../service/use-query.ts'
import '../styles/views/heat-map.css'

/** Length of a column, and number of columns. */
const STEPS = {
  '1d': { length: 3n * RATE_SPANS['8h'], columns: 30 },
  '8h': { length: RATE_SPANS['8h'], columns: 21 },
} as const

type Step = keyof typeof STEPS

const STEP_TITLES: Record<Step, string> = { '1d': 'Day', '8h': '8 hours' }

/** Shades on each side of zero. Each begins at a square, so that small figures differ as well as great ones. */
const SHADES = 6

/** Markets are read so many at a time, so many times at most. */
const MARKETS = 1_000
const MAX_PAGES = 5

type Bucket = FundingRates['edges'][number]['node']['buckets'][number]

/** Sums of funding rates, a row for each market and a column for each day or 8 hours, every one readable as a figure. */
export function HeatMap({ summaries }: { summaries: readonly MarketSummary[] }) {
  const step: Step = param('map') === '8h' ? '8h' : '1d'
  const { length, columns } = STEPS[step]
  const coverage = latestCoverage()
  const last = BigInt(coverage?.blocks.lastTimestamp ?? 0)
  const end = (last / length + 1n) * length
  const range = { interval: step, from: end - BigInt(columns) * length, to: end } as const
  const paid = coverage?.fundingPeriods.map(({ count }) => count).join(' ')
  const query = useQuery(
    step,
    async (signal) => ({
      range,
      length,
      rates: await askRates(range, signal),
    }),
    { version: `${end} ${paid}` },
  )
  return (
    <section class="panel" aria-labelledby="map-title">
      <div class="chart-head">
        <h2 id="map-title" class="chart-title">
          Funding by market and {step === '1d' ? 'day' : '8 hours'}, in % of the position
        </h2>
        <Segments label="Column length" name="map" choices={STEP_TITLES} chosen={step} byDefault="1d" />
      </div>
      <MissingRows resource="fundingPeriods" range={range} />
      <Answer query={query} what="funding rates">
        {({ range, length, rates }) => {
          const rows = heatRows(rates, summaries)
          const starts = columnStarts(rows, range.to, length)
          const missing = missingOf('fundingPeriods', range)
          return rows.length === 0 ? (
            <p class="quiet">
              {isWhole(missing) ? 'No payments in this time.' : 'No payments of this time are stored.'}
            </p>
          ) : (
            <HeatCells
              key={`${range.interval} ${starts[0]}`}
              rows={rows}
              starts={starts}
              step={range.interval}
              missing={missingSteps(missing, range, length)}
            />
          )
        }}
      </Answer>
      <Request
        url={`${location.origin}${reportTarget('fundingRates', { ...range, first: MARKETS })}`}
        csv={`${reportTarget('fundingRates', range)}&format=csv`}
      />
    </section>
  )
}

async function askRates(
  range: { interval: Step; from: bigint; to: bigint },
  signal: AbortSignal,
): Promise<FundingRates['edges']> {
  const edges: FundingRates['edges'] = []
  let after: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const found = await lyra.fundingRates({ ...range, first: MARKETS, after, signal })
    edges.push(...found.edges)
    if (!found.pageInfo.hasNextPage) break
    after = found.pageInfo.endCursor
  }
  return edges
}

type Row = { marketId: string; buckets: ReadonlyMap<string, Bucket> }

/** The markets with payments, in the order in which they are given. */
export function heatRows(edges: FundingRates['edges'], summaries: readonly MarketSummary[]): Row[] {
  const known = new Map(edges.map(({ node: { marketId, buckets } }) => [marketId, buckets]))
  return summaries.flatMap(({ marketId }) => {
    const buckets = known.get(marketId) ?? []
    if (buckets.length === 0) return []
    return { marketId, buckets: new Map(buckets.map((bucket) => [bucket.start, bucket])) }
  })
}

/** The starts of columns of a length up to a time: those before the first payment of any market would be empty. */
export function columnStarts(rows: readonly Row[], end: bigint, length: bigint): bigint[] {
  const first = rows
    .flatMap(({ buckets }) => [...buckets.keys()].map(BigInt))
    .reduce((a, b) => (b < a ? b : a), end)
  return Array.from({ length: Number((end - first) / length) }, (_, index) => first + BigInt(index) * length)
}

type CellsProps = {
  rows: readonly Row[]
  starts: readonly bigint[]
  step: Step
  /** The starts of columns of which blocks are missing. */
  missing: ReadonlySet<bigint>
}

/** The cells: arrow keys, Home and End go from one to another; the one in focus is told in full. */
export function HeatCells({ rows, starts, step, missing }: CellsProps) {
  const [at, setAt] = useState({ row: 0, column: starts.length - 1 })
  const most = Math.max(
    ...rows.flatMap(({ buckets }) => [...buckets.values()].map((one) => Math.abs(sizeOf(one)))),
  )
  const limits = shadeLimits(most)
  const move = (event: KeyboardEvent) => {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key]
    const column = { Home: 0, End: starts.length - 1 }[event.key]
    if (by === undefined && column === undefined) return
    event.preventDefault()
    const next = {
      row: Math.min(rows.length - 1, Math.max(0, at.row + (by?.[0] ?? 0))),
      column: column ?? Math.min(starts.length - 1, Math.max(0, at.column + (by?.[1] ?? 0))),
    }
    setAt(next)
    table.current?.querySelector<HTMLElement>(`[data-cell="${next.row} ${next.column}"]`)?.focus()
  }
  const table = useRef<HTMLTableElement>(null)
  const row = rows[Math.min(at.row, rows.length - 1)]!
  const start = starts[at.column]!
  return (
    <>
      <p class="map-reading" aria-live="polite" data-figure="map-reading">
        {describe(row, start, step, missing)}
      </p>
      <MapKey limits={limits} />
      <TablePlace name="Funding heat map" atEnd>
        {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a table that is walked by keys is a grid. */}
        <table ref={table} class="heat-map pinned" role="grid" aria-labelledby="map-title">
          <thead>
            <tr>
              <th scope="col">Market</th>
              {starts.map((time) => (
                <th
                  key={time}
                  scope="col"
                  class={missing.has(time) ? 'figure-column gap' : 'figure-column'}
                  title={missing.has(time) ? BLOCKS_MISSING : undefined}
                >
                  {formatTime(time)
                    .slice(5, step === '1d' ? 10 : 13)
                    .replace(' ', ' ')}
                  {step === '8h' && 'h'}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ marketId, buckets }, index) => (
              <tr key={marketId}>
                <th scope="row" title={`${marketLabel(marketId)} ${marketId}`}>
                  <span class="market-code">{marketLabel(marketId)}</span>
                </th>
                {starts.map((time, column) => {
                  const bucket = buckets.get(`${time}`)
                  const isAt = at.row === index && at.column === column
                  return (
                    <td
                      key={time}
                      data-cell={`${index} ${column}`}
                      tabIndex={isAt ? 0 : -1}
                      {...lookOf(bucket, limits, missing.has(time))}
                      title={describe({ marketId, buckets }, time, step, missing)}
                      onFocus={() => setAt({ row: index, column })}
                      onKeyDown={move}
                    >
                      {bucket === undefined ? '' : shortRate(bucket)}
                    </td>
                  )
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </TablePlace>
    </>
  )
}

const sizeOf = ({ sumOfRates }: Bucket) => approximate(parseDecimal(sumOfRates)!)

/** The percentage without its sign of percent, which the title says. */
const shortRate = ({ sumOfRates }: Bucket) => formatRate(parseDecimal(sumOfRates)!, 3).replace(' %', '')

/** The greatest figures of the shades, of which the last is the greatest of the map: fractions, from the least on. */
export function shadeLimits(most: number): number[] {
  return Array.from({ length: SHADES }, (_, index) => most * ((index + 1) / SHADES) ** 2)
}

/** The look of a cell: its side of zero, and the number of its shade; hatched without one if blocks are missing. */
function lookOf(bucket: Bucket | undefined, limits: readonly number[], isMissing: boolean) {
  const size = bucket === undefined ? 0 : sizeOf(bucket)
  if (size === 0) return { class: isMissing ? 'figure-column gap' : 'figure-column' }
  const shade = limits.findIndex((limit) => Math.abs(size) <= limit) + 1
  const side = size > 0 ? 'above' : 'below'
  return {
    class: `figure-column ${side}${isMissing ? ' gap' : ''}`,
    style: { '--shade': `${shade}` },
  }
}

const BLOCKS_MISSING = 'blocks are missing'

/** Key to the shades. */
function MapKey({ limits }: { limits: readonly number[] }) {
  const text = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 })
  return (
    <dl class="map-key" aria-label="Shades of the map">
      {(['above', 'below'] as const).map((side) => (
        <div key={side}>
          <dt>{side === 'above' ? 'Longs pay up to' : 'Shorts pay up to'}</dt>
          {limits.map((limit, index) => (
            <dd key={limit} class={side} style={{ '--shade': `${index + 1}` }}>
              {text.format(limit * 100)}
            </dd>
          ))}
        </div>
      ))}
    </dl>
  )
}

/** A cell in a sentence. */
function describe(
  { marketId, buckets }: Row,
  start: bigint,
  step: Step,
  missing: ReadonlySet<bigint>,
): string {
  const partly = missing.has(start) ? `; ${BLOCKS_MISSING}` : ''
  const when = step === '1d' ? formatDay(start) : `8 hours from ${formatMinute(start)} UTC`
  const bucket = buckets.get(`${start}`)
  if (bucket === undefined) {
    return `${marketLabel(marketId)}, ${when}: ${missing.has(start) ? `no payment is stored${partly}` : 'no payment'}`
  }
  const { count, sumOfRates } = bucket
  const payments = `${count} payment${count === 1 ? '' : 's'}`
  return `${marketLabel(marketId)}, ${when}: ${formatRate(parseDecimal(sumOfRates)!, 4)} in ${payments}, ${whoPays(sumOfRates)}${partly}`
}

import type { DataPointSource, FundingPeriodDataPoint } from 'lyra-client'
import { inUnit, placesOf, pricePlaces, type Unit } from '../../figures/amount.ts'
import { groupDigits } from '../../figures/format-figure.ts'
import { formatTime } from '../../figures/format-time.ts'
import { param, setParams } from '../../location.ts'
import { Request } from '../../parts/request.tsx'
import { Answer, Empty } from '../../parts/states/states.tsx'
import { Pager } from '../../parts/tables/pager.tsx'
import { TablePlace } from '../../parts/tables/table-place.tsx'
import { Amount } from '../../parts/values/amount.tsx'
import { subjectOf, type ViewRange } from '../../range/view-range.ts'
import { instrumentOf } from '../../service/instruments.ts'
import { lyra } from '../../service/lyra.ts'
import { isWhole, missingOf } from '../../service/missing.ts'
import { useQuery } from '../../service/use-query.ts'

const ROWS = 25

const REST_MS = 250

const SOURCE_NAMES: Record<DataPointSource, string> = {
  SOURCE_EXTERNAL: 'External',
  SOURCE_INTERNAL: 'Internal',
  SOURCE_UNSPECIFIED: 'Unspecified',
}

export type PointsTableProps = {
  marketId: string
  range: ViewRange
  unit: Unit | null
  /** Changes when there may be new points for the page. */
  version: string
}

/** The data points of a range, page by page, with the request that gives them. */
export function PointsTable({ marketId, range, unit, version }: PointsTableProps) {
  const source = (param('source') ?? undefined) as DataPointSource | undefined
  const seq = param('seq') ?? undefined
  const after = param('after') ?? undefined
  const before = param('before') ?? undefined
  const filters = { marketId, source, seq, from: range.from, to: range.to }
  const page = before === undefined ? { first: ROWS, after } : { last: ROWS, before }
  const url = lyra.url('fundingPeriodDataPoints', filters, page)
  const list = [marketId, subjectOf(range), source, seq].join()
  const query = useQuery(
    [list, after, before].join(),
    (signal) => lyra.fundingPeriodDataPointsPage(filters, { ...page, signal }),
    { version: `${url} ${after ?? before ?? version}`, list, restMs: REST_MS },
  )
  return (
    <section class="panel" aria-labelledby="points-title">
      <div class="panel-head">
        <h2 id="points-title">Data points</h2>
        <div class="filters">
          <label class="field inline">
            <span class="field-label">Source</span>
            <select
              value={source ?? ''}
              onChange={(event) =>
                setParams({ source: event.currentTarget.value || null, after: null, before: null })
              }
            >
              <option value="">All</option>
              {Object.entries(SOURCE_NAMES)
                .filter(([value]) => value !== 'SOURCE_UNSPECIFIED')
                .map(([value, name]) => (
                  <option key={value} value={value}>
                    {name}
                  </option>
                ))}
            </select>
          </label>
          <label class="field inline">
            <span class="field-label">Period</span>
            <input
              class="short"
              inputMode="numeric"
              placeholder="all"
              value={seq ?? ''}
              onChange={(event) => {
                const { value } = event.currentTarget
                setParams({ seq: /^\d+$/.test(value) ? value : null, after: null, before: null })
              }}
            />
          </label>
        </div>
      </div>
      <Answer query={query} what="data points">
        {(data) =>
          data.rows.length === 0 ? (
            <Empty title="No data points here">
              {isWhole(missingOf('fundingPeriodDataPoints', range))
                ? 'No points match the range and filters. Widen the range, or remove a filter.'
                : 'No stored points match the range and filters, and blocks of this range are missing.'}
            </Empty>
          ) : (
            <>
              <Rows
                points={data.rows.map(({ node }) => node)}
                unit={unit}
                places={pricePlaces(instrumentOf(marketId))}
              />
              <Pager page={data} what="points" />
            </>
          )
        }
      </Answer>
      <Request url={url} csv={lyra.url('fundingPeriodDataPoints', filters, { format: 'csv' })} />
    </section>
  )
}

function Rows({
  points,
  unit,
  places,
}: {
  points: FundingPeriodDataPoint[]
  unit: Unit | null
  /** Decimal digits of TWAPs. */
  places: number
}) {
  const figures = ['price', 'twap'] as const
  const styles = unit === null ? [{}, {}] : [{}, { places }]
  const least = figures.map((name, column) =>
    placesOf(
      points.map((point) => point[name]),
      unit,
      styles[column]!,
    ),
  )
  return (
    <TablePlace name="Table of data points">
      <table class="points">
        <thead>
          <tr>
            <th scope="col">Time (UTC)</th>
            <th scope="col" class="figure-column less">
              Period
            </th>
            <th scope="col">Source</th>
            <th scope="col" class="figure-column">
              Price{inUnit(unit)}
            </th>
            <th scope="col" class="figure-column">
              TWAP{inUnit(unit)}
            </th>
          </tr>
        </thead>
        <tbody>
          {points.map((point) => (
            <tr key={`${point.timestamp} ${point.seq} ${point.dataPointType}`}>
              <td title={`${point.timestamp} ns`}>
                <BrokenTime time={formatTime(point.timestamp)} />
              </td>
              <td class="figure-column less">{groupDigits(point.seq)}</td>
              <td>
                <span class={`source ${point.dataPointType}`}>{SOURCE_NAMES[point.dataPointType]}</span>
                <span class="period-beneath">period {groupDigits(point.seq)}</span>
              </td>
              {figures.map((name, column) => (
                <td key={name} class="figure-column">
                  <Amount {...styles[column]!} text={point[name]} unit={unit} least={least[column]!} bare />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TablePlace>
  )
}

/** A time that a narrow table breaks between day and hour. */
export function BrokenTime({ time }: { time: string }) {
  const [day, ...rest] = time.split(' ')
  return (
    <>
      <span class="day">{day}</span> <span class="hour">{rest.join(' ')}</span>
    </>
  )
}

import type { MarketSummary } from 'lyra-client'
import { param, setParams } from '../location.ts'
import { SortField, SortHeader } from '../parts/tables/sort-controls.tsx'
import { readSorting } from '../parts/tables/sorting.ts'
import { TablePlace } from '../parts/tables/table-place.tsx'
import { MarketName } from '../parts/values/market-name.tsx'
import { latestCoverage } from '../service/coverage.ts'
import { marketLabel } from '../service/instruments.ts'
import { COLUMNS, type Column, isEmpty, MARKET, type Shown } from './market-columns.tsx'
import { SORTS, type Sort, sortSummaries } from './market-order.ts'
import { RATE_BASES, type RateBasis } from './rates.ts'

/** Markets that are compared at most: more lines cannot be distinguished. */
export const MOST_COMPARED = 6

export type MarketsTableProps = {
  basis: RateBasis
  /** In the order of {@link inOrder}. */
  summaries: readonly MarketSummary[]
  compared: readonly string[]
  /** @param box the box that was ticked, or cleared */
  onCompare: (marketIds: readonly string[], box: Element) => void
}

/**
 * Markets, one below the other, sorted by any column. On a phone each is a line with its rate and its price, or the
 * figure that they are sorted by, and on request a card with all figures.
 */
export function MarketsTable({ basis, summaries, compared, onCompare }: MarketsTableProps) {
  const shown = { basis, last: lastTime() }
  const sorting = readOrder()
  const sortBy = (chosen: string) => setParams({ sort: chosen, page: null }, { push: false })
  const sorts = [MARKET, ...COLUMNS].flatMap(({ sort, title }) =>
    sort === null ? [] : [{ name: sort, title }],
  )
  const columns = COLUMNS.filter(({ sort }) => !isEmpty(sort, summaries) || sort === sorting.column)
  const isBrief = param('figures') !== 'all'
  const second = ['market', 'rate'].includes(sorting.column) ? 'price' : sorting.column
  const brief: readonly (Sort | null)[] = ['rate', second]
  return (
    <>
      <div class="phone-bar">
        <SortField columns={sorts} sorting={sorting} onSort={sortBy} />
        <button
          type="button"
          class="button"
          aria-pressed={!isBrief}
          onClick={() => setParams({ figures: isBrief ? 'all' : null }, { push: false })}
        >
          All figures
        </button>
      </div>
      <TablePlace name="Table of markets">
        <table class={`markets stacked pinned${isBrief ? ' brief' : ''}`}>
          <thead>
            <tr>
              {[MARKET, ...columns].map(({ sort, title, meaning, ...rest }) => (
                <SortHeader
                  key={title}
                  name={sort}
                  title={title}
                  meaning={meaning}
                  figure={'figure' in rest}
                  rising={sort === 'market' || sort === 'state'}
                  sorting={sorting}
                  onSort={sortBy}
                />
              ))}
              <th scope="col">Compare</th>
            </tr>
          </thead>
          <tbody>
            {summaries.map((summary) => (
              <Row
                key={summary.marketId}
                summary={summary}
                columns={columns}
                shown={shown}
                brief={brief}
                compared={compared}
                onCompare={onCompare}
              />
            ))}
          </tbody>
        </table>
      </TablePlace>
    </>
  )
}

function Row({
  summary,
  columns,
  shown,
  brief,
  compared,
  onCompare,
}: {
  summary: MarketSummary
  columns: readonly Column[]
  shown: Shown
  brief: readonly (Sort | null)[]
} & Pick<MarketsTableProps, 'compared' | 'onCompare'>) {
  const { marketId, instrument, lastPaidPeriod, runningPeriod } = summary
  const hasPoints = latestCoverage()?.fundingPeriodDataPoints.some((entry) => entry.marketId === marketId)
  const hasFunding = hasPoints || lastPaidPeriod !== null || runningPeriod !== null
  const checked = compared.includes(marketId)
  return (
    <tr data-market={marketId}>
      <th scope="row">
        <MarketName
          marketId={marketId}
          {...(hasFunding && { link: { view: 'funding' as const, params: { market: marketId } } })}
        />
        {instrument !== null && instrument.name !== '' && (
          <span class="under" title={instrument.name}>
            {instrument.name}
          </span>
        )}
      </th>
      {columns.map(({ sort, title, figure, broad, cell }) => (
        <td
          key={title}
          data-label={title}
          class={`${figure ? 'figure-column' : broad ? 'broad' : ''}${brief.includes(sort) ? '' : ' more'}`}
        >
          {cell(summary, shown)}
        </td>
      ))}
      <td data-label="Compare">
        <input
          type="checkbox"
          aria-label={`Compare ${marketLabel(marketId)}`}
          checked={checked}
          disabled={!hasFunding || (!checked && compared.length >= MOST_COMPARED)}
          onChange={({ currentTarget }) =>
            onCompare(
              checked ? compared.filter((id) => id !== marketId) : [...compared, marketId],
              currentTarget,
            )
          }
        />
      </td>
    </tr>
  )
}

/** The basis of rates that the view's state names; by default one on which all markets can be compared. */
export function readBasis(): RateBasis {
  const named = param('per') ?? ''
  return Object.hasOwn(RATE_BASES, named) ? (named as RateBasis) : '8h'
}

const lastTime = () => BigInt(latestCoverage()?.blocks.lastTimestamp ?? 0)

/** Markets in the order that the view's state names. */
export function inOrder(summaries: readonly MarketSummary[], basis: RateBasis): MarketSummary[] {
  return sortSummaries(summaries, { ...readOrder(), basis, last: lastTime() })
}

/** The order that the view's state names; by name if it names none. */
const readOrder = () => readSorting('sort', SORTS, { column: 'market', descending: false })

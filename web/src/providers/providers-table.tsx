import { inUnit, type Unit } from '../figures/amount.ts'
import { formatPart } from '../figures/format-figure.ts'
import { param, setParams } from '../location.ts'
import { Link } from '../parts/link.tsx'
import { useNarrow } from '../parts/narrow.ts'
import { Pages, pageOf } from '../parts/tables/pages.tsx'
import { SortField, SortHeader } from '../parts/tables/sort-controls.tsx'
import { readSorting, type Sorting } from '../parts/tables/sorting.ts'
import { TablePlace } from '../parts/tables/table-place.tsx'
import { Id } from '../parts/values/id.tsx'
import { MarketName } from '../parts/values/market-name.tsx'
import { marketLabel } from '../service/instruments.ts'
import { COLUMNS, type Column, isSortable, sortProviders } from './columns.ts'
import type { ProviderRow } from './fees.ts'
import { FilterControls } from './filters.tsx'
import { isBelow, leastTime, ProviderFigure } from './provider-figure.tsx'
import { describeOthers } from './provisions.ts'

/** By the share of its market's fees that its last penalty leaves a provider. */
const DEFAULT: Sorting = { column: 'net', descending: true }

/** Rows of a page; on a phone each is a card. */
const ROWS = 50
const ROWS_OF_PHONE = 15

export type ProvidersTableProps = {
  providers: readonly ProviderRow[]
  /** Whether each row names its party, and its market. */
  names: { party: boolean; market: boolean }
  /** What all amounts are in; null if markets have different ones, or it is not known. */
  unit: Unit | null
}

/** Providers as a table that is sorted by its columns; on a phone one below the other. */
export function ProvidersTable({ providers, names, unit }: ProvidersTableProps) {
  const sortable = COLUMNS.filter(isSortable).map(({ name }) => name)
  const sorting = readSorting('sort', ['id', ...sortable], DEFAULT)
  const onSort = (chosen: string) => setParams({ sort: chosen, page: null }, { push: false })
  const idTitle = names.party ? 'Party' : 'Market'
  const all = param('columns') === 'all'
  const columns = all ? COLUMNS : COLUMNS.filter(({ first }) => first)
  const sorted = sortProviders(providers, sorting)
  const count = useNarrow() ? ROWS_OF_PHONE : ROWS
  const pages = pageOf('page', sorted.length, count)
  // Rows are keyed by their place: live figures change the order often, and moved rows would shift the page.
  const rows = sorted
    .slice(pages.first, pages.first + count)
    .map((provider, index) => ({ provider, key: index }))
  return (
    <>
      <div class="table-bar">
        <FilterControls />
        <SortField
          columns={[{ name: 'id', title: idTitle }, ...columns.filter(isSortable)]}
          sorting={sorting}
          onSort={onSort}
        />
        <button
          type="button"
          class="button"
          aria-pressed={all}
          onClick={() => setParams({ columns: all ? null : 'all' }, { push: false })}
        >
          {all ? 'Fewer columns' : `All ${COLUMNS.length} figures`}
        </button>
      </div>
      <TablePlace name="Table of providers">
        <table class={`providers stacked pinned${all ? ' all' : ''}`}>
          <thead>
            <tr>
              {names.market && names.party && <th scope="col">Market</th>}
              <SortHeader name="id" title={idTitle} sorting={sorting} onSort={onSort} />
              {columns.map((column) => (
                <SortHeader
                  key={column.name}
                  name={isSortable(column) ? column.name : null}
                  meaning={column.meaning}
                  title={column.kind === 'amount' ? column.title + inUnit(unit) : column.title}
                  sorting={sorting}
                  figure
                  onSort={onSort}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ provider, key }) => (
              <Row key={key} provider={provider} names={names} columns={columns} />
            ))}
          </tbody>
        </table>
      </TablePlace>
      <Pages {...pages} what="providers" />
      <OthersNote providers={rows.map(({ provider }) => provider)} />
      {rows.some(({ provider }) => leastTime(provider.marketId) !== null) && (
        <p class="quiet">The mark on a time-on-book bar is the minimum of the market's SLA.</p>
      )}
    </>
  )
}

/** Why fee shares are upper bounds. */
function OthersNote({ providers }: { providers: readonly ProviderRow[] }) {
  const shares = new Map(
    providers.flatMap(({ marketId, fees }) => (fees.others === null ? [] : [[marketId, fees.others]])),
  )
  if (shares.size === 0) return null
  const parts = [...shares].map(([marketId, part]) => `${formatPart(part)} on ${marketLabel(marketId)}`)
  return (
    <p class="quiet" data-figure="others">
      At most: {describeOthers()} a part of the equity-like share ({parts.join(', ')}), and may be paid fees,
      too.
    </p>
  )
}

type RowProps = Pick<ProvidersTableProps, 'names'> & {
  provider: ProviderRow
  columns: readonly Column[]
}

function Row({ provider, names, columns }: RowProps) {
  return (
    <tr>
      {names.market && names.party && (
        <td data-label="Market">
          <Market provider={provider} />
        </td>
      )}
      <th scope="row">
        {names.party ? <Party provider={provider} /> : <Market provider={provider} />}
        <Mark provider={provider} />
        <ToEpochs provider={provider} />
      </th>
      {columns.map((column) => (
        <td key={column.name} data-label={column.title} class="figure-column">
          <ProviderFigure column={column} provider={provider} />
        </td>
      ))}
    </tr>
  )
}

function Party({ provider: { partyId } }: Pick<RowProps, 'provider'>) {
  return <Id id={partyId} what="the party id" link={{ view: 'providers', params: { party: partyId } }} />
}

/** Marks a provider that may be paid no fees for this epoch, or has no figures of it. */
function Mark({ provider: { marketId, sla } }: Pick<RowProps, 'provider'>) {
  if (sla === null) return <span class="tag">No SLA figures</span>
  if (!isBelow(sla.currentEpochFractionOfTimeOnBook, leastTime(marketId))) return null
  return <span class="tag below-minimum">below minimum this epoch</span>
}

/** Link to the provider's earlier epochs on the market. */
function ToEpochs({ provider: { marketId, partyId } }: Pick<RowProps, 'provider'>) {
  const [market, party] = [param('market'), param('party')]
  if (market === marketId && party === partyId) return null
  return (
    <span class="to-epochs">
      <Link view="providers" params={{ market: marketId, party: partyId }}>
        Past epochs
      </Link>
    </span>
  )
}

function Market({ provider: { marketId } }: Pick<RowProps, 'provider'>) {
  return <MarketName marketId={marketId} link={{ view: 'providers', params: { market: marketId } }} />
}

import type { LiquidityProvider } from 'lyra-client'
import { param, setParams } from '../location.ts'
import { Id } from '../parts/id.tsx'
import { TablePlace } from '../parts/table-place.tsx'
import { COLUMNS, type Sorting, sortProviders } from './columns.ts'
import { ProviderFigure } from './provider-figure.tsx'
import { SortField, SortHeader } from './sort-controls.tsx'

const DEFAULT: Sorting = { column: 'share', descending: true }

export type ProvidersTableProps = { providers: LiquidityProvider[]; by: 'party' | 'market' }

/** Providers as a table that is sorted by its columns; on a phone one below the other. */
export function ProvidersTable({ providers, by }: ProvidersTableProps) {
  const sorting = readSorting()
  const onSort = (chosen: string) => setParams({ sort: chosen })
  const idTitle = by === 'party' ? 'Party' : 'Market'
  const sorted = sortProviders(providers, sorting)
  return (
    <>
      <SortField idTitle={idTitle} sorting={sorting} onSort={onSort} />
      <div class="wide-only">
        <TablePlace name="Providers, as a table">
          <table class="providers">
            <thead>
              <tr>
                <SortHeader name="id" title={idTitle} sorting={sorting} onSort={onSort} />
                {COLUMNS.map((column) => (
                  <SortHeader key={column.name} {...column} sorting={sorting} figure onSort={onSort} />
                ))}
              </tr>
            </thead>
            <tbody>
              {sorted.map((provider) => (
                <Row key={`${provider.marketId} ${provider.partyId}`} provider={provider} by={by} />
              ))}
            </tbody>
          </table>
        </TablePlace>
      </div>
      <ul class="cards narrow-only" aria-label="Providers">
        {sorted.map((provider) => (
          <Card key={`${provider.marketId} ${provider.partyId}`} provider={provider} by={by} />
        ))}
      </ul>
    </>
  )
}

type RowProps = { provider: LiquidityProvider; by: 'party' | 'market' }

function Row({ provider, by }: RowProps) {
  const slaColumns = COLUMNS.filter(({ sla }) => sla)
  return (
    <tr>
      <th scope="row">
        <ProviderId provider={provider} by={by} />
      </th>
      {COLUMNS.map((column) => {
        if (provider.sla !== null || !column.sla) {
          return (
            <td key={column.name} class="figure-column">
              <ProviderFigure column={column} provider={provider} />
            </td>
          )
        }
        if (column !== slaColumns[0]) return null
        return (
          <td key="no-sla" class="no-sla" colSpan={slaColumns.length}>
            No SLA figures
          </td>
        )
      })}
    </tr>
  )
}

function Card({ provider, by }: RowProps) {
  return (
    <li class="card">
      <ProviderId provider={provider} by={by} />
      <dl>
        {COLUMNS.filter(({ sla }) => provider.sla !== null || !sla).map((column) => (
          <div key={column.name}>
            <dt>{column.title}</dt>
            <dd>
              <ProviderFigure column={column} provider={provider} />
            </dd>
          </div>
        ))}
      </dl>
      {provider.sla === null && <p class="no-sla">No SLA figures</p>}
    </li>
  )
}

function ProviderId({ provider, by }: RowProps) {
  const { partyId, marketId } = provider
  return by === 'party' ? (
    <Id id={partyId} what="the party id" link={{ view: 'providers', params: { party: partyId } }} />
  ) : (
    <Id id={marketId} what="the market id" link={{ view: 'providers', params: { market: marketId } }} />
  )
}

function readSorting(): Sorting {
  const [, sign, name] = /^(-?)(\w+)$/.exec(param('sort') ?? '') ?? []
  const known = name === 'id' || COLUMNS.some((column) => column.name === name && !column.list)
  return known ? { column: name!, descending: sign === '-' } : DEFAULT
}

import type { ComponentChildren } from 'preact'
import { param } from '../location.ts'
import { Segments } from '../parts/pickers/segments.tsx'
import { Request } from '../parts/request.tsx'
import { MissingRows } from '../parts/states/missing-rows.tsx'
import { Answer, Empty, Skeleton } from '../parts/states/states.tsx'
import { Pages, pageOf } from '../parts/tables/pages.tsx'
import { Id } from '../parts/values/id.tsx'
import { marketUnit } from '../service/instruments.ts'
import { lyra } from '../service/lyra.ts'
import { useChanges } from '../service/use-changes.ts'
import { type Query, useQuery } from '../service/use-query.ts'
import { useStanding } from '../service/use-standing.ts'
import { EpochsChart } from './epochs-chart.tsx'
import { EpochsTable } from './epochs-table.tsx'
import type { ProviderRow } from './fees.ts'
import { leastTime } from './provider-figure.tsx'
import { StandingPanel } from './standing-panel.tsx'

/** How many epochs can be looked at. */
const COUNTS = { 10: 'Last 10', 50: 'Last 50', 200: 'Last 200' }

/** Rows of a page of the table. */
const ROWS = 20

export type HistoryProps = {
  marketId: string
  partyId: string
  /** The provider's figures now; null if it has left the market. */
  now: ProviderRow | null
  /** Content below, once the heights above are known. */
  children: ComponentChildren
}

/** How a provider stands on a market, and how it did in its last epochs: a chart, a table, and the request that gives them. */
export function History({ marketId, partyId, now, children }: HistoryProps) {
  const filters = { marketId, partyId }
  const count = Object.keys(COUNTS).find((known) => known === param('epochs')) ?? '10'
  const { version } = useChanges(`${marketId} ${partyId}`, (client, options) =>
    client.streamLiquidityProviderHistory(filters, options),
  )
  const query = useQuery(
    `${marketId} ${partyId} ${count}`,
    async (signal) => lyra.liquidityProviderHistoryPage(filters, { first: Number(count), signal }),
    { version },
  )
  const { data } = query
  const standing = useStanding(filters)
  const rows = data?.rows.map(({ node }) => node) ?? []
  const range = { from: rows.length < Number(count) ? null : BigInt(rows.at(-1)!.timestamp), to: null }
  const listed = pageOf('epochPage', rows.length, ROWS)
  // Before both are answered, what is below would move.
  if (!isSettled(query) || !isSettled(standing)) {
    return (
      // With a key, it does not become the panel further below.
      <section key="filling" class="panel filling">
        <Skeleton what="epochs" tall />
      </section>
    )
  }
  return (
    <>
      <StandingPanel query={standing} marketId={marketId} partyId={partyId} now={now} newest={rows[0]} />
      <section class="panel" aria-labelledby="history-title">
        <div class="panel-head">
          <h2 id="history-title">
            Past epochs of party <Id id={partyId} what="the party id" />
          </h2>
          <Segments label="Number of epochs" name="epochs" choices={COUNTS} chosen={count} byDefault="10" />
        </div>
        <MissingRows resource="liquidityProviderHistory" range={range} />
        <MissingRows resource="paidLiquidityFees" range={range} besides="liquidityProviderHistory" />
        <Answer query={query} what="epochs">
          {() =>
            rows.length === 0 ? (
              <Empty title="No epochs of this provider">
                No ended epoch is stored in which this party provided liquidity on this market.
              </Empty>
            ) : (
              <>
                <EpochsChart
                  rows={[...rows].reverse()}
                  least={leastTime(marketId)}
                  unit={marketUnit(marketId)}
                />
                <EpochsTable marketId={marketId} rows={rows} now={now} first={listed.first} count={ROWS} />
                <Pages {...listed} what="epochs" />
              </>
            )
          }
        </Answer>
        {data !== null && (
          <Request
            url={lyra.url('liquidityProviderHistory', filters, { first: Number(count) })}
            csv={lyra.url('liquidityProviderHistory', filters, { format: 'csv' })}
          />
        )}
      </section>
      {children}
    </>
  )
}

const isSettled = ({ data, error }: Query<unknown>) => data !== null || error !== null

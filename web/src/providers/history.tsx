import type { LiquidityProviderEpoch } from 'lyra-client'
import type { ComponentChildren } from 'preact'
import { inUnit, type Unit } from '../figures/amount.ts'
import { add, multiply, ONE, parseDecimal, ratio, writeDecimal } from '../figures/decimal.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { formatTime } from '../figures/format-time.ts'
import { param, setParams } from '../location.ts'
import { Amount } from '../parts/amount.tsx'
import { Id } from '../parts/id.tsx'
import { Pages, pageOf } from '../parts/pages.tsx'
import { Request } from '../parts/request.tsx'
import { Empty, Failure, Skeleton } from '../parts/states.tsx'
import { TablePlace } from '../parts/table-place.tsx'
import { marketUnit } from '../service/instruments.ts'
import { lyra } from '../service/lyra.ts'
import { useChanges } from '../service/use-changes.ts'
import { useQuery } from '../service/use-query.ts'
import { showPart } from './columns.ts'
import { EpochsChart } from './epochs-chart.tsx'
import { Bar, isBelow, leastTime } from './provider-figure.tsx'

/** How many epochs can be looked at. */
const COUNTS = ['10', '50', '200'] as const

/** Rows of a page of the table. */
const ROWS = 20

export type HistoryProps = {
  marketId: string
  partyId: string
  /** Content below, once the height of the history is known. */
  children: ComponentChildren
}

/** How a provider did on a market in its last epochs: a chart, a table, and the request that gives them. */
export function History({ marketId, partyId, children }: HistoryProps) {
  const filters = { marketId, partyId }
  const count = COUNTS.find((known) => known === param('epochs')) ?? COUNTS[0]
  const { version } = useChanges(`${marketId} ${partyId}`, (options) =>
    lyra.streamLiquidityProviderHistory(filters, options),
  )
  const { data, error, reload } = useQuery(
    `${marketId} ${partyId} ${count} ${version}`,
    async (signal) => lyra.liquidityProviderHistoryPage(filters, { first: Number(count), signal }),
    { keep: true },
  )
  const rows = data?.rows.map(({ node }) => node) ?? []
  const least = leastTime(marketId)
  const listed = pageOf('epochPage', rows.length, ROWS)
  return (
    <>
      <section class="panel" aria-labelledby="history-title">
        <div class="panel-head">
          <h2 id="history-title">
            Past epochs of party <Id id={partyId} what="the party id" />
          </h2>
          <fieldset class="segments small" aria-label="Number of epochs">
            {COUNTS.map((choice) => (
              <button
                key={choice}
                type="button"
                aria-pressed={choice === count}
                onClick={() =>
                  setParams(
                    { epochs: choice === COUNTS[0] ? null : choice, epochPage: null },
                    { push: false },
                  )
                }
              >
                Last {choice}
              </button>
            ))}
          </fieldset>
        </div>
        {error !== null && <Failure error={error} onRetry={reload} />}
        {data === null && error === null && <Skeleton what="epochs" />}
        {data !== null && rows.length === 0 && (
          <Empty title="No epochs of this provider">
            No epoch has ended since the provider committed, or the service has no event in which one ended.
          </Empty>
        )}
        {rows.length > 0 && (
          <>
            <EpochsChart rows={[...rows].reverse()} least={least} />
            <EpochsTable
              rows={rows.slice(listed.first, listed.first + ROWS)}
              added={rows}
              newer={rows[listed.first - 1] ?? null}
              least={least}
              unit={marketUnit(marketId)}
            />
            <Pages {...listed} what="epochs" />
          </>
        )}
        {data !== null && (
          <Request
            url={lyra.url('liquidityProviderHistory', filters, { first: Number(count) })}
            csv={lyra.url('liquidityProviderHistory', filters, { format: 'csv' })}
          />
        )}
      </section>
      {(data !== null || error !== null) && children}
    </>
  )
}

type EpochsTableProps = {
  /** Newest first. */
  rows: readonly LiquidityProviderEpoch[]
  /** The epochs whose fees and losses are added beneath. */
  added: readonly LiquidityProviderEpoch[]
  /** The row before the first one, on the page before. */
  newer: LiquidityProviderEpoch | null
  least: string | null
  unit: Unit | null
}

/** A page of epochs, with a row for those that are missing between two others. */
export function EpochsTable({ rows, added, newer, least, unit }: EpochsTableProps) {
  const amounts = ['Required liquidity', 'Fees before penalty', 'Lost to the fee penalty'].map(
    (title) => title + inUnit(unit),
  )
  const titles = [
    'Ended (UTC)',
    'Time on book',
    'Fee penalty',
    'Bond penalty',
    'Equity-like share',
    ...amounts,
  ]
  const amountCell = (text: string | null, name: string, title: string) => (
    <td key={name} data-label={title} class="figure-column">
      {text === null ? '–' : <Amount text={text} unit={unit} places={2} bare name={name} />}
    </td>
  )
  return (
    <TablePlace name="Table of epochs">
      <table class="epochs-table stacked">
        <thead>
          <tr>
            {['Epoch', ...titles].map((title, index) => (
              <th key={title} scope="col" class={index > 1 ? 'figure-column' : ''}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.flatMap((row, index) => [
            <Missing
              key={`before ${row.epoch}`}
              newer={rows[index - 1] ?? newer}
              older={row}
              columns={titles.length}
            />,
            <tr key={row.epoch}>
              <th scope="row">{groupDigits(row.epoch)}</th>
              <td data-label={titles[0]} title={`${row.timestamp} ns, block ${row.atBlock}`}>
                {formatTime(row.timestamp).slice(0, 19)}
              </td>
              <td data-label={titles[1]} class="figure-column">
                {row.timeOnBook !== null && isBelow(row.timeOnBook, least) && (
                  <span class="tag">below SLA</span>
                )}{' '}
                <Part text={row.timeOnBook} name="epoch-book" />
                {parseDecimal(row.timeOnBook ?? '') !== null && (
                  <Bar part={parseDecimal(row.timeOnBook!)!} least={least} />
                )}
              </td>
              <td data-label={titles[2]} class="figure-column">
                <Part text={row.feePenalty} name="epoch-fee-penalty" penalty />
              </td>
              <td data-label={titles[3]} class="figure-column">
                <Part text={row.bondPenalty} name="epoch-bond-penalty" penalty />
              </td>
              <td data-label={titles[4]} class="figure-column">
                <Part text={row.equityLikeShare} name="epoch-share" />
              </td>
              {[row.requiredLiquidity, row.feesPaid, lostToPenalty(row)].map((text, at) =>
                amountCell(text, AMOUNTS[at]!, titles[5 + at]!),
              )}
            </tr>,
          ])}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row" colSpan={7}>
              Sum of {groupDigits(`${added.length}`)} epochs
            </th>
            {[added.map(({ feesPaid }) => feesPaid), added.map(lostToPenalty)].map((texts, at) =>
              amountCell(sumOf(texts), SUMS[at]!, titles[6 + at]!),
            )}
          </tr>
        </tfoot>
      </table>
    </TablePlace>
  )
}

type MissingProps = {
  newer: LiquidityProviderEpoch | null
  older: LiquidityProviderEpoch
  columns: number
}

/** The epochs between two rows: the provider was not listed in them, or their blocks are missing. */
function Missing({ newer, older, columns }: MissingProps) {
  if (newer === null) return null
  const [first, last] = [BigInt(older.epoch) + 1n, BigInt(newer.epoch) - 1n]
  if (first > last) return null
  return (
    <tr class="missing-epochs">
      <th scope="row">
        {groupDigits(`${first}`)}
        {first < last && ` to ${groupDigits(`${last}`)}`}
      </th>
      <td class="unpaid" colSpan={columns}>
        missing: no figures of this provider
      </td>
    </tr>
  )
}

/** Figures that are amounts, by the names of tests and styles. */
const AMOUNTS = ['epoch-required', 'epoch-fees', 'epoch-lost'] as const
const SUMS = ['epochs-fees', 'epochs-lost'] as const

/** The fee penalty of an epoch as an amount, before any bonus; null if it is not known. */
export function lostToPenalty({ feesPaid, feePenalty }: LiquidityProviderEpoch): string | null {
  const [fees, penalty] = [parseDecimal(feesPaid ?? ''), parseDecimal(feePenalty ?? '')]
  return fees === null || penalty === null ? null : writeDecimal(ratio(multiply(fees, penalty), ONE, 0, 0)!)
}

/** The sum of what is known; null if nothing is. */
function sumOf(texts: (string | null)[]): string | null {
  const known = texts.flatMap((text) => parseDecimal(text ?? '') ?? [])
  return known.length === 0 ? null : writeDecimal(known.reduce(add))
}

/** A part of one in percent, exact on hover. */
function Part({ text, name, penalty = false }: { text: string | null; name: string; penalty?: boolean }) {
  if (text === null) return '–'
  const bad = penalty && (parseDecimal(text)?.digits ?? 0n) !== 0n
  return (
    <data class={bad ? 'amount bad' : 'amount'} value={text} title={text} data-figure={name}>
      {showPart(text)}
    </data>
  )
}

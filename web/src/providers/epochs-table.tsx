import type { LiquidityProviderEpoch } from 'lyra-client'
import { inUnit, placesOf } from '../figures/amount.ts'
import { parseDecimal } from '../figures/decimal.ts'
import { formatPart, groupDigits } from '../figures/format-figure.ts'
import { formatSecond } from '../figures/format-time.ts'
import { setParams } from '../location.ts'
import { SortField, SortHeader } from '../parts/tables/sort-controls.tsx'
import { readSorting } from '../parts/tables/sorting.ts'
import { TablePlace } from '../parts/tables/table-place.tsx'
import { Amount, Rounded } from '../parts/values/amount.tsx'
import { instrumentOf, marketLabel, marketUnit } from '../service/instruments.ts'
import { isPenalty } from './columns.ts'
import {
  countMissing,
  describeDearest,
  EPOCH_COLUMNS,
  type EpochColumn,
  earnedOf,
  sortEpochs,
  sumOf,
  UNSUMMED,
} from './epochs.ts'
import type { ProviderRow } from './fees.ts'
import { Bar, isBelow, leastTime, NotKnown } from './provider-figure.tsx'

export type EpochsTableProps = {
  marketId: string
  /** Newest first. */
  rows: readonly LiquidityProviderEpoch[]
  /** The provider's figures now; null if it has left the market. */
  now: ProviderRow | null
  /** Which of the rows are listed, in the order of the table. */
  first: number
  count: number
}

/** A column of amounts has a sum, and the decimal digits of each amount. */
type Column = EpochColumn & { sum?: string | null; least?: number }

/** The epochs of a provider on a market, sorted by a column, with a line that names the one that cost most. */
export function EpochsTable({ marketId, rows, now, first, count }: EpochsTableProps) {
  const [unit, minimum] = [marketUnit(marketId), leastTime(marketId)]
  const sorting = readSorting(
    'epochSort',
    EPOCH_COLUMNS.map(({ name }) => name),
    { column: 'epoch', descending: true },
  )
  const onSort = (chosen: string) => setParams({ epochSort: chosen, epochPage: null }, { push: false })
  const listed = sortEpochs(rows, sorting).slice(first, first + count)
  const columns = EPOCH_COLUMNS.map((column): Column => {
    if (column.kind !== 'amount') return column
    const sum = sumOf(rows.map(column.read))
    const least = placesOf([sum, ...listed.map(({ row }) => column.read(row))], unit, { places: 2 })
    return { ...column, title: column.title + inUnit(unit), sum, least }
  })
  const dearest = describeDearest(rows, instrumentOf(marketId)?.sla ?? null, unit)
  const missing = countMissing(rows)
  const unknown = rows.filter((row) => earnedOf(row) === null).length
  const cell = ({ name, title, kind, penalty, ...column }: Column, text: string | null) => (
    <td key={name} data-label={title} class="figure-column">
      {name === 'book' && text !== null && isBelow(text, minimum) && <span class="tag">below SLA</span>}{' '}
      {text === null ? (
        '–'
      ) : text === '' ? (
        <NotKnown />
      ) : kind === 'amount' ? (
        <Amount text={text} unit={unit} places={2} least={column.least ?? 0} bare name={`epoch-${name}`} />
      ) : (
        <Rounded
          text={text}
          shown={formatPart(text)}
          name={`epoch-${name}`}
          bad={penalty && isPenalty(text)}
        />
      )}
      {name === 'book' && parseDecimal(text ?? '') !== null && (
        <Bar part={parseDecimal(text!)!} least={minimum} />
      )}
    </td>
  )
  return (
    <>
      <p data-figure="dearest">
        <strong>{dearest.what}</strong> {dearest.why}
      </p>
      <SortField columns={columns} sorting={sorting} onSort={onSort} />
      <TablePlace name={`Table of epochs, ${marketLabel(marketId)}`}>
        <table class="epochs-table stacked">
          <thead>
            <tr>
              {columns.map(({ name, title, meaning, kind }) => (
                <SortHeader
                  key={name}
                  {...{ name, title, meaning, sorting, onSort }}
                  figure={kind !== undefined}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            {first === 0 && now?.sla && now.sla.lastEpochFractionOfTimeOnBook === rows[0]?.timeOnBook && (
              <tr class="estimate">
                <th scope="row">{groupDigits(`${BigInt(rows[0].epoch) + 1n}`)}</th>
                <td data-label="Runs since (UTC)">runs since {formatSecond(rows[0].timestamp)}</td>
                {cell(columns[2]!, now.sla.currentEpochFractionOfTimeOnBook)}
                <td class="unpaid" colSpan={columns.length - 3}>
                  known when it ends
                </td>
              </tr>
            )}
            {listed.flatMap(({ row, missing }) => [
              missing !== null && (
                <tr key={`before ${row.epoch}`} class="missing-rows">
                  <th scope="row">{missing}</th>
                  <td class="unpaid" colSpan={columns.length - 1}>
                    missing: no figures of this provider
                  </td>
                </tr>
              ),
              <tr key={row.epoch}>
                <th scope="row">{groupDigits(row.epoch)}</th>
                <td data-label={columns[1]!.title} title={`${row.timestamp} ns, block ${row.atBlock}`}>
                  {formatSecond(row.timestamp)}
                </td>
                {columns.slice(2).map((column) => cell(column, column.read(row)))}
              </tr>,
            ])}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row" colSpan={UNSUMMED}>
                Sum of {groupDigits(`${rows.length}`)} epochs
                {missing > 0n && `, ${groupDigits(`${missing}`)} missing`}
                {unknown > 0 && `; earned not known in ${groupDigits(`${unknown}`)}`}
              </th>
              {columns.slice(UNSUMMED).map((column) => cell(column, column.sum ?? null))}
            </tr>
          </tfoot>
        </table>
      </TablePlace>
    </>
  )
}

import type { FundingEstimate } from 'lyra-client'
import { inUnit, placesOf, pricePlaces, type Unit } from '../../figures/amount.ts'
import { groupDigits } from '../../figures/format-figure.ts'
import { formatMinute } from '../../figures/format-time.ts'
import { param, setParams } from '../../location.ts'
import { Request } from '../../parts/request.tsx'
import { Answer } from '../../parts/states/states.tsx'
import { TableHead } from '../../parts/tables/table-head.tsx'
import { TablePlace } from '../../parts/tables/table-place.tsx'
import { dueWithin, expectedLength, type Period, type Periods, withinOrDue } from '../../periods/period.ts'
import type { Range } from '../../series/series.ts'
import { instrumentOf } from '../../service/instruments.ts'
import { lyra } from '../../service/lyra.ts'
import { isWhole, missingOf } from '../../service/missing.ts'
import type { Query } from '../../service/use-query.ts'
import { areAllOf } from '../data/days.ts'
import { AMOUNTS, amountsOf, estimateOf, MissingPeriods, PeriodRow } from './period-row.tsx'

/** Periods that are listed at first, and once all are asked for. */
const ROWS = 12
const MOST_ROWS = 1_000

export type PeriodsTableProps = {
  marketId: string
  periods: Query<Periods>
  range: Range
  estimate: FundingEstimate | null
  unit: Unit | null
}

/** The funding periods of a range, newest first: what each paid, and why some paid nothing. */
export function PeriodsTable({ marketId, periods, range, estimate, unit }: PeriodsTableProps) {
  const list = periods.data?.list ?? []
  const rows = withinOrDue(list, range).reverse()
  const count = param('periods') === 'all' ? MOST_ROWS : ROWS
  const isComplete = isWhole(missingOf('fundingPeriods', range))
  // The date range of the operation looks at starts alone: the first one shown may have begun before the range.
  const first = rows.at(-1)
  const from = first !== undefined && first.start < range.from ? first.start : range.from
  const filters = { marketId, from, to: range.to }
  return (
    <section class="panel" aria-labelledby="periods-title">
      <div class="panel-head">
        <h2 id="periods-title">Funding periods</h2>
      </div>
      <Answer query={periods} what="funding periods">
        {() => (
          <>
            <PeriodsNotes periods={periods} rows={rows} range={range} isComplete={isComplete} />
            {rows.length > 0 && (
              <ListedPeriods
                marketId={marketId}
                list={list}
                listed={rows.slice(0, count)}
                range={range}
                estimate={estimate}
                unit={unit}
              />
            )}
            {rows.length > count && (
              <button
                type="button"
                class="button start"
                onClick={() => setParams({ periods: 'all' }, { push: false })}
              >
                {rows.length > MOST_ROWS ? `Newest ${groupDigits(`${MOST_ROWS}`)} of ` : 'All '}
                {groupDigits(`${rows.length}`)}
                {isComplete ? '' : ' stored'} periods of this range
              </button>
            )}
          </>
        )}
      </Answer>
      <Request
        url={lyra.url('fundingPeriods', filters, { first: 1_000 })}
        csv={lyra.url('fundingPeriods', filters, { format: 'csv' })}
      />
    </section>
  )
}

type PeriodsNotesProps = Pick<PeriodsTableProps, 'periods' | 'range'> & {
  rows: readonly Period[]
  /** Whether all periods of the range are stored. */
  isComplete: boolean
}

/** What the table omits, and which of its periods are in the cumulative rate. */
function PeriodsNotes({ periods, rows, range, isComplete }: PeriodsNotesProps) {
  const { data, loading } = periods
  const list = data?.list ?? []
  const due = dueWithin(list, range).length
  const [paid, all] = [due, rows.length].map((count) => groupDigits(`${count}`))
  // The start of the first loaded period, if the range has earlier ones.
  const firstListed = data === null || loading || areAllOf(data, range) ? null : list[0]!.start
  return (
    <>
      {firstListed !== null && (
        <p class="notice">
          This range has more than {groupDigits(`${list.length}`)} funding periods: those before{' '}
          {formatMinute(firstListed)} are not listed. Choose a shorter range.
        </p>
      )}
      {rows.length === 0 && (
        <p class="quiet">
          {isComplete
            ? 'No funding period overlaps this range.'
            : 'No funding period of this range is stored.'}
        </p>
      )}
      {firstListed === null && due > 0 && due < rows.length && (
        <p class="quiet">
          The cumulative rate is the sum of {paid} of these {all} periods: those that were paid and ended in
          this range.
        </p>
      )}
    </>
  )
}

type ListedPeriodsProps = Omit<PeriodsTableProps, 'periods'> & {
  /** All that are loaded, oldest first. */
  list: readonly Period[]
  /** Those of the table, newest first. */
  listed: readonly Period[]
}

/** The table: amounts of a column have the same decimal digits. */
function ListedPeriods({ marketId, list, listed, range, estimate, unit }: ListedPeriodsProps) {
  const due = new Set(dueWithin(list, range))
  const expected = expectedLength(list)
  const amounts = listed.map((period) => amountsOf(period, estimateOf(period, estimate)))
  // The payment of one unit has all its digits: it is multiplied by great positions.
  const styles = AMOUNTS.map((title) =>
    title === 'Payment' || unit === null ? {} : { places: pricePlaces(instrumentOf(marketId)) },
  )
  const least = AMOUNTS.map((_, column) =>
    placesOf(
      amounts.map((texts) => texts[column]!),
      unit,
      styles[column]!,
    ),
  )
  const titles = ['Period', 'Start (UTC)', 'Length', 'Rate', 'Annualised', 'Who pays']
  titles.push(...AMOUNTS.map((title) => title + inUnit(unit)))
  return (
    <TablePlace name="Table of funding periods">
      <table class="periods">
        <TableHead titles={titles} texts={['Start (UTC)', 'Who pays']} />
        <tbody>
          {listed.flatMap((period, index) => [
            <MissingPeriods
              key={`above ${period.seq}`}
              older={period.seq}
              newer={listed[index - 1]?.seq ?? null}
              columns={titles.length}
            />,
            <PeriodRow
              key={`${period.seq}`}
              marketId={marketId}
              period={period}
              isLast={period === list.at(-1)}
              endsLater={period.rate !== null && !due.has(period)}
              estimate={estimateOf(period, estimate)}
              expected={expected}
              unit={unit}
              least={least}
              styles={styles}
            />,
          ])}
        </tbody>
      </table>
    </TablePlace>
  )
}

import type { FundingEstimate } from 'lyra-client'
import { type AmountStyle, inUnit, placesOf, pricePlaces, type Unit } from '../figures/amount.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { formatMinute, formatSpan, formatTime } from '../figures/format-time.ts'
import { param, setParams } from '../location.ts'
import { Amount } from '../parts/amount.tsx'
import { AsOf } from '../parts/as-of.tsx'
import { Link } from '../parts/link.tsx'
import { Request } from '../parts/request.tsx'
import { Answer } from '../parts/states.tsx'
import { TableHead } from '../parts/table-head.tsx'
import { TablePlace } from '../parts/table-place.tsx'
import {
  dueWithin,
  expectedLength,
  lengthOf,
  type Period,
  type Periods,
  whoPays,
  whyUnpaid,
  withinOrDue,
} from '../periods/period.ts'
import type { Range } from '../series/series.ts'
import { latestCoverage } from '../service/coverage.ts'
import { isOutdated } from '../service/freshness.ts'
import { instrumentOf } from '../service/instruments.ts'
import { lyra } from '../service/lyra.ts'
import { isWhole, missingOf } from '../service/missing.ts'
import type { Query } from '../service/use-query.ts'
import { areAllOf } from './days.ts'
import { AnnualRate, Rate } from './now-figures.tsx'
import { openPayments } from './period-payments.tsx'
import { BrokenTime } from './points-table.tsx'

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
  const newest = list.at(-1)
  // The start of the first loaded period, if the range has earlier ones.
  const firstListed =
    periods.data === null || periods.loading || areAllOf(periods.data, range) ? null : list[0]!.start
  const rows = withinOrDue(list, range).reverse()
  const due = new Set(dueWithin(list, range))
  const count = param('periods') === 'all' ? MOST_ROWS : ROWS
  const listed = rows.slice(0, count)
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
  // The date range of the operation looks at starts alone: the first one shown may have begun before the range.
  const first = rows.at(-1)
  const from = first !== undefined && first.start < range.from ? first.start : range.from
  const filters = { marketId, from, to: range.to }
  const isComplete = isWhole(missingOf('fundingPeriods', range))
  return (
    <section class="panel" aria-labelledby="periods-title">
      <div class="panel-head">
        <h2 id="periods-title">Funding periods</h2>
      </div>
      <Answer query={periods} what="funding periods">
        {() => (
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
            {firstListed === null && due.size > 0 && due.size < rows.length && (
              <p class="quiet">
                The cumulative rate is the sum of {groupDigits(`${due.size}`)} of these{' '}
                {groupDigits(`${rows.length}`)} periods: those that were paid and ended in this range.
              </p>
            )}
            {rows.length > 0 && (
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
                      <Row
                        key={`${period.seq}`}
                        marketId={marketId}
                        period={period}
                        isLast={period === newest}
                        endsLater={period.rate !== null && !due.has(period)}
                        estimate={estimateOf(period, estimate)}
                        expected={expectedLength(list)}
                        unit={unit}
                        least={least}
                        styles={styles}
                      />,
                    ])}
                  </tbody>
                </table>
              </TablePlace>
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

const AMOUNTS = ['Payment', 'Internal TWAP', 'External TWAP'] as const

/** The estimate, if it is of this period. */
function estimateOf({ seq, end }: Period, estimate: FundingEstimate | null): FundingEstimate | null {
  return estimate?.seq === `${seq}` && end === null ? estimate : null
}

/** Payment, internal and external TWAP; those of an estimate for a period without an end, which has its opening prices. */
function amountsOf(
  { end, payment, internalTwap, externalTwap }: Period,
  estimate: FundingEstimate | null,
): (string | null)[] {
  const twaps = end === null ? estimate : { internalTwap, externalTwap }
  return [
    payment ?? estimate?.fundingPayment ?? null,
    twaps?.internalTwap ?? null,
    twaps?.externalTwap ?? null,
  ]
}

/** Whether the store has payments of parties for a market. */
function hasPayments(marketId: string): boolean {
  return latestCoverage()?.fundingPayments.some((entry) => entry.marketId === marketId) ?? false
}

/** A row for the periods that are missing between two others; none if none are. */
function MissingPeriods({ older, newer, columns }: { older: bigint; newer: bigint | null; columns: number }) {
  if (newer === null || newer - older < 2n) return null
  const [first, last] = [older + 1n, newer - 1n].map((seq) => groupDigits(`${seq}`))
  return (
    <tr class="missing-rows">
      <th scope="row" class="figure-column">
        {first === last ? first : `${first} to ${last}`}
      </th>
      <td class="unpaid" colSpan={columns - 1}>
        missing
      </td>
    </tr>
  )
}

/** What a rate is, before it. */
function Tag({ text, title }: { text: string; title?: string }) {
  return (
    <>
      <span class="tag" title={title}>
        {text}
      </span>{' '}
    </>
  )
}

type RowProps = {
  marketId: string
  period: Period
  isLast: boolean
  /** Whether it was paid, but after the range: its rate is not in the cumulative one. */
  endsLater: boolean
  estimate: FundingEstimate | null
  expected: bigint | null
  unit: Unit | null
  /** Decimal digits of each column of amounts. */
  least: readonly number[]
  /** How each column of amounts is shown. */
  styles: readonly AmountStyle[]
}

function Row({ marketId, period, isLast, endsLater, estimate, expected, unit, least, styles }: RowProps) {
  const { seq, start } = period
  const length = lengthOf(period)
  const rate = period.rate ?? estimate?.fundingRate ?? null
  const [payment = null, ...twaps] = amountsOf(period, estimate)
  return (
    <tr class={estimate === null ? '' : isOutdated.value ? 'estimate stale' : 'estimate'}>
      <th scope="row" class="figure-column">
        {length === null || length === 0n ? (
          groupDigits(`${seq}`)
        ) : (
          <Link
            view="funding"
            params={{ market: marketId, from: `${start + 1n}`, to: `${start + length + 1n}` }}
            title="Show only this period"
          >
            {groupDigits(`${seq}`)}
          </Link>
        )}
      </th>
      <td title={`${start} ns`}>
        <BrokenTime time={formatTime(start)} />
      </td>
      <td class="figure-column" title={length === null ? undefined : `${length} ns`}>
        {length === null ? (isLast ? 'running' : 'unknown') : formatSpan(length)}
      </td>
      {rate === null || payment === null ? (
        <td class="unpaid" colSpan={4}>
          {whyUnpaid(period, isLast)}
        </td>
      ) : (
        <>
          <td class="figure-column">
            {estimate !== null && <Tag text="estimate" />}
            {endsLater && (
              <Tag
                text="ended later"
                title="It was paid after the end of this range: its rate is not in the cumulative rate."
              />
            )}
            <Rate text={rate} />
            {estimate !== null && <AsOf time={estimate.at} />}
          </td>
          <td class="figure-column">
            <AnnualRate rate={rate} length={estimate === null ? length : expected} />
          </td>
          <td>
            {estimate === null && hasPayments(marketId) ? (
              <button
                type="button"
                class="who-paid"
                title="Show what each party paid or received"
                data-pays={`${seq}`}
                onClick={() => openPayments(seq)}
              >
                {whoPays(payment)}
              </button>
            ) : (
              whoPays(payment)
            )}
          </td>
          <td class="figure-column">
            <Amount text={payment} unit={unit} least={least[0]!} bare signed />
          </td>
        </>
      )}
      {twaps.map((text, index) => (
        <td key={AMOUNTS[index + 1]} class="figure-column">
          {text === null ? (
            '–'
          ) : text === '0' ? (
            <span title="The market was in auction throughout, or the source had no price.">none (0)</span>
          ) : (
            <Amount {...styles[index + 1]!} text={text} unit={unit} least={least[index + 1]!} bare />
          )}
        </td>
      ))}
    </tr>
  )
}

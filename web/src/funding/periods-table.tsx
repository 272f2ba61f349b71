import type { FundingEstimate } from 'lyra-client'
import { inUnit, type Unit } from '../figures/amount.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { formatSpan, formatTime } from '../figures/format-time.ts'
import { param, setParams } from '../location.ts'
import { Amount } from '../parts/amount.tsx'
import { AsOf } from '../parts/as-of.tsx'
import { Link } from '../parts/link.tsx'
import { Request } from '../parts/request.tsx'
import { Failure, Skeleton } from '../parts/states.tsx'
import { TablePlace } from '../parts/table-place.tsx'
import { expectedLength, lengthOf, type Period, type Periods, whoPays, whyUnpaid } from '../periods/period.ts'
import type { Range } from '../series/series.ts'
import { latestCoverage } from '../service/coverage.ts'
import { isBehind } from '../service/freshness.ts'
import { lyra } from '../service/lyra.ts'
import type { Query } from '../service/use-query.ts'
import { AnnualRate, Rate } from './now-figures.tsx'

/** Periods that are listed at first, and once all are asked for. */
const ROWS = 12
const MOST_ROWS = 1_000

export type PeriodsTableProps = {
  marketId: string
  periods: Query<Periods>
  /** Those that the charts show. */
  shown: readonly Period[]
  /** The start of the first period that is loaded, if the range has earlier ones; null otherwise. */
  firstListed: bigint | null
  range: Range
  estimate: FundingEstimate | null
  unit: Unit | null
}

/** The funding periods of a range, newest first: what each paid, and why some paid nothing. */
export function PeriodsTable({
  marketId,
  periods,
  shown,
  firstListed,
  range,
  estimate,
  unit,
}: PeriodsTableProps) {
  const list = periods.data?.list ?? []
  const newest = list.at(-1)
  const rows = [...shown].reverse()
  const count = param('periods') === 'all' ? MOST_ROWS : ROWS
  // The date range of the operation looks at starts alone: the first one shown may have begun before the range.
  const first = shown[0]
  const from = first !== undefined && first.start < range.from ? first.start : range.from
  const filters = { marketId, from, to: range.to }
  return (
    <section class="panel" aria-labelledby="periods-title">
      <div class="panel-head">
        <h2 id="periods-title">Funding periods</h2>
      </div>
      <Request
        url={lyra.url('fundingPeriods', filters, { first: 1_000 })}
        csv={lyra.url('fundingPeriods', filters, { format: 'csv' })}
      />
      {periods.error !== null && <Failure error={periods.error} onRetry={periods.reload} />}
      {periods.data === null && periods.error === null && <Skeleton what="funding periods" />}
      {firstListed !== null && (
        <p class="notice">
          This range has more than {groupDigits(`${list.length}`)} funding periods: those before{' '}
          {formatTime(firstListed).slice(0, 16)} are not listed. Choose a shorter range.
        </p>
      )}
      {periods.data !== null && rows.length === 0 && (
        <p class="quiet">No funding period overlaps this range.</p>
      )}
      {rows.length > 0 && (
        <TablePlace name="Table of funding periods">
          <table class="periods">
            <thead>
              <tr>
                <th scope="col" class="figure-column">
                  Period
                </th>
                <th scope="col">Start (UTC)</th>
                <th scope="col" class="figure-column">
                  Length
                </th>
                <th scope="col" class="figure-column">
                  Rate
                </th>
                <th scope="col" class="figure-column">
                  Annualised
                </th>
                <th scope="col">Who pays</th>
                <th scope="col" class="figure-column">
                  Payment{inUnit(unit)}
                </th>
                <th scope="col" class="figure-column">
                  Internal TWAP{inUnit(unit)}
                </th>
                <th scope="col" class="figure-column">
                  External TWAP{inUnit(unit)}
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, count).map((period) => (
                <Row
                  key={`${period.seq}`}
                  marketId={marketId}
                  period={period}
                  isLast={period === newest}
                  estimate={estimate?.seq === `${period.seq}` && period.end === null ? estimate : null}
                  expected={expectedLength(list)}
                  unit={unit}
                />
              ))}
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
          {groupDigits(`${rows.length}`)} periods of this range
        </button>
      )}
    </section>
  )
}

/** Whether the store has payments of parties for a market. */
function hasPayments(marketId: string): boolean {
  return latestCoverage()?.fundingPayments.some((entry) => entry.marketId === marketId) ?? false
}

type RowProps = {
  marketId: string
  period: Period
  isLast: boolean
  estimate: FundingEstimate | null
  expected: bigint | null
  unit: Unit | null
}

function Row({ marketId, period, isLast, estimate, expected, unit }: RowProps) {
  const { seq, start } = period
  const length = lengthOf(period)
  const twap = (text: string | null) =>
    text === null ? (
      '–'
    ) : text === '0' ? (
      <span title="The market was in auction throughout, or the source had no price.">none (0)</span>
    ) : (
      <Amount text={text} unit={unit} bare />
    )
  const rate = period.rate ?? estimate?.fundingRate ?? null
  const payment = period.payment ?? estimate?.fundingPayment ?? null
  return (
    <tr class={estimate === null ? '' : isBehind.value ? 'estimate stale' : 'estimate'}>
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
      <td title={`${start} ns`}>{formatTime(start)}</td>
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
            {estimate !== null && <span class="tag">estimate</span>} <Rate text={rate} />
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
                onClick={() => setParams({ paid: `${seq}`, paidPage: null })}
              >
                {whoPays(payment)}
              </button>
            ) : (
              whoPays(payment)
            )}
          </td>
          <td class="figure-column">
            <Amount text={payment} unit={unit} bare signed />
          </td>
        </>
      )}
      {/* Those of a period without an end are its opening prices. */}
      <td class="figure-column">
        {twap(period.end === null ? (estimate?.internalTwap ?? null) : period.internalTwap)}
      </td>
      <td class="figure-column">
        {twap(period.end === null ? (estimate?.externalTwap ?? null) : period.externalTwap)}
      </td>
    </tr>
  )
}

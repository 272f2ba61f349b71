import type { FundingEstimate } from 'lyra-client'
import type { AmountStyle, Unit } from '../../figures/amount.ts'
import { groupDigits } from '../../figures/format-figure.ts'
import { formatSpan, formatTime } from '../../figures/format-time.ts'
import { Link } from '../../parts/link.tsx'
import { Amount } from '../../parts/values/amount.tsx'
import { AsOf } from '../../parts/values/as-of.tsx'
import { lengthOf, type Period, whoPays, whyUnpaid } from '../../periods/period.ts'
import { latestCoverage } from '../../service/coverage.ts'
import { isOutdated } from '../../service/freshness.ts'
import { AnnualRate, Rate } from '../rate.tsx'
import { openPayments } from './period-payments.tsx'
import { BrokenTime } from './points-table.tsx'

/** The titles of the columns of amounts. */
export const AMOUNTS = ['Payment', 'Internal TWAP', 'External TWAP'] as const

/** The estimate, if it is of this period. */
export function estimateOf({ seq, end }: Period, estimate: FundingEstimate | null): FundingEstimate | null {
  return estimate?.seq === `${seq}` && end === null ? estimate : null
}

/** Payment, internal and external TWAP; those of an estimate for a period without an end, which has its opening prices. */
export function amountsOf(
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
export function MissingPeriods({
  older,
  newer,
  columns,
}: {
  older: bigint
  newer: bigint | null
  columns: number
}) {
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

/** A word before a rate, which says what it is. */
function Tag({ text, title }: { text: string; title?: string }) {
  return (
    <>
      <span class="tag" title={title}>
        {text}
      </span>{' '}
    </>
  )
}

export type PeriodRowProps = {
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

/** What a period paid, or why it paid nothing. */
export function PeriodRow({
  marketId,
  period,
  isLast,
  endsLater,
  estimate,
  expected,
  unit,
  least,
  styles,
}: PeriodRowProps) {
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

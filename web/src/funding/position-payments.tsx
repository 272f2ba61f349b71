import type { FundingPayments } from 'lyra-client'
import { reportTarget } from '../../../client/src/requests.ts'
import type { Unit } from '../figures/amount.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { param, setParams } from '../location.ts'
import { Amount } from '../parts/amount.tsx'
import type { Range } from '../series/series.ts'
import { lyra } from '../service/lyra.ts'
import { type Query, useQuery } from '../service/use-query.ts'
import { Missing } from './now-figures.tsx'
import { useRested } from './use-rested.ts'

/** A position size that the API accepts. */
const UNITS = /^-?[0-9]{1,38}(\.[0-9]{1,18})?$/

/** The payments of a position over a range, which are those of the one before until new ones arrive. */
export type RangePayments = FundingPayments & { range: Range }

/**
 * Sums over the periods that ended in a range, for a position of the chosen size.
 *
 * @param version changes when there may be new payments
 */
export function usePayments(held: { marketId: string }, shown: Range, version: string): Query<RangePayments> {
  const units = unitsShown()
  const { marketId } = held
  const { from, to } = useRested(shown)
  return useQuery(
    `${marketId} ${from} ${to} ${units} ${version}`,
    async (signal) => ({
      ...(await lyra.fundingPayments(marketId, { from, to, units, first: 1, signal })),
      range: { from, to },
    }),
    { keep: true },
  )
}

/** The size of the position that the view's state names; one unit if it names none. */
function unitsShown(): string {
  const given = param('units') ?? '1'
  return UNITS.test(given) ? given : '1'
}

export type PositionPaymentsProps = { marketId: string; payments: Query<RangePayments>; unit: Unit | null }

/** Payments of a position of a chosen size for the periods that ended in the shown range. */
export function PositionPayments({ marketId, payments, unit }: PositionPaymentsProps) {
  const { data, error } = payments
  const units = unitsShown()
  return (
    <div class="figure">
      <label class="figure-name">
        Position of{' '}
        <input
          class="units"
          key={units}
          defaultValue={units}
          title="Units of the position: a decimal number, negative for a short position"
          pattern={UNITS.source}
          inputMode="decimal"
          spellcheck={false}
          autocomplete="off"
          onChange={({ currentTarget }) => {
            const text = currentTarget.value.trim().replaceAll(',', '')
            if (UNITS.test(text)) setParams({ units: text === '1' ? null : text })
            else currentTarget.reportValidity()
          }}
        />{' '}
        units, this range
      </label>
      {data === null || data.count === 0 ? (
        <span class="figure-more none">{describeNone(data !== null, error)}</span>
      ) : (
        <>
          <span class="figure-value">
            <Amount text={data.total} unit={unit} signed name="position-total" />
          </span>
          <span class="figure-more">
            {data.units.startsWith('-') ? 'short' : 'long'} {data.total.startsWith('-') ? 'paid' : 'received'}{' '}
            for {groupDigits(`${data.count}`)} {data.count === 1 ? 'period' : 'periods'}{' '}
            <a
              class="copy csv"
              title="Save the payments as CSV, in the smallest unit of the settlement asset"
              href={`${reportTarget('fundingPayments', marketId, { ...data.range, units: data.units })}&format=csv`}
              download=""
            >
              CSV
            </a>
          </span>
          <Missing payments={data} />
        </>
      )}
    </div>
  )
}

function describeNone(hasAnswer: boolean, error: Error | null): string {
  if (hasAnswer) return 'no period that was paid ended in this range'
  return error === null ? '' : `unknown: ${error.message}`
}

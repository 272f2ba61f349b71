import type { FundingEstimate, MarketSummary } from 'lyra-client'
import { useState } from 'preact/hooks'
import { reportTarget } from '../../../../client/src/requests.ts'
import type { Unit } from '../../figures/amount.ts'
import { markUnit } from '../../figures/amount.ts'
import { multiply, parseDecimal, trimZeros, writeDecimal } from '../../figures/decimal.ts'
import { groupDigits } from '../../figures/format-figure.ts'
import { Answered } from '../../parts/states/states.tsx'
import { Amount } from '../../parts/values/amount.tsx'
import type { Period } from '../../periods/period.ts'
import type { Range } from '../../series/series.ts'
import { isOutdated } from '../../service/freshness.ts'
import { isWhole, missingOf } from '../../service/missing.ts'
import type { Query } from '../../service/use-query.ts'
import { shownUnits, showUnits } from '../data/shown.ts'
import { readUnits, receivedBy } from '../data/units.ts'
import type { RangePayments } from '../data/use-payments.ts'
import { Missing, whyUnknown } from './now-figures.tsx'

export type PositionPaymentsProps = {
  marketId: string
  payments: Query<RangePayments>
  running: Period | null
  /** Of the running period; null without one. */
  estimate: FundingEstimate | null
  unit: Unit | null
  summary: Query<MarketSummary | null>
}

/** Payments of a position of a chosen size for the periods that ended in the shown range. */
export function PositionPayments({
  marketId,
  payments,
  running,
  estimate,
  unit,
  summary,
}: PositionPaymentsProps) {
  const { data, error } = payments
  const shown = shownUnits()
  /** The text in the field, if it is not yet the size that the address names. */
  const [typed, setTyped] = useState<{ text: string; entered: boolean } | null>(null)
  const read = readUnits(typed?.text ?? shown)
  const fault = 'fault' in read && typed?.entered !== false ? read.fault : ''
  // A result beside another size would be mistaken for that size's result.
  const result = typed === null && 'units' in read && data?.units === read.units ? data : null
  const isOfRunning = running !== null && estimate?.seq === `${running.seq}`
  const next =
    typed === null && 'units' in read && isOfRunning ? receivedBy(read.units, estimate.fundingPayment) : null
  const worth = typed === null && 'units' in read ? worthOf(read.units, summary) : null
  // Amounts without decimals are as sent.
  const money = unit === null ? {} : { places: 2 }
  return (
    <div class="figure">
      <label class="figure-name">
        Position of{' '}
        <input
          class="units"
          value={typed?.text ?? shown}
          title="Units of the position: a decimal number, negative for a short position"
          inputMode="decimal"
          spellcheck={false}
          autocomplete="off"
          aria-invalid={fault !== ''}
          aria-describedby="units-fault"
          onInput={({ currentTarget: { value } }) =>
            setTyped(value === shown ? null : { text: value, entered: false })
          }
          onChange={({ currentTarget: { value } }) => {
            const entered = readUnits(value)
            setTyped('fault' in entered ? { text: value, entered: true } : null)
            if ('units' in entered) showUnits(entered.units)
          }}
        />{' '}
        {shown.replace('-', '') === '1' ? 'unit' : 'units'}, this range
      </label>
      <span id="units-fault" class="fault" aria-live="polite">
        {fault}
      </span>
      {result === null || result.count === 0 ? (
        fault === '' && (
          <span class="figure-more none">
            {typed === null
              ? describeNone(result !== null, payments.data?.range ?? null, error)
              : 'Enter shows its payments'}
          </span>
        )
      ) : (
        <Answered query={payments}>
          <span class="figure-value">
            <Amount text={result.total} unit={unit} {...money} signed name="position-total" />
          </span>
          <span class="figure-more">
            {result.units.startsWith('-') ? 'short' : 'long'} {whatItDid(result.total)} for{' '}
            {groupDigits(`${result.count}`)} {result.count === 1 ? 'period' : 'periods'}{' '}
            <a
              class="copy csv"
              title="Save the payments as CSV, in the smallest unit of the settlement asset"
              href={`${reportTarget('positionFunding', marketId, { ...result.range, units: result.units })}&format=csv`}
              download=""
            >
              CSV
            </a>
          </span>
          <Missing payments={result} running={running} />
        </Answered>
      )}
      {worth !== null && (
        <span class={isOutdated.value ? 'figure-more stale' : 'figure-more'}>
          worth <Amount {...worth} places={2} name="position-worth" /> at the mark price
        </span>
      )}
      {next !== null && (
        <span class={isOutdated.value ? 'figure-more stale' : 'figure-more'}>
          next payment <Amount text={next} unit={unit} {...money} signed name="position-next" />, estimate
        </span>
      )}
    </div>
  )
}

/** What a position of a size is worth, whether long or short, in the decimals of the mark price; null if that is not known. */
function worthOf(
  units: string,
  { data, isOther }: Query<MarketSummary | null>,
): { text: string; unit: Unit } | null {
  const unit = isOther ? null : markUnit(data?.instrument ?? null)
  const [size, mark] = [parseDecimal(units.replace('-', '')), parseDecimal(data?.marketData?.markPrice ?? '')]
  if (unit === null || size === null || mark === null || mark.digits === 0n) return null
  return { text: trimZeros(writeDecimal(multiply(size, mark))), unit }
}

function describeNone(hasAnswer: boolean, range: Range | null, error: Error | null): string {
  if (hasAnswer && range !== null) {
    const isAll = isWhole(missingOf('fundingPeriods', range))
    return isAll
      ? 'no period that was paid ended in this range'
      : 'no paid period that ended in this range is stored'
  }
  return error === null ? '' : whyUnknown(error)
}

function whatItDid(total: string): string {
  const { digits } = parseDecimal(total)!
  return digits === 0n ? 'paid nothing' : digits < 0n ? 'paid' : 'received'
}

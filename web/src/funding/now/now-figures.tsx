import type { FundingEstimate, MarketSummary, PositionFunding } from 'lyra-client'
import type { ComponentChildren } from 'preact'
import type { Unit } from '../../figures/amount.ts'
import { writeDecimal } from '../../figures/decimal.ts'
import { groupDigits } from '../../figures/format-figure.ts'
import { formatAge, formatMinute, formatSecond } from '../../figures/format-time.ts'
import { Answered } from '../../parts/states/states.tsx'
import { Amount } from '../../parts/values/amount.tsx'
import { AsOf } from '../../parts/values/as-of.tsx'
import { DueTime } from '../../parts/values/due-time.tsx'
import { Figure } from '../../parts/values/figure.tsx'
import {
  areIrregular,
  cumulative,
  dueWithin,
  expectedLength,
  lengthOf,
  type Period,
  regularLength,
  whoPays,
} from '../../periods/period.ts'
import type { Range } from '../../series/series.ts'
import { reasonOf } from '../../service/connection.ts'
import { isCurrent, isOutdated } from '../../service/freshness.ts'
import { isWhole, missingOf } from '../../service/missing.ts'
import { marketStatusOf } from '../../service/summary.ts'
import type { Query } from '../../service/use-query.ts'
import { runningPeriod } from '../data/reading.ts'
import { AnnualRate, Rate } from '../rate.tsx'

export type NowFiguresProps = {
  periods: readonly Period[] | null
  estimate: FundingEstimate | null
  summary: MarketSummary | null
  /** Time of the next payment by the market's schedule, Unix nanoseconds; null without a schedule. */
  due: bigint | null
  unit: Unit | null
  /** The time of the last block, Unix nanoseconds. */
  last: bigint
  children: ComponentChildren
}

/** The running period's estimated payment, and the last payment. */
export function NowFigures({ periods, estimate, summary, due, unit, last, children }: NowFiguresProps) {
  const list = periods ?? []
  const running = runningPeriod(list)
  const paid = list.filter(({ rate }) => rate !== null).at(-1) ?? null
  return (
    <div class="now-figures">
      <Running
        periods={list}
        running={running}
        estimate={estimate}
        summary={summary}
        due={due}
        unit={unit}
        last={last}
      />
      <Figure
        name="Last paid"
        main={paid === null ? null : <Rate text={paid.rate!} name="last-rate" />}
        none={periods === null ? '' : 'No period has been paid yet'}
      >
        {paid !== null && (
          <>
            <Payment text={paid.payment!} unit={unit} name="last-payment" />
            <Annual rate={paid.rate} length={lengthOf(paid)} name="last-annualised" />
          </>
        )}
      </Figure>
      {children}
    </div>
  )
}

export type CumulativeProps = {
  /** Null if they are not known. */
  periods: readonly Period[] | null
  range: Range
  /** Whether these are all periods of the range. */
  areAll: boolean
  /** The service's sums over the range. */
  payments: Query<PositionFunding & { sumOfRates: string; count: number }>
}

/** Sum of the rates of the periods due in a range. */
export function Cumulative({ periods, range, areAll, payments }: CumulativeProps) {
  const { data, error } = payments
  const due = dueWithin(periods ?? [], range)
  const count = areAll ? due.length : (data?.count ?? 0)
  const text = areAll ? writeDecimal(cumulative(due)) : data?.sumOfRates
  const isKnown = areAll || data !== null
  const isComplete = isWhole(missingOf('fundingPeriods', range))
  const figure = (
    <Figure
      name="Cumulative"
      main={count === 0 || text === undefined ? null : <Rate text={text} name="cumulative" />}
      none={isKnown ? describeNoPayment(isComplete) : error === null ? '' : whyUnknown(error)}
    >
      {isKnown && count > 0 && (
        <span class="figure-more">
          of {groupDigits(`${count}`)} {count === 1 ? 'period' : 'periods'} that ended in this range
          {isComplete ? '' : ' and are stored'}
        </span>
      )}
      {areAll && count > 0 && <Mean periods={due} />}
      {!areAll && data?.firstEnd != null && (
        <span class="figure-more">first payment {formatMinute(data.firstEnd)} UTC</span>
      )}
      {!(areAll && payments.isOther) && <Missing payments={data} running={runningPeriod(periods ?? [])} />}
    </Figure>
  )
  return areAll ? figure : <Answered query={payments}>{figure}</Answered>
}

function describeNoPayment(isComplete: boolean): string {
  return isComplete ? 'No payment was due in this range' : 'No payment of this range is stored'
}

export type MissingProps = { payments: PositionFunding | null; running: Period | null }

/**
 * How many periods are missing in the sums of a range, between the first and the last that are stored; the running one is not due
 * yet.
 */
export function Missing({ payments, running }: MissingProps) {
  const count = (payments?.missing ?? []).filter((seq) => seq !== `${running?.seq}`).length
  if (count === 0) return null
  return (
    <span class="figure-more">
      at least {groupDigits(`${count}`)} {count === 1 ? 'period is' : 'periods are'} missing
    </span>
  )
}

type RunningProps = Omit<NowFiguresProps, 'periods' | 'children'> & {
  periods: readonly Period[]
  running: Period | null
}

function Running({ periods, running, estimate, summary, due, unit, last }: RunningProps) {
  const fits = running !== null && estimate !== null && estimate.seq === `${running.seq}`
  const regular = regularLength(periods)
  return (
    <Figure
      name={running === null ? 'Running period' : `Period #${running.seq}, estimate`}
      main={fits ? <Rate text={estimate.fundingRate} name="estimate-rate" /> : null}
      none={running === null ? 'No period is running' : whyNoEstimate(summary)}
      stale={isOutdated.value}
    >
      {fits && (
        <>
          <Payment text={estimate.fundingPayment} unit={unit} name="estimate-payment" />
          <Annual rate={estimate.fundingRate} length={expectedLength(periods)} name="estimate-annualised" />
        </>
      )}
      {running !== null && (
        <span class="figure-more" data-figure="time-left">
          {due !== null ? (
            <>
              payment due <DueTime due={due} last={last} />
            </>
          ) : (
            <>
              {describeEnd(running.start, regular, last)}
              {areIrregular(periods) && <span class="aside">; periods are not regular</span>}
            </>
          )}
        </span>
      )}
      {running !== null && <AsOf time={fits ? estimate.at : last} />}
    </Figure>
  )
}

/** Why a figure is not known, if its request has failed. */
export function whyUnknown(error: Error): string {
  return `unknown: ${reasonOf(error) ?? 'the service does not respond'}`
}

/** Why the running period has no estimate. */
function whyNoEstimate(summary: MarketSummary | null): string {
  if (summary === null) return 'No estimate'
  if (marketStatusOf(summary)?.hasEnded) return 'No estimate: the market has ended'
  if (summary.marketData === null) return 'No estimate: the store has no market data of this market'
  if (summary.runningPeriod === null)
    return 'No estimate: a later period has begun, whose first block is missing'
  return "No estimate: the market's latest data contain none for this period"
}

/** When a running period ends: while blocks arrive a span, else a date. */
function describeEnd(start: bigint, length: bigint | null, last: bigint): string {
  const end = length === null ? null : start + length
  if (!isCurrent.value) {
    return end !== null && end > last ? `due ${formatSecond(end)} UTC` : `began ${formatSecond(start)} UTC`
  }
  return end !== null && end > last
    ? `ends in ${formatAge(end - last)}`
    : `running for ${formatAge(last - start)}`
}

function Annual(props: { rate: string | null; length: bigint | null; name: string }) {
  return (
    <span class="figure-more">
      <AnnualRate {...props} /> a year
    </span>
  )
}

/** What one whole unit of position pays, and who pays it. */
function Payment({ text, unit, name }: { text: string; unit: Unit | null; name: string }) {
  return (
    <span class={`figure-more pays ${whoPays(text).split(' ')[0]}`}>
      {whoPays(text)} <Amount text={text.replace('-', '')} unit={unit} name={name} />
    </span>
  )
}

/** The shown periods' mean rate per year, weighted by length. */
function Mean({ periods }: { periods: readonly Period[] }) {
  const length = periods.reduce((sum, period) => sum + (lengthOf(period) ?? 0n), 0n)
  return (
    <>
      <span class="figure-more">
        <AnnualRate rate={writeDecimal(cumulative(periods))} length={length} name="cumulative-annualised" /> a
        year
      </span>
      <span class="figure-more">since {formatMinute(periods[0]!.start)} UTC</span>
    </>
  )
}

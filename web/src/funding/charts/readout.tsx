import { formatAmount, formatAmountWithUnit, type Unit } from '../../figures/amount.ts'
import { type Decimal, writeDecimal } from '../../figures/decimal.ts'
import { formatBasisPoints, formatRate, groupDigits, RATE_PLACES } from '../../figures/format-figure.ts'
import { formatDay, formatLocal, formatTime } from '../../figures/format-time.ts'
import { Amount, Rounded } from '../../parts/values/amount.tsx'
import { whoPays, whyUnpaid } from '../../periods/period.ts'
import { type Day, dayAt, midnightBefore } from '../data/days.ts'
import { BAR_KINDS, type BarKind, type Reading } from '../data/reading.ts'
import { Rate } from '../rate.tsx'

export type ReadoutProps = {
  reading: Reading | null
  pointed: boolean
  /** Bar values by seq of their period, or by the start of their day. */
  bars: { kind: BarKind; values: ReadonlyMap<bigint, Decimal> }
  /** The sums by day that are drawn; null if periods are. */
  days: readonly Day[] | null
  /** Sum of the rates due in the range up to that time. */
  cumulative: Decimal | null
  unit: Unit | null
  /** Decimal digits of TWAPs. */
  places?: number
  /** The length of a bucket: `5m`. */
  interval: string
}

/** The exact figures of a time: both sources' prices, and the payment of its funding period. */
export function Readout({ reading, pointed, bars, days, cumulative, unit, places, interval }: ReadoutProps) {
  const moment = reading?.moment ?? null
  const period = reading?.period ?? null
  const hasEstimate = days === null && period?.end === null && bars.values.has(period.seq)
  const difference = reading?.difference ?? null
  return (
    <div class="figures">
      <div class="figure">
        <span class="figure-name">{pointed ? 'At' : 'Latest in the range'}</span>
        <span class="figure-value time-value">
          {moment === null ? '–' : `${formatTime(moment.start)} UTC`}
        </span>
        {moment !== null && <LocalTime time={moment.start} />}
        <span class="figure-more" data-figure="period">
          {days !== null && reading !== null && <DaySum days={days} time={reading.time} bars={bars} />}
          {days === null && period === null && whyNoPeriod(reading)}
          {days === null && period !== null && (
            <>
              period {`${period.seq}`}:{' '}
              {period.rate === null ? (
                whyUnpaid(period, reading!.latest)
              ) : (
                <>
                  <Rate text={period.rate} name="period-rate" />, {whoPays(period.payment)}
                </>
              )}
              <BarValue kind={bars.kind} value={bars.values.get(period.seq)} />
            </>
          )}
        </span>
        {days !== null && reading?.seq != null && (
          <span class="figure-more" data-figure="twap-period">
            TWAPs and premium: period {`${reading.seq}`}
          </span>
        )}
        {cumulative !== null && (
          <span class="figure-more">
            {days === null
              ? `cumulative in this range${hasEstimate ? ', with the estimate' : ''}`
              : `cumulative of whole days since ${formatDay(bars.values.keys().next().value!)}`}{' '}
            <Rounded
              text={writeDecimal(cumulative)}
              shown={formatRate(cumulative, RATE_PLACES)}
              name="cumulative-at"
            />
          </span>
        )}
        <span class="figure-more">{interval === '' ? '' : `in steps of ${interval}`}</span>
      </div>
      <SourceFigure kind="external" name="External" reading={reading} unit={unit} places={places} />
      <SourceFigure kind="internal" name="Internal" reading={reading} unit={unit} places={places} />
      <div class="figure difference">
        <span class="figure-name">TWAP difference</span>
        <span class="figure-value">
          {difference === null ? (
            <span data-figure="difference">–</span>
          ) : (
            <Amount
              text={writeDecimal(difference)}
              unit={unit}
              {...placesOf(places)}
              signed
              name="difference"
            />
          )}
        </span>
        <span class="figure-more" data-figure="basis-points">
          {difference === null
            ? whyNoDifference(reading)
            : `internal − external${atPair(reading!)}; premium ${formatBasisPoints(reading!.pair!.internal.twap.last, reading!.pair!.external.twap.last) ?? ''}`}
        </span>
      </div>
    </div>
  )
}

/** A time on the reader's clocks, unless these show UTC. */
function LocalTime({ time }: { time: bigint }) {
  const local = formatLocal(time)
  return local === null ? null : <span class="figure-more">{local} here</span>
}

/** The payments of the day of a time. */
function DaySum({ days, time, bars }: { days: readonly Day[]; time: bigint; bars: ReadoutProps['bars'] }) {
  const day = dayAt(days, time)
  const date = formatDay(midnightBefore(time))
  if (day === null) return <>{date}: no payment</>
  const text = writeDecimal(day.sum)
  return (
    <>
      {date}: <Rounded text={text} shown={formatRate(day.sum, RATE_PLACES)} name="day-sum" /> in{' '}
      {groupDigits(`${day.count}`)} {day.count === 1 ? 'payment' : 'payments'}, {whoPays(text)}
      <BarValue kind={bars.kind} value={bars.values.get(day.start)} />
    </>
  )
}

/** Why no rate is shown; nothing before the periods are known. */
function whyNoPeriod(reading: Reading | null): string {
  if (reading === null || !reading.periodsKnown) return ''
  return reading.seq === null ? 'no funding period' : `period ${reading.seq}`
}

/** When the TWAPs of a difference are from, if the latest external point is newer. */
function atPair({ moment, pair }: Reading): string {
  return pair!.internal.start === moment!.start ? '' : ` at ${formatTime(pair!.internal.start).slice(11)}`
}

/** The value of a bar, if that is not the rate or the sum. */
function BarValue({ kind, value }: { kind: BarKind; value: Decimal | undefined }) {
  // The rate is shown before this, the value after it.
  if (kind === 'rate' || kind === 'cumulative' || value === undefined) return null
  const text = writeDecimal(value)
  return (
    <>
      {kind === '8h' ? '; per 8 hours ' : '; annualised '}
      <Rounded text={text} shown={formatRate(value, kind === '8h' ? RATE_PLACES : 2)} name="bar-value" />
    </>
  )
}

function whyNoDifference(reading: Reading | null): string {
  if (reading === null || reading.moment === null) return 'no point'
  if (reading.pair?.external.twap.last === '0' || reading.pair?.internal.twap.last === '0') {
    return 'in auction since the start of the period: no TWAP'
  }
  return 'one source has no point in this period yet'
}

type SourceFigureProps = {
  kind: 'external' | 'internal'
  name: string
  reading: Reading | null
  unit: Unit | null
  places: number | undefined
}

/** The places of an amount, if they are given. */
const placesOf = (places: number | undefined) => (places === undefined ? {} : { places })

function SourceFigure({ kind, name, reading, unit, places }: SourceFigureProps) {
  const bucket = reading?.moment?.[kind] ?? null
  const own = reading?.twaps[kind] ?? null
  return (
    <div class={`figure ${kind}`}>
      <span class="figure-name">
        <span class="swatch" aria-hidden="true" />
        {name} TWAP
      </span>
      <span class="figure-value">
        {own === null ? (
          '–'
        ) : (
          <Amount text={own.twap.last} unit={unit} {...placesOf(places)} name={`${kind}-twap`} />
        )}
      </span>
      <span class="figure-more">
        {bucket === null ? (
          'no point so far'
        ) : (
          <>
            price <Amount text={bucket.price.last} unit={unit} name={`${kind}-price`} />
            {own === null && ', of an earlier period'}
          </>
        )}
      </span>
      {bucket !== null && bucket.count > 1n && (
        <span class="figure-more">
          <Amount text={bucket.price.minimum} unit={unit} bare name={`${kind}-minimum`} /> –{' '}
          <Amount text={bucket.price.maximum} unit={unit} bare name={`${kind}-maximum`} />,{' '}
          {`${bucket.count}`} points
        </span>
      )}
    </div>
  )
}

/**
 * A reading in lines, beside the pointer and spoken: its bar's value, what was estimated at the time if that is shown, prices with
 * their TWAPs, and the premium.
 */
export function tipLines(
  { time, moment, seq, period, latest, twaps, pair }: Reading,
  { kind, values }: ReadoutProps['bars'],
  days: readonly Day[] | null,
  unit: Unit | null,
  estimate: Decimal | null = null,
): string[] {
  if (moment === null) return ['no point']
  const byDay = days !== null
  const value = values.get(byDay ? midnightBefore(time) : (period?.seq ?? -1n))
  const of = (source: 'external' | 'internal', name: string) => {
    const price = moment[source]?.price.last
    if (price === undefined) return `no ${source} point`
    const twap = twaps[source]?.twap.last
    const average = twap === undefined ? 'no TWAP' : `TWAP ${formatAmount(twap, unit)}`
    return `${name} ${formatAmountWithUnit(price, unit)}, ${average}`
  }
  const bar = () => {
    if (value === undefined) return byDay || period === null ? null : whyUnpaid(period, latest)
    return [
      `${BAR_KINDS[kind]}${byDay ? ', by day' : ''} ${formatRate(value, RATE_PLACES)}`,
      ...(!byDay && period?.end === null ? ['estimate'] : []),
      ...(kind === 'cumulative' ? [] : [whoPays(writeDecimal(value))]),
    ].join(', ')
  }
  const premium = pair === null ? null : formatBasisPoints(pair.internal.twap.last, pair.external.twap.last)
  return [
    `${formatTime(moment.start)} UTC${byDay || seq === null ? '' : `, period ${seq}`}`,
    bar(),
    estimate === null ? null : `Estimated then ${formatRate(estimate, RATE_PLACES)}`,
    of('external', 'External'),
    of('internal', 'Internal'),
    premium === null ? 'no premium' : `Premium ${premium}`,
  ].filter((line) => line !== null)
}

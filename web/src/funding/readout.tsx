import { formatAmountWithUnit, type Unit } from '../figures/amount.ts'
import { type Decimal, writeDecimal } from '../figures/decimal.ts'
import { formatBasisPoints, formatRate } from '../figures/format-figure.ts'
import { formatTime } from '../figures/format-time.ts'
import { Amount, Rounded } from '../parts/amount.tsx'
import { whoPays, whyUnpaid } from '../periods/period.ts'
import type { Bucket, Moment } from '../series/series.ts'
import { RATE_PLACES, Rate } from './now-figures.tsx'
import type { BarKind, Reading } from './reading.ts'

export type ReadoutProps = {
  reading: Reading | null
  pointed: boolean
  /** Bar values by seq of their period. */
  bars: { kind: BarKind; values: ReadonlyMap<bigint, Decimal> }
  /** Sum of the rates due in the range up to that time. */
  cumulative: Decimal | null
  unit: Unit | null
  /** The length of a bucket: `5m`. */
  interval: string
}

/** The exact figures of a time: what both sources say there, and what its funding period pays. */
export function Readout({ reading, pointed, bars, cumulative, unit, interval }: ReadoutProps) {
  const moment = reading?.moment ?? null
  const period = reading?.period ?? null
  const hasEstimate = period?.end === null && bars.values.has(period.seq)
  return (
    <div class="figures">
      <div class="figure">
        <span class="figure-name">{pointed ? 'At' : 'Latest in the range'}</span>
        <span class="figure-value time-value">
          {moment === null ? '–' : `${formatTime(moment.start)} UTC`}
        </span>
        <span class="figure-more" data-figure="period">
          {period === null ? (
            reading?.periodsKnown && 'no funding period'
          ) : (
            <>
              period {`${period.seq}`}:{' '}
              {period.rate === null ? (
                whyUnpaid(period, reading!.latest)
              ) : (
                <>
                  <Rate text={period.rate} name="period-rate" />, {whoPays(period.payment)}
                </>
              )}
              <BarValue bars={bars} seq={period.seq} />
            </>
          )}
        </span>
        {cumulative !== null && (
          <span class="figure-more">
            cumulative in this range{hasEstimate ? ', with the estimate' : ''}{' '}
            <Rounded
              text={writeDecimal(cumulative)}
              shown={formatRate(cumulative, RATE_PLACES)}
              name="cumulative-at"
            />
          </span>
        )}
        <span class="figure-more">{interval === '' ? '' : `in steps of ${interval}`}</span>
      </div>
      <SourceFigure kind="external" name="External" bucket={moment?.external ?? null} unit={unit} />
      <SourceFigure kind="internal" name="Internal" bucket={moment?.internal ?? null} unit={unit} />
      <div class="figure difference">
        <span class="figure-name">TWAP difference</span>
        <span class="figure-value">
          {moment?.difference == null ? (
            <span data-figure="difference">–</span>
          ) : (
            <Amount text={writeDecimal(moment.difference)} unit={unit} signed name="difference" />
          )}
        </span>
        <span class="figure-more" data-figure="basis-points">
          {moment?.difference == null
            ? whyNoDifference(moment)
            : `internal − external${atPair(moment)}; premium ${formatBasisPoints(moment.pair!.internal.twap.last, moment.pair!.external.twap.last) ?? ''}`}
        </span>
      </div>
    </div>
  )
}

/** When the TWAPs of a difference are from, if the latest external point is newer. */
function atPair({ start, pair }: Moment): string {
  return pair!.internal.start === start ? '' : ` at ${formatTime(pair!.internal.start).slice(11)}`
}

/** The value of a period's bar, if that is not its rate. */
function BarValue({ bars: { kind, values }, seq }: { bars: ReadoutProps['bars']; seq: bigint }) {
  const value = values.get(seq)
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

function whyNoDifference(moment: Moment | null): string {
  if (moment === null) return 'no point'
  if (moment.pair?.external.twap.last === '0' || moment.pair?.internal.twap.last === '0') {
    return 'in auction since the start of the period: no TWAP'
  }
  return 'one source has no point in this period yet'
}

type SourceFigureProps = {
  kind: 'external' | 'internal'
  name: string
  bucket: Bucket | null
  unit: Unit | null
}

function SourceFigure({ kind, name, bucket, unit }: SourceFigureProps) {
  return (
    <div class={`figure ${kind}`}>
      <span class="figure-name">
        <span class="swatch" aria-hidden="true" />
        {name} TWAP
      </span>
      <span class="figure-value">
        {bucket === null ? '–' : <Amount text={bucket.twap.last} unit={unit} name={`${kind}-twap`} />}
      </span>
      <span class="figure-more">
        {bucket === null ? (
          'no point so far'
        ) : (
          <>
            price <Amount text={bucket.price.last} unit={unit} name={`${kind}-price`} />
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

/** A time in words, for who hears the page. */
export function describeReading(
  { moment, period, periodsKnown, latest }: Reading,
  unit: Unit | null,
): string {
  if (moment === null) return 'no point'
  const of = (name: string, bucket: Bucket | null) =>
    bucket === null
      ? `no ${name} point`
      : `${name} price ${formatAmountWithUnit(bucket.price.last, unit)}, TWAP ${formatAmountWithUnit(bucket.twap.last, unit)}`
  const periodName = period === null ? (periodsKnown ? ', no period' : '') : `, period ${period.seq}`
  return [
    `${formatTime(moment.start)} UTC${periodName}`,
    of('external', moment.external),
    of('internal', moment.internal),
    moment.difference === null
      ? 'no premium'
      : `internal minus external TWAP ${formatAmountWithUnit(writeDecimal(moment.difference), unit, { signed: true })}`,
    ...(period === null
      ? []
      : [
          period.rate === null
            ? whyUnpaid(period, latest)!
            : `rate ${period.rate}, ${whoPays(period.payment)}`,
        ]),
  ].join('; ')
}

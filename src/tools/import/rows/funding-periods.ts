import type { DataPointSource, FundingPeriodDataPointEvent, FundingPeriodEvent } from '#core/events/event'
import { SOURCES } from '#core/resources/funding-period-data-points/description'
import { faultOf } from '#core/resources/projections'
import { fromMicroseconds, microsecondsOf } from '../reference-values.ts'
import type { SourceRow } from '../source.ts'
import { faultOfTime, type LeftOutRows, marketOf, naturalOf, numberIn, rowUnlessFault } from './row-values.ts'

/** A funding period, as of its latest event. */
export function fundingPeriodOf(row: SourceRow, leaveOut: LeftOutRows): FundingPeriodEvent | null {
  const [market, seq, startTime, endTime, payment, rate, external, internal] = row
  const start = microsecondsOf(startTime ?? null)
  const end = endTime == null ? null : microsecondsOf(endTime)
  const event: FundingPeriodEvent = {
    kind: 'funding-period',
    marketId: marketOf(market),
    seq: naturalOf(seq),
    start: Number.isNaN(start) ? 0n : fromMicroseconds(start),
    end: end === null || Number.isNaN(end) ? null : fromMicroseconds(end),
    fundingPayment: payment ?? null,
    fundingRate: rate ?? null,
    internalTwap: internal ?? null,
    externalTwap: external ?? null,
  }
  const fault = faultOf(event) ?? faultOfTime(start) ?? (end === null ? null : faultOfTime(end))
  return rowUnlessFault(event, fault, leaveOut)
}

/** A data point. A time that is not one is left out. */
export function dataPointOf(row: SourceRow, leaveOut: LeftOutRows): FundingPeriodDataPointEvent | null {
  const [market, seq, source, price, twap, time] = row
  const timestamp = microsecondsOf(time ?? null)
  const event: FundingPeriodDataPointEvent = {
    kind: 'funding-period-data-point',
    marketId: marketOf(market),
    seq: naturalOf(seq),
    source: numberIn(SOURCES, source) as DataPointSource,
    price: price ?? '',
    timestamp: Number.isNaN(timestamp) ? 0n : fromMicroseconds(timestamp),
    twap: twap ?? '',
  }
  return rowUnlessFault(event, faultOf(event) ?? faultOfTime(timestamp), leaveOut)
}

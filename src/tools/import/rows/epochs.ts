import { cutToMicrosecond, GO_ZERO_TIME, MICROSECOND } from '#core/domain/time'
import type { EpochEvent } from '#core/events/event'
import { faultOf } from '#core/resources/projections'
import { fromMicroseconds, microsecondsOf } from '../reference-values.ts'
import type { SourceRow } from '../source.ts'
import {
  faultOfTime,
  type LeftOutRowReason,
  type LeftOutRows,
  naturalOf,
  rowUnlessFault,
} from './row-values.ts'

/** As the data node stores it: 1754-08-30 22:43:41.128654. */
const GO_ZERO_MICROSECONDS = Number(cutToMicrosecond(GO_ZERO_TIME) / MICROSECOND)

/** The start of an epoch, or its end, which alone has an end time. */
export function epochOf(row: SourceRow, leaveOut: LeftOutRows): EpochEvent | null {
  const [id, startTime, expireTime, endTime] = row
  const start = columnTime(startTime)
  const expiry = columnTime(expireTime)
  const end = columnTime(endTime)
  const event: EpochEvent = {
    kind: 'epoch',
    action: endTime == null ? 'start' : 'end',
    epoch: naturalOf(id),
    start: start.time,
    expiry: expiry.time,
    end: end.time,
  }
  return rowUnlessFault(event, faultOf(event) ?? start.fault ?? expiry.fault ?? end.fault, leaveOut)
}

/** A time in Unix nanoseconds, which is null if it is not set, and why it is not a time; null for no fault. */
type ColumnTime = { time: bigint | null; fault: LeftOutRowReason | null }

function columnTime(text: string | null | undefined): ColumnTime {
  if (text == null) return { time: null, fault: null }
  const microseconds = microsecondsOf(text)
  const fault = faultOfTime(microseconds)
  const isSet = fault === null && microseconds !== 0 && microseconds !== GO_ZERO_MICROSECONDS
  return { time: isSet ? fromMicroseconds(microseconds) : null, fault }
}

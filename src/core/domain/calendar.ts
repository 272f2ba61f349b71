import { indexAt } from './series.ts'
import { DAY } from './time.ts'

/** Days, weeks from Monday on, and months, in UTC. */
export const CALENDAR_SPANS = ['1d', '1w', '1M'] as const

export type CalendarSpan = (typeof CALENDAR_SPANS)[number]

/** 1970-01-01 was a Thursday: weeks begin three days earlier. */
const MONDAY = -3n * DAY

const MILLISECOND = 1_000_000n

/** The start of the day, week or month that a time is in; both Unix nanoseconds. */
export function startOfSpan(time: bigint, span: CalendarSpan): bigint {
  switch (span) {
    case '1d':
      return indexAt(time, DAY) * DAY
    case '1w':
      return indexAt(time - MONDAY, 7n * DAY) * 7n * DAY + MONDAY
    case '1M': {
      const date = new Date(Number(indexAt(time, MILLISECOND)))
      return BigInt(Date.UTC(date.getUTCFullYear(), date.getUTCMonth())) * MILLISECOND
    }
    default:
      return span satisfies never
  }
}

import { type Coverage, isImportedWithout } from '../../../domain/coverage.ts'
import type { HeightRange } from '../../../domain/height-ranges.ts'
import { greatest, least, MIN_INT64 } from '../../../domain/integers.ts'
import { indexAt } from '../../../domain/series.ts'
import { DAY } from '../../../domain/time.ts'
import { fundingPayments } from '../../../resources/funding-payments/description.ts'
import type { Query } from '../../queries-protocol.ts'
import { textOf } from '../../statements.ts'
import type { PaymentRange } from './funding-sum.ts'

/*
 * The payments of each party are added up by market and day when the first payment of a later day is committed
 * (store/write/write-daily-sums.ts). So the days with stored sums follow from the newest payment, and from what has been pruned.
 */

/** UTC days from one (inclusive) to another (exclusive), counted from 1970-01-01 on. */
export type Days = { from: bigint; to: bigint }

/**
 * The days whose payments are added up in the store: those that pruning has not reached, up to that of the newest payment, which
 * is not. None in a store without payments.
 */
export function* readStoredDays(): Query<Days> {
  const [last] = yield { text: READ_LAST_TIME }
  return yield* readDaysBefore(last === undefined ? null : BigInt(last[0]!))
}

/** The whole days of a range whose sums are stored, and published on a cluster; null if there are none. */
export function* readSummedDays({ start, end }: PaymentRange, coverage: Coverage): Query<Days | null> {
  const stored = yield* readDaysBefore(yield* readLastPublished(coverage))
  const from = start === null ? stored.from : greatest([stored.from, indexAt(start + DAY - 1n, DAY)])
  const to = end === null ? stored.to : least([stored.to, indexAt(end, DAY)])
  return from < to ? { from, to } : null
}

const READ_LAST_TIME = `select ${textOf('timestamp')} from funding_payments
  order by funding_payments.timestamp desc limit 1`

/** Of the newest payment up to a height. `+height`: by the index of heights, SQLite would read and sort all payments. */
export const READ_LAST_UP_TO_HEIGHT = `select ${textOf('timestamp')}, cast(height as text) from funding_payments
  where +height <= $1 order by funding_payments.timestamp desc limit 1`

/** The first day that pruning has not reached, as stored with the sums. */
export const READ_SUMS_FROM = 'select cast(sums_from_day as text) from pruned where sums_from_day is not null'

/** The first day that begins at a time of 64 bits. */
const FIRST_DAY = indexAt(MIN_INT64, DAY) + 1n

/** The days that pruning has not reached, up to that of a time; none if it is null. */
function* readDaysBefore(time: bigint | null): Query<Days> {
  const [pruned] = yield { text: READ_SUMS_FROM }
  return {
    from: pruned === undefined ? FIRST_DAY : BigInt(pruned[0]!),
    to: time === null ? FIRST_DAY : indexAt(time, DAY),
  }
}

/**
 * The time of the newest payment of a published block; null if there is none. On a cluster, a payment of a later block may be
 * visible on one machine before the sums of the day that it closes are on another one: the sums of days before a published
 * payment are on all.
 */
function* readLastPublished({ first, height, gaps, imported }: Coverage): Query<bigint | null> {
  const unpublished: HeightRange[] = [
    { from: 1n, to: first - 1n },
    ...gaps.filter(({ kind }) => kind === 'missing'),
    ...imported.filter((range) => isImportedWithout(range, fundingPayments.name)),
  ]
  for (let upTo = height; ; ) {
    const [last] = yield { text: READ_LAST_UP_TO_HEIGHT, values: [upTo] }
    if (last === undefined) return null
    const [time, at] = last.map((text) => BigInt(text!)) as [bigint, bigint]
    const range = unpublished.find(({ from, to }) => from <= at && at <= to)
    if (range === undefined) return time
    upTo = range.from - 1n
  }
}

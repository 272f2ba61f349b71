import { type Decimal, parseDecimal, ZERO } from '../../../domain/decimal.ts'
import { MAX_INT64 } from '../../../domain/integers.ts'
import type { Query } from '../../queries-protocol.ts'
import { textOf } from '../../statements.ts'

/** A period that has ended; times are Unix nanoseconds. */
type EndedPeriod = {
  start: bigint
  seq: bigint
  end: bigint
  /** Null for a period of zero length, which has an end but neither payment nor rate. */
  paid: { payment: Decimal; rate: Decimal } | null
}

/** Number of periods read at a time. */
const PERIODS_AT_ONCE = 5_000

/** A market's periods are adjacent, so the first one that can have ended at `from` is the last one that began before it. */
const READ_ENDED_PERIODS = `
  select ${textOf('start_timestamp')}, ${textOf('seq')}, cast(end_timestamp as text), funding_payment, funding_rate
  from funding_periods
  where market_id = $1 and (start_timestamp, seq) < ($2, $3) and end_timestamp >= $4 and end_timestamp <= $5
    and start_timestamp >= coalesce(
      (select max(start_timestamp) from funding_periods where market_id = $1 and start_timestamp < $4), $4)
  order by start_timestamp desc, seq desc limit ${PERIODS_AT_ONCE}`

/** Periods that ended between two times, both included; if `before` is given, only those before that period. */
type EndedRange = { from: bigint; upTo: bigint; before?: { start: bigint; seq: bigint } | null }

/** Visits a market's periods in a range, newest first, until `visit` returns false. */
export function* readEndedPeriods(
  marketId: string,
  { from, upTo, before }: EndedRange,
  visit: (period: EndedPeriod) => false | undefined,
): Query<void> {
  let { start: lastStart, seq: lastSeq } = before ?? { start: upTo, seq: MAX_INT64 }
  while (from <= upTo) {
    const rows = yield { text: READ_ENDED_PERIODS, values: [marketId, lastStart, lastSeq, from, upTo] }
    for (const [start, seq, end, payment, rate] of rows) {
      ;[lastStart, lastSeq] = [BigInt(start!), BigInt(seq!)]
      const period = { start: lastStart, seq: lastSeq, end: BigInt(end!), paid: paidOf(payment, rate) }
      if (visit(period) === false) return
    }
    if (rows.length < PERIODS_AT_ONCE) break
  }
}

function paidOf(payment: unknown, rate: unknown): EndedPeriod['paid'] {
  const amount = payment === null ? null : parseDecimal(String(payment))
  return amount === null ? null : { payment: amount, rate: parseDecimal(String(rate ?? '0')) ?? ZERO }
}

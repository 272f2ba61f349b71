import { type Decimal, parseDecimal, ZERO } from '../../../domain/decimal.ts'
import { MAX_INT64 } from '../../../domain/integers.ts'
import type { Row } from '../../../model/resource.ts'
import type { Query } from '../../queries-protocol.ts'
import { textOf } from '../../statements.ts'

/** A period that has ended; times are Unix nanoseconds. */
type EndedPeriod = PeriodKey & {
  end: bigint
  /** Null if it has neither payment nor rate, since its length is zero, or one that is no number. */
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
type EndedRange = { from: bigint; upTo: bigint; before?: PeriodKey | null }

/** The identity of a period within its market, by which its periods are sorted. */
export type PeriodKey = { start: bigint; seq: bigint }

/** A market's periods that ended in a range, newest first, which are read a chunk at a time. */
export class EndedPeriods {
  readonly #marketId: string
  readonly #from: bigint
  readonly #upTo: bigint
  /** The key of the last period that was read, or a bound before the first one. */
  #before: PeriodKey
  /** Whether all periods have been read. */
  isAtEnd: boolean

  constructor(marketId: string, { from, upTo, before = null }: EndedRange) {
    this.#marketId = marketId
    this.#from = from
    this.#upTo = upTo
    this.#before = before ?? { start: upTo, seq: MAX_INT64 }
    this.isAtEnd = from > upTo
  }

  /** Reads the next chunk, which may be empty. Its periods are parsed one by one: a caller may need only the first. */
  *readChunk(): Query<Generator<EndedPeriod>> {
    const { start, seq } = this.#before
    const values = [this.#marketId, start, seq, this.#from, this.#upTo]
    const rows = yield { text: READ_ENDED_PERIODS, values }
    if (rows.length < PERIODS_AT_ONCE) this.isAtEnd = true
    else this.#before = keyOf(rows.at(-1)!)
    return periodsOf(rows)
  }
}

const keyOf = ([start, seq]: Row): PeriodKey => ({ start: BigInt(start!), seq: BigInt(seq!) })

function* periodsOf(rows: readonly Row[]): Generator<EndedPeriod> {
  for (const row of rows) {
    const [, , end, payment, rate] = row
    yield { ...keyOf(row), end: BigInt(end!), paid: paidOf(payment, rate) }
  }
}

function paidOf(payment: unknown, rate: unknown): EndedPeriod['paid'] {
  const amount = payment === null ? null : parseDecimal(String(payment))
  return amount === null ? null : { payment: amount, rate: parseDecimal(String(rate ?? '0')) ?? ZERO }
}

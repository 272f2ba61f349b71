import type { EventPosition } from '../../domain/event-position.ts'
import { nearestInt64 } from '../../domain/integers.ts'
import { indexAt } from '../../domain/series.ts'
import { DAY } from '../../domain/time.ts'
import type { Batch } from '../../model/batch.ts'
import type { Row } from '../../model/resource.ts'
import type { RowOf } from '../../model/table.ts'
import {
  dailySumTable,
  fundingPaymentTable,
  paymentSpanTable,
} from '../../resources/funding-payments/table.ts'
import { type MarketDay, readDaysOf, readParts, readSumRows } from '../queries/payments/daily-sums.ts'
import { readStoredDays } from '../queries/payments/summed-days.ts'
import { asMutation, type Mutation, readEach } from '../queries-protocol.ts'
import { READ_MARKET_IDS, textOf } from '../statements.ts'

/*
 * Each party's payments are added up by day and market, so that a year of a party is read as a few hundred rows. The sums of a
 * day are written when the first payment of a later day, in whatever market, is committed, and anew when payments of that day
 * are. So which days have sums follows from the payments and from what has been pruned, however blocks are grouped into commits.
 */

/** Number of rows written at once. */
const STEP_ROWS = 10_000

const READ_REPLACED = `select distinct market_id, ${textOf('timestamp')} from funding_payments
  where height = $1 and event_index > $2`

const READ_SPAN = `select ${textOf('first_timestamp')}, ${textOf('last_timestamp')} from funding_payment_spans
  where market_id = $1 and seq = $2`

const READ_DAYS_OF_SUMS = `select distinct ${textOf('day')} from funding_daily_sums
  where market_id = $1 and day >= $2 and day <= $3`

const READ_MARKETS_BETWEEN = `
  select distinct market_id from funding_payments where timestamp >= $1 and timestamp < $2`

const DELETE_DAY = 'delete from funding_daily_sums where market_id = $1 and day = $2'

const DELETE_FROM_DAY = 'delete from funding_daily_sums where market_id = $1 and day >= $2'

/** A payment that is written. */
export type PaymentRow = RowOf<typeof fundingPaymentTable>

type SpanRow = RowOf<typeof paymentSpanTable>

/** The payments that a commit changes, as far as sums depend on them. */
class ChangedPayments {
  /** The day of the newest payment before the commit. */
  readonly lastDay: bigint
  readonly #days = new Map<string, MarketDay>()
  readonly #spans = new Map<string, SpanRow>()

  constructor(lastDay: bigint) {
    this.lastDay = lastDay
  }

  /** Notes payments that are written. */
  add(rows: readonly PaymentRow[]): void {
    let last: PaymentRow | undefined
    for (const row of rows) {
      // Those of one event are adjacent.
      const isOfSameEvent = last?.height === row.height && last.event_index === row.event_index
      last = row
      if (isOfSameEvent) continue
      const { market_id, seq, timestamp } = row
      this.addDay(market_id, indexAt(timestamp, DAY))
      const key = `${market_id} ${seq}`
      const { first_timestamp: first, last_timestamp: end } = this.#spans.get(key) ?? {
        first_timestamp: timestamp,
        last_timestamp: timestamp,
      }
      this.#spans.set(key, {
        market_id,
        seq,
        first_timestamp: timestamp < first ? timestamp : first,
        last_timestamp: timestamp > end ? timestamp : end,
      })
    }
  }

  addDay(marketId: string, day: bigint): void {
    this.#days.set(`${marketId} ${day}`, { marketId, day })
  }

  /** The days of markets with changed payments. */
  days(): readonly MarketDay[] {
    return [...this.#days.values()]
  }

  /** The spans of the written payments. */
  spans(): readonly SpanRow[] {
    return [...this.#spans.values()]
  }
}

/** What a batch changes, whose writes have not begun: payments of replaced blocks are still stored. Null if nothing. */
export function* changedPayments({ rows, replaced }: Batch): Mutation<ChangedPayments | null> {
  const replacedRows = replaced.length === 0 ? [] : yield* readReplaced(replaced)
  if (replacedRows.length === 0 && !rows.has(fundingPaymentTable.name)) return null
  const { to: lastDay } = yield* asMutation(readStoredDays())
  const changed = new ChangedPayments(lastDay)
  for (const [marketId, time] of replacedRows) changed.addDay(String(marketId), indexAt(BigInt(time!), DAY))
  return changed
}

function* readReplaced(replaced: readonly EventPosition[]): Mutation<Row[]> {
  const found = yield { text: READ_REPLACED, each: replaced.map(({ height, index }) => [height, index]) }
  return found.flat()
}

/** Writes the sums of the days in which payments have changed, and of the day that was the newest one before. */
export function* writeDailySums(changed: ChangedPayments): Mutation {
  yield* addFormerDays(changed)
  yield { table: paymentSpanTable, rows: changed.spans() }
  const { lastDay } = changed
  const { from, to } = yield* asMutation(readStoredDays())
  if (to > lastDay) {
    // The first day of all 64-bit times, and the last one, are only parts of days.
    const ends = [nearestInt64(lastDay * DAY), nearestInt64((lastDay + 1n) * DAY)]
    const [markets = []] = yield { text: READ_MARKETS_BETWEEN, values: ends }
    for (const [marketId] of markets) changed.addDay(String(marketId), lastDay)
  } else if (to < lastDay) {
    const [markets = []] = yield { text: READ_MARKET_IDS }
    yield { text: DELETE_FROM_DAY, each: markets.map(([, marketId]) => [String(marketId), to]) }
  }
  const days = changed.days().filter(({ day }) => from <= day && day < to)
  yield { text: DELETE_DAY, each: days.map(({ marketId, day }) => [marketId, day]) }
  for (const day of days) yield* writeDay(day)
}

/** Adds the days in which payments that are written again may have been before. */
function* addFormerDays(changed: ChangedPayments): Mutation {
  const spans = yield* readEach(READ_SPAN, changed.spans(), ({ market_id, seq }) => [market_id, seq])
  for (const [{ market_id }, [span]] of spans) {
    if (span === undefined) continue
    const [first, last] = span.map((time) => indexAt(BigInt(time!), DAY)) as [bigint, bigint]
    changed.addDay(market_id, first)
    if (first === last) continue
    const [days = []] = yield { text: READ_DAYS_OF_SUMS, values: [market_id, first, last] }
    for (const [day] of days) changed.addDay(market_id, BigInt(day!))
  }
}

/** Writes the sums of a day that has none. */
function* writeDay(day: MarketDay): Mutation {
  for (const part of yield* asMutation(readParts(day))) {
    const rows = yield* asMutation(readSumRows(day, part))
    for (let at = 0; at < rows.length; at += STEP_ROWS)
      yield { table: dailySumTable, rows: rows.slice(at, at + STEP_ROWS), areNew: true }
  }
}

/** Writes the sums of all days, in a store of a version that had only payments. */
export function* upgradeDailySums(): Mutation {
  const [markets = []] = yield { text: READ_MARKET_IDS }
  for (const [, marketId] of markets)
    for (const day of yield* asMutation(readDaysOf(String(marketId)))) yield* writeDay(day)
}

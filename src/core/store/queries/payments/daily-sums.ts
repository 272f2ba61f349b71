import { getOrInsert } from '../../../domain/get-or-insert.ts'
import { indexAt } from '../../../domain/series.ts'
import { DAY } from '../../../domain/time.ts'
import type { RowOf } from '../../../model/table.ts'
import type { dailySumTable, paymentSpanTable } from '../../../resources/funding-payments/table.ts'
import type { Query } from '../../queries-protocol.ts'
import { textOf } from '../../statements.ts'
import { type FundingSum, newSum, summandOf } from './funding-sum.ts'
import { type KeysetScan, ROWS_AT_ONCE, readByKey } from './keyset.ts'
import { readStoredDays } from './summed-days.ts'

/** A UTC day of a market, counted from 1970-01-01 on. */
export type MarketDay = { marketId: string; day: bigint }

/** A day with more payments is added up in parts: the memory of a commit is limited. */
const MOST_AT_ONCE = 100_000n

/** All parties in parts, by the first character of their ids: these are hex digits, or `network`. */
const PARTS: readonly string[] = [...'0123456789abcdef', 'n']

const COUNT_PAYMENTS = `select cast(count(*) as text) from funding_payments
  where market_id = $1 and timestamp >= $2 and timestamp < $3`

/**
 * The statement that reads a day's payments. A condition on the parties' ids as such would let PostgreSQL walk an index of all
 * parties, with the payments of all days: its generic plans assume that few match.
 */
const paymentsStatement = (condition: string, key: string) => `
  select party_id, amount, loss_amount, ${textOf('timestamp')}, ${textOf('seq')} from funding_payments
  where market_id = $1 and timestamp < $2 and (timestamp, seq, party_id) > ${key} ${condition}
  order by funding_payments.timestamp, funding_payments.seq, party_id limit ${ROWS_AT_ONCE}`

const READ_PAYMENTS = paymentsStatement('', '($3, $4, $5)')

const READ_PAYMENTS_OF_PART = paymentsStatement('and substr(party_id, 1, 1) = $3', '($4, $5, $6)')

const READ_NEXT_TIME = `select ${textOf('timestamp')} from funding_payments
  where market_id = $1 and timestamp >= $2 order by funding_payments.timestamp limit 1`

const READ_SPANS = `
  select ${textOf('seq')}, cast(min(timestamp) as text), cast(max(timestamp) as text) from funding_payments
  where market_id = $1 and timestamp > $2 group by seq order by funding_payments.seq`

/** The spans of a market's payments after a time (Unix nanoseconds), by seq. */
export function* readPaymentSpans(marketId: string, after: bigint): Query<RowOf<typeof paymentSpanTable>[]> {
  const rows = yield { text: READ_SPANS, values: [marketId, after] }
  return rows.map(([seq, first, last]) => ({
    market_id: marketId,
    seq: BigInt(seq!),
    first_timestamp: BigInt(first!),
    last_timestamp: BigInt(last!),
  }))
}

/** The days of a market with payments whose sums are stored, in order. */
export function* readDaysOf(marketId: string): Query<MarketDay[]> {
  const { from, to } = yield* readStoredDays()
  const found: MarketDay[] = []
  for (let next = from; next < to; ) {
    const [row] = yield { text: READ_NEXT_TIME, values: [marketId, next * DAY] }
    const day = row === undefined ? to : indexAt(BigInt(row[0]!), DAY)
    if (day < to) found.push({ marketId, day })
    next = day + 1n
  }
  return found
}

/** The parts of a day's parties that are added up one after another: one (null), unless the day has too many payments. */
export function* readParts({ marketId, day }: MarketDay): Query<readonly (string | null)[]> {
  const [row] = yield { text: COUNT_PAYMENTS, values: [marketId, day * DAY, (day + 1n) * DAY] }
  return BigInt(row![0]!) > MOST_AT_ONCE ? PARTS : [null]
}

/** Adds up the payments of a day, for each party, or for each of a part. */
export function* readSumRows(
  { marketId, day }: MarketDay,
  part: string | null = null,
): Query<RowOf<typeof dailySumTable>[]> {
  const sums = new Map<string, FundingSum>()
  const end = (day + 1n) * DAY
  const scan: KeysetScan = {
    text: part === null ? READ_PAYMENTS : READ_PAYMENTS_OF_PART,
    fixed: part === null ? [marketId, end] : [marketId, end, part],
    begin: [day * DAY, -1n, ''],
    keyOf: ([partyId, , , time, seq]) => [BigInt(time!), BigInt(seq!), String(partyId)],
  }
  yield* readByKey(scan, Number.POSITIVE_INFINITY, ([party, amount, lossAmount]) => {
    const summand = summandOf(String(amount), String(lossAmount))
    if (summand === null) return
    getOrInsert(sums, String(party), newSum).add(summand)
  })
  const inOrder = [...sums].sort(([a], [b]) => (a < b ? -1 : 1))
  return inOrder.map(([partyId, sum]) => {
    const { count, received, paid, lossAmount } = sum.texts()
    return {
      market_id: marketId,
      day,
      party_id: partyId,
      payments: BigInt(count),
      received,
      paid,
      loss_amount: lossAmount,
    }
  })
}

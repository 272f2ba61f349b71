import { nearestInt64 } from '#core/domain/integers'
import { DAY } from '#core/domain/time'
import { readDaysOf, readPaymentSpans, readSumRows } from '#core/store/queries/payments/daily-sums'
import { readStoredDays } from '#core/store/queries/payments/summed-days'
import { rowsUnder } from '#core/store/schema/ranges'
import { type TextCell, tableOf } from '#core/store/schema/tables'
import { walkTable } from '#core/store/walk-table'
import { covers } from './check-spans.ts'
import { cellsOf, compareTables, inOneChunk, tableRules } from './compare-tables.ts'
import type { Checking } from './problems.ts'

const SUMS = tableOf('funding_daily_sums')
const SUMS_RULES = tableRules(SUMS)
const SPANS = tableOf('funding_payment_spans')
/** Payments of a replaced block leave their spans. */
const SPANS_RULES = { ...tableRules(SPANS), allowances: { wide: covers } }
const IN_PAYMENTS = 'in a calculation from the payments'

/**
 * Compares the daily sums of a market, and the spans of its payments, with its payments. Uses the memory of the sums of a day,
 * and of the market's spans. Rows that pruning has reached are not read by anyone, and are not compared.
 *
 * @returns the number of the market's rows in both tables
 */
export async function checkDailySums(checking: Checking, marketId: string): Promise<number> {
  const { reader, problems, signal } = checking
  const { from } = await reader.run(readStoredDays())
  let rows = 0
  const counted = async function* (
    chunks: AsyncGenerator<TextCell[][]>,
    isUsed: (row: TextCell[]) => boolean,
  ) {
    for await (const chunk of chunks) {
      rows += chunk.length
      yield chunk.filter(isUsed)
    }
  }
  const sums = counted(
    walkTable(reader, SUMS, rowsUnder(marketId), signal),
    ([, day]) => BigInt(day!) >= from,
  )
  await compareTables(SUMS, sums, sumsOf(checking, marketId), IN_PAYMENTS, SUMS_RULES, problems)
  const spans = counted(
    walkTable(reader, SPANS, rowsUnder(marketId), signal),
    ([, , , last]) => BigInt(last!) >= from * DAY,
  )
  // A day may begin after all 64-bit times.
  const before = nearestInt64(from * DAY - 1n)
  const calculated = (await reader.run(readPaymentSpans(marketId, before))).map((row) => cellsOf(SPANS, row))
  await compareTables(SPANS, spans, inOneChunk(calculated), IN_PAYMENTS, SPANS_RULES, problems)
  return rows
}

/** The sums that follow from the payments of a market, a day at a time. */
async function* sumsOf({ reader, signal }: Checking, marketId: string): AsyncGenerator<TextCell[][]> {
  for (const day of await reader.run(readDaysOf(marketId))) {
    signal?.throwIfAborted()
    yield (await reader.run(readSumRows(day))).map((row) => cellsOf(SUMS, row))
  }
}

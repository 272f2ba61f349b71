import { readIntervals } from '#core/store/queries/auction-intervals'
import { rowsUnder } from '#core/store/schema/ranges'
import { type TextCell, tableOf } from '#core/store/schema/tables'
import { walkTable } from '#core/store/walk-table'
import { cellsOf, compareTables, inOneChunk, tableRules } from './compare-tables.ts'
import type { Checking } from './problems.ts'

const INTERVALS = tableOf('auction_intervals')
const RULES = tableRules(INTERVALS)

/**
 * Compares the auctions of a market with those that follow from its events. Uses the memory of the market's auctions.
 *
 * @returns the number of the market's rows
 */
export async function checkAuctions(
  { reader, problems, signal }: Checking,
  marketId: string,
): Promise<number> {
  const calculated = (await reader.run(readIntervals(marketId))).map((row) => cellsOf(INTERVALS, row))
  const stored: TextCell[][] = []
  for await (const chunk of walkTable(reader, INTERVALS, rowsUnder(marketId), signal)) stored.push(...chunk)
  const where = 'in a calculation from its events'
  await compareTables(INTERVALS, inOneChunk(stored), inOneChunk(calculated), where, RULES, problems)
  return stored.length
}

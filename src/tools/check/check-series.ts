import { without } from '#core/domain/height-ranges'
import { MIN_INT64 } from '#core/domain/integers'
import { indexAt } from '#core/domain/series'
import { BASE, bucketRanges, LEVELS, type Level } from '#core/domain/series-levels'
import { SOURCE_NUMBERS } from '#core/resources/funding-period-data-points/description'
import { type BucketRow, readRangeBuckets } from '#core/store/charts/range-buckets'
import { type BuiltSeries, readBuiltSeries } from '#core/store/queries/series/built-series'
import type { MarketSeries } from '#core/store/queries/series/counted-points'
import { rowsUnder } from '#core/store/schema/ranges'
import { type TextCell, tableOf } from '#core/store/schema/tables'
import { walkTable } from '#core/store/walk-table'
import { compareTables, describeRow, inOneChunk, tableRules } from './compare-tables.ts'
import type { Checking } from './problems.ts'

const SERIES = tableOf('funding_period_series')
const RULES = tableRules(SERIES)

/**
 * Compares the buckets of a market's series with those built from its points and from the shorter buckets. Before the built
 * end every bucket that is not stale must exist once, and after it none. Uses the memory of a few thousand rows.
 *
 * @returns the number of the market's rows
 */
export async function checkSeries(checking: Checking, market: TextCell): Promise<number> {
  let rows = 0
  for (const source of SOURCE_NUMBERS) {
    const series = { market: BigInt(market!), source }
    const built = await checking.reader.run(readBuiltSeries(series))
    for (const level of LEVELS) rows += await checkLevel(checking, series, level, built)
  }
  return rows
}

async function checkLevel(
  { reader, problems, signal }: Checking,
  series: MarketSeries,
  level: Level,
  built: BuiltSeries,
): Promise<number> {
  const key = [String(series.market), String(series.source), String(level.seconds)]
  const to = indexAt(built.to, level.seconds / BASE.seconds)
  const stale = bucketRanges(level, built.stale).map(({ from, to }) => ({ from, to: to - 1n }))
  const inOthers = level === BASE ? 'in a calculation from its points' : 'in a calculation from shorter ones'
  let rows = 0
  let from = indexAt(MIN_INT64, level.nanoseconds)
  const compare = async (end: bigint, stored: readonly TextCell[][]) => {
    for (const part of without([{ from, to: end - 1n }], stale)) {
      const range = { from: part.from, to: part.to + 1n }
      const buckets = await reader.run(readRangeBuckets(series, level, range))
      const calculated = buckets.map(bucketCells)
      const storedPart = stored.filter((row) => bucketStart(row) >= part.from && bucketStart(row) <= part.to)
      await compareTables(SERIES, inOneChunk(storedPart), inOneChunk(calculated), inOthers, RULES, problems)
    }
    if (end > from) from = end
  }
  for await (const chunk of walkTable(reader, SERIES, rowsUnder(...key), signal)) {
    rows += chunk.length
    for (const row of chunk)
      if (bucketStart(row) >= to) problems.add(describeRow(SERIES, row), 'it is not made yet')
    const last = chunk.at(-1)
    if (last !== undefined) await compare(bucketStart(last) < to ? bucketStart(last) + 1n : to, chunk)
  }
  await compare(to, [])
  return rows
}

const bucketStart = (row: readonly TextCell[]) => BigInt(row[3]!)

const bucketCells = (row: BucketRow): TextCell[] =>
  Object.values(row).map((cell) => (cell === null ? null : String(cell)))

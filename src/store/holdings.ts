import type { Row } from '../resources/resource.ts'
import { coverageOf } from './coverage-rows.ts'
import type { Statement } from './page-statement.ts'
import { IS_LIVE_PROVIDER } from './statements.ts'
import type { GapSummary, Holdings, HoldingsQuery, PrunedBefore } from './store.ts'

/** More than any list has. */
const NO_LIMIT = 9_223_372_036_854_775_807n

/** What is read of gaps and markets: one more of each than is asked for, which tells that there are more. */
export function holdingsStatements({ marketId, fromHeight, afterMarket, limit }: HoldingsQuery): {
  gaps: Statement
  points: Statement
  providers: Statement
} {
  const most = limit === null ? NO_LIMIT : BigInt(limit) + 1n
  const markets =
    marketId === null
      ? { where: 'market_id > $1', values: [afterMarket ?? '', afterMarket === null ? 0n : most] }
      : { where: 'market_id = $1', values: [marketId, afterMarket === null ? 0n : most] }
  return {
    gaps: lowestGaps(fromHeight ?? 0n, fromHeight === null ? 0n : most),
    // How many data points, the first time and the last.
    points: {
      text: `
        select market_id, cast(sum(points) as text), cast(min(first_timestamp) as text),
          cast(max(last_timestamp) as text)
        from (
          select market, market_id from markets
          where ${markets.where}
            and exists (select 1 from funding_period_spans where funding_period_spans.market = markets.market)
          order by market_id limit $2
        ) as held join funding_period_spans on funding_period_spans.market = held.market
        group by market_id order by market_id`,
      values: markets.values,
    },
    // How many providers, and the block of the market's latest list.
    providers: {
      text: `
        select market_id, cast((
            select count(*) from liquidity_providers
            where liquidity_providers.market_id = lists.market_id and ${IS_LIVE_PROVIDER}
          ) as text), cast(height as text)
        from (
          select market_id, height from liquidity_provider_lists
          where ${markets.where} order by market_id limit $2
        ) as lists
        order by market_id`,
      values: markets.values,
    },
  }
}

/** Reads gaps that begin at a height or above it. With the table's name in `order by`, as in READ_GAPS. */
export function lowestGaps(fromHeight: bigint, most: bigint): Statement {
  return {
    text: `
      select cast(from_height as text), cast(to_height as text), kind from gaps
      where from_height >= $1 order by gaps.from_height limit $2`,
    values: [fromHeight, most],
  }
}

/** What the rows of READ_STREAM, COUNT_CURRENT_GAPS and READ_CURRENT_GAPS say; null where there is none of the first. */
export function gapSummaryOf(stream: Row | null, count: Row, first: readonly Row[]): GapSummary | null {
  const coverage = coverageOf(stream, first)
  if (coverage === null) return null
  return { count: Number(count[0]), first: [...coverage.gaps], timestamp: coverage.timestamp }
}

/** The rows that the statements on holdings have given. */
export type HoldingsRows = {
  stream: Row | null
  gaps: readonly Row[]
  checkpoints: readonly Row[]
  points: readonly Row[]
  providers: readonly Row[]
  pruned: readonly Row[]
}

/** Puts together what the statements on holdings have given; null in an empty store. */
export function holdingsOf(query: HoldingsQuery, rows: HoldingsRows): Holdings | null {
  const limit = query.limit ?? Number.POSITIVE_INFINITY
  const coverage = coverageOf(rows.stream, rows.gaps.slice(0, limit))
  if (coverage === null) return null
  const [count, firstTimestamp, lastTimestamp] = rows.checkpoints[0] as [string, string | null, string | null]
  const afterMarket = lastMarket([rows.points, rows.providers], limit)
  const fromHeight = rows.gaps.length > limit ? coverage.gaps.at(-1)!.to + 1n : null
  const isTold = ([marketId]: Row) => afterMarket === null || (marketId as string) <= afterMarket
  return {
    coverage,
    next: afterMarket === null && fromHeight === null ? null : { fromHeight, afterMarket },
    checkpoints: { count, firstTimestamp, lastTimestamp },
    fundingPeriodDataPoints: (rows.points.filter(isTold) as string[][]).map(
      ([marketId, points, first, last]) => ({
        marketId: marketId!,
        count: points!,
        firstTimestamp: first!,
        lastTimestamp: last!,
      }),
    ),
    liquidityProviders: (rows.providers.filter(isTold) as string[][]).map(
      ([marketId, providers, atBlock]) => ({
        marketId: marketId!,
        count: providers!,
        atBlock: atBlock!,
      }),
    ),
    prunedBefore: prunedBeforeOf(rows.pruned[0]),
  }
}

/** The last market up to which every list is told, where one of them goes on; null where none does. */
function lastMarket(lists: readonly (readonly Row[])[], limit: number): string | null {
  const ends = lists.filter((list) => list.length > limit).map((list) => list[limit - 1]![0] as string)
  return ends.length === 0 ? null : ends.reduce((least, end) => (end < least ? end : least))
}

/** How far old rows have been taken out, from the row that says so; null where there is none. */
export function prunedBeforeOf(row: Row | undefined): PrunedBefore | null {
  if (row === undefined) return null
  const [timestamp, height] = row as [string | null, string | null]
  return { timestamp, height }
}

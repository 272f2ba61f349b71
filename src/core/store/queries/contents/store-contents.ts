import { least, MAX_INT64 } from '../../../domain/integers.ts'
import type { Row } from '../../../model/resource.ts'
import type { Query, Statement } from '../../queries-protocol.ts'
import { textOf } from '../../statements.ts'
import { type CoverageWithoutStart, coverageOf, GAP_COLUMNS, READ_SINCE, READ_STREAM } from '../coverage.ts'
import { type PrunedBefore, readPrunedBefore } from '../pruned.ts'
import { countResources, type RequestedMarkets, type ResourceCounts } from './resource-counts.ts'

/** The requested part of a store's counts: gaps by height and rows by market, each from a start on. */
export type ContentsQuery = {
  /** Only rows of this market; null for all markets. */
  marketId: string | null
  /** Only gaps that begin at this height or above it; null for no gaps. */
  fromHeight: bigint | null
  /** Only markets whose id is greater than this; null for no markets. */
  afterMarket: string | null
  /** Maximum number of gaps, and of markets in each list; null for all. */
  limit: number | null
}

/** Everything in a store. */
export const ALL_CONTENTS: ContentsQuery = { marketId: null, fromHeight: 0n, afterMarket: '', limit: null }

/** Counts and ranges of a store's rows; numbers are text. */
export type StoreContents = ResourceCounts & {
  /** Only with the requested gaps. */
  coverage: CoverageWithoutStart
  /** Start of the remaining gaps and markets; null if there are none. */
  next: Pick<ContentsQuery, 'fromHeight' | 'afterMarket'> | null
  /** Null if nothing has been pruned. */
  prunedBefore: PrunedBefore | null
}

/**
 * Counts rows by resource and market; null if the store is empty. It reads one gap, imported range and market more than
 * requested, to detect whether there are more.
 */
export function* readStoreContents(query = ALL_CONTENTS): Query<StoreContents | null> {
  const { marketId, limit } = query
  const markets: RequestedMarkets = {
    where: marketId === null ? 'market_id > $1' : 'market_id = $1',
    values: [marketId ?? query.afterMarket ?? '', mostRead(query.afterMarket, limit)],
  }
  const ranges = { from: query.fromHeight ?? 0n, most: mostRead(query.fromHeight, limit) }
  const [stream] = yield { text: READ_STREAM }
  const gaps = yield lowestRanges('gaps', ranges)
  const imported = yield lowestRanges('imported', ranges)
  const since = yield { text: READ_SINCE }
  const prunedBefore = yield* readPrunedBefore()
  const counted = yield* countResources(markets)
  if (stream === undefined) return null

  // Gaps and imported ranges do not overlap: where one list is cut, no range of the other reaches beyond.
  const fromHeight = endOfLists([gaps, imported], limit, ([, to]) => BigInt(to!) + 1n)
  const isShownRange = ([from]: Row) => fromHeight === null || BigInt(from!) < fromHeight
  const coverage = coverageOf(stream, gaps.filter(isShownRange), since, imported.filter(isShownRange))
  const byMarket = counted.filter(({ isByMarket }) => isByMarket).map(({ rows }) => rows)
  const afterMarket = endOfLists(byMarket, limit, ([market]) => String(market))
  const isShown = ([market]: Row) => afterMarket === null || (market as string) <= afterMarket
  const counts = counted.map(({ name, fields, isByMarket, rows }) => {
    const named = (row: Row) => Object.fromEntries(fields.map((field, at) => [field, row[at]]))
    return [name, isByMarket ? rows.filter(isShown).map(named) : named(rows[0]!)]
  })
  return {
    coverage,
    next: afterMarket === null && fromHeight === null ? null : { fromHeight, afterMarket },
    ...(Object.fromEntries(counts) as ResourceCounts),
    prunedBefore,
  }
}

/** How many rows of a list are read: none if it is not requested, because its start is null. */
function mostRead(start: bigint | string | null, limit: number | null): bigint {
  if (start === null) return 0n
  return limit === null ? MAX_INT64 : BigInt(limit) + 1n
}

/** The statement that reads the first ranges that begin at a height or above it. */
function lowestRanges(table: 'gaps' | 'imported', { from, most }: { from: bigint; most: bigint }): Statement {
  return {
    text: `
      select ${textOf('from_height')}, ${table === 'gaps' ? GAP_COLUMNS : 'cast(to_height as text), lacks'} from ${table}
      where from_height >= $1 order by from_height limit $2`,
    values: [from, most],
  }
}

/** The end up to which every list is complete; null if none is cut. `endOf` returns the end of a row. */
function endOfLists<End extends bigint | string>(
  lists: readonly (readonly Row[])[],
  limit: number | null,
  endOf: (row: Row) => End,
): End | null {
  if (limit === null) return null
  const cut = lists.filter((list) => list.length > limit)
  return cut.length === 0 ? null : least(cut.map((list) => endOf(list[limit - 1]!)))
}

import type { Coverage } from '../../domain/coverage.ts'
import { least, MAX_INT64 } from '../../domain/integers.ts'
import type { Resource, Row } from '../../model/resource.ts'
import { liquidityProviders } from '../../resources/liquidity-providers/description.ts'
import { RESOURCES } from '../../resources/resources.ts'
import { fromClause } from '../pages/scan-sql.ts'
import type { Query, Statement } from '../queries-protocol.ts'
import { textOf } from '../statements.ts'
import { coverageOf, GAP_COLUMNS, READ_SINCE, READ_STREAM } from './coverage.ts'

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

/** The number of a market's rows, and the times of the first and the last one. */
type MarketCount = { marketId: string; count: string; firstTimestamp: string; lastTimestamp: string }

/** The number of rows of each resource, and for these resources more; numbers are text. */
type ResourceCounts = {
  /** Times are those of the blocks with the checkpoints. */
  checkpoints: { count: string; firstTimestamp: string | null; lastTimestamp: string | null }
  fundingPeriodDataPoints: MarketCount[]
  /** Times are the starts of periods. */
  fundingPeriods: MarketCount[]
  instruments: { count: string }
  /** `atBlock` is the block of the market's latest list. */
  liquidityProviders: { marketId: string; count: string; atBlock: string }[]
}

/** Counts and ranges of a store's rows; numbers are text. */
export type StoreContents = ResourceCounts & {
  /** Only with the requested gaps. */
  coverage: Coverage
  /** Start of the remaining gaps and markets; null if there are none. */
  next: Pick<ContentsQuery, 'fromHeight' | 'afterMarket'> | null
  /** Null if nothing has been pruned. */
  prunedBefore: PrunedBefore | null
}

/**
 * How far rows have been pruned: those with earlier times (Unix nanoseconds), and lower heights; null if never by that.
 * Older rows may have arrived since, with a filled gap.
 */
export type PrunedBefore = { timestamp: string | null; height: string | null }

/** The statement that counts a resource's rows. */
type CountStatement = {
  statement: Statement
  /** The names of its columns. */
  fields: readonly string[]
  /** Whether it returns a row for each market, whose id is then the first column; else it returns one row. */
  isByMarket: boolean
}

/** The requested markets: a condition on their ids, and their maximum number. */
type RequestedMarkets = { where: string; values: [from: string, most: bigint] }

const TIMES_BY_MARKET = {
  fields: ['marketId', 'count', 'firstTimestamp', 'lastTimestamp'],
  isByMarket: true,
} as const

/**
 * The statement that counts a resource's rows, in the form of its description.
 *
 * @throws {TypeError} for a form that its table cannot give.
 */
function countStatement(resource: Resource, { where, values }: RequestedMarkets): CountStatement {
  const { coverage, storage, key } = resource
  const { table, span } = storage
  switch (coverage) {
    case 'count':
      return {
        fields: ['count'],
        isByMarket: false,
        statement: { text: `select cast(count(*) as text) from ${fromClause(resource)}`, values: [] },
      }
    case 'count and block times':
      return {
        fields: ['count', 'firstTimestamp', 'lastTimestamp'],
        isByMarket: false,
        statement: {
          text: `select cast(count(*) as text), cast(min(block_timestamp) as text), cast(max(block_timestamp) as text)
          from ${table}`,
          values: [],
        },
      }
    case 'times by market':
      if (storage.marketColumn === 'market_id') {
        const time = key[0]!.column
        const text = `
            select market_id, cast(count(*) as text), cast(min(${time}) as text), cast(max(${time}) as text)
            from ${table} where ${where} group by market_id order by market_id limit $2`
        return { ...TIMES_BY_MARKET, statement: { text, values } }
      }
      if (span === undefined)
        throw new TypeError(
          `${resource.name}: no table says the times of a market's rows: name the market by its id, or keep spans`,
        )
      return {
        ...TIMES_BY_MARKET,
        statement: {
          text: `
          select market_id, cast(sum(points) as text), cast(min(first_timestamp) as text),
            cast(max(last_timestamp) as text)
          from markets join ${span.table} on ${span.table}.market = markets.market
          where ${where} and market_id <= $3 group by market_id order by market_id limit $2`,
          values,
        },
      }
    case 'blocks by market':
      if (table !== liquidityProviders.storage.table) throw new TypeError(`${resource.name}: it has no lists`)
      return {
        fields: ['marketId', 'count', 'atBlock'],
        isByMarket: true,
        statement: {
          text: `
          select market_id, cast((
              select count(*) from liquidity_providers
              where liquidity_providers.market_id = lists.market_id and ${storage.condition}
            ) as text), cast(height as text)
          from liquidity_provider_lists as lists where ${where} order by market_id limit $2`,
          values,
        },
      }
    default:
      return coverage satisfies never
  }
}

// A description that cannot be counted fails when the program starts.
for (const resource of RESOURCES) countStatement(resource, { where: 'true', values: ['', 0n] })

/** The rows of a resource's {@link CountStatement}. */
type CountedResource = Pick<CountStatement, 'fields' | 'isByMarket'> & { name: string; rows: Row[] }

/** Reads the first ranges that begin at a height or above it. */
function lowestRanges(table: 'gaps' | 'imported', fromHeight: bigint, most: bigint): Statement {
  return {
    text: `
      select ${textOf('from_height')}, ${table === 'gaps' ? GAP_COLUMNS : 'cast(to_height as text), lacks'} from ${table}
      where from_height >= $1 order by from_height limit $2`,
    values: [fromHeight, most],
  }
}

/**
 * Counts rows by resource and market; null if the store is empty. It reads one gap, imported range and market more than
 * requested, to detect whether there are more.
 */
export function* readStoreContents(query = ALL_CONTENTS): Query<StoreContents | null> {
  const { marketId, limit } = query
  const most = (from: unknown) => (from === null ? 0n : limit === null ? MAX_INT64 : BigInt(limit) + 1n)
  const markets: RequestedMarkets = {
    where: marketId === null ? 'market_id > $1' : 'market_id = $1',
    values: [marketId ?? query.afterMarket ?? '', most(query.afterMarket)],
  }
  const ranges = [query.fromHeight ?? 0n, most(query.fromHeight)] as const
  const [stream = null] = yield { text: READ_STREAM }
  const gaps = yield lowestRanges('gaps', ...ranges)
  const imported = yield lowestRanges('imported', ...ranges)
  const since = yield { text: READ_SINCE }
  const prunedBefore = yield* readPrunedBefore()
  const counted: CountedResource[] = []
  for (const resource of RESOURCES) {
    const { statement, fields, isByMarket } = countStatement(resource, markets)
    const isSummed = resource.storage.marketColumn === 'market'
    const rows = isSummed ? yield* sumSpans(statement, markets) : yield statement
    counted.push({ name: resource.name, fields, isByMarket, rows })
  }

  // Gaps and imported ranges do not overlap: where one list is cut, no range of the other reaches beyond.
  const fromHeight = endOfLists([gaps, imported], limit, ([, to]) => BigInt(to!) + 1n)
  const isShownRange = ([from]: Row) => fromHeight === null || BigInt(from!) < fromHeight
  const coverage = coverageOf(stream, gaps.filter(isShownRange), since, imported.filter(isShownRange))
  if (coverage === null) return null
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

/**
 * Sums spans, for as many markets at a time as are requested. Some of these may have no spans. This reads no more markets
 * than are shown, and on a cluster each machine sums its own.
 */
function* sumSpans({ text }: Statement, { where, values }: RequestedMarkets): Query<Row[]> {
  const rows: Row[] = []
  let [from] = values
  const [, most] = values
  for (;;) {
    const left = most - BigInt(rows.length)
    const markets = yield {
      text: `select market_id from markets where ${where} order by market_id limit $2`,
      values: [from, left],
    }
    if (markets.length === 0) return rows
    const last = String(markets.at(-1)![0])
    rows.push(...(yield { text, values: [from, left, last] }))
    if (BigInt(markets.length) < left || BigInt(rows.length) === most) return rows
    from = last
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

/** How far rows have been pruned; null if never. */
export function* readPrunedBefore(): Query<PrunedBefore | null> {
  const [row] = yield {
    text: 'select cast(before_timestamp as text), cast(before_height as text) from pruned',
  }
  if (row === undefined) return null
  const [timestamp, height] = row as [string | null, string | null]
  return { timestamp, height }
}

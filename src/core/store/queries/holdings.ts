import type { Coverage } from '../../domain/coverage.ts'
import { least, MAX_INT64 } from '../../domain/integers.ts'
import type { Resource, Row } from '../../model/resource.ts'
import { liquidityProviders } from '../../resources/liquidity-providers/description.ts'
import { RESOURCES } from '../../resources/resources.ts'
import type { Query } from '../pages/page.ts'
import { fromClause } from '../pages/scan-sql.ts'
import type { Statement } from '../pages/statement.ts'
import { textOf } from '../statements.ts'
import { coverageOf, GAP_COLUMNS, READ_SINCE, READ_STREAM } from './coverage.ts'

/** The part of the holdings that is requested: gaps by height and rows by market, each from a start on. */
export type HoldingsQuery = {
  /** Rows of this market alone; null: of all. */
  marketId: string | null
  /** Gaps that begin at this height or above it; null: none. */
  fromHeight: bigint | null
  /** Markets whose id is greater than this; null: none. */
  afterMarket: string | null
  /** Gaps at most, and markets at most in each list; null: all. */
  limit: number | null
}

/** Everything that a store holds. */
export const ALL_HOLDINGS: HoldingsQuery = { marketId: null, fromHeight: 0n, afterMarket: '', limit: null }

/** How many rows of a market there are, and the times of the first and the last. */
type HeldOfMarket = { marketId: string; count: string; firstTimestamp: string; lastTimestamp: string }

/** How much there is of each resource; numbers are text. Of those that are not named here, how many rows. */
type HeldRows = {
  /** Times are those of the blocks that they came in. */
  checkpoints: { count: string; firstTimestamp: string | null; lastTimestamp: string | null }
  fundingPeriodDataPoints: HeldOfMarket[]
  /** Times are those at which periods began. */
  fundingPeriods: HeldOfMarket[]
  instruments: { count: string }
  /** `atBlock` is the block of the market's latest list. */
  liquidityProviders: { marketId: string; count: string; atBlock: string }[]
}

/** Counts and ranges of a store's rows; numbers are text. */
export type Holdings = HeldRows & {
  /** With the gaps that were asked for. */
  coverage: Coverage
  /** Start of the remaining gaps and markets; null if there are none. */
  next: Pick<HoldingsQuery, 'fromHeight' | 'afterMarket'> | null
  /** Null if nothing has been pruned. */
  prunedBefore: PrunedBefore | null
}

/**
 * Limit of pruning: earlier times (Unix nanoseconds), lower heights; null if never pruned that way. Older rows may have
 * arrived since, with a filled gap.
 */
export type PrunedBefore = { timestamp: string | null; height: string | null }

/** How much there is of a resource, as a statement says it. */
type HoldingStatement = Statement & {
  /** The fields of a row; the first is the market if there is a row for each. */
  fields: readonly string[]
}

/** Which markets' rows: by the condition on their ids, and how many at most. */
type MarketsAsked = { where: string; values: [from: string, most: bigint] }

/**
 * The statement that counts a resource's rows, in the form given by its description.
 *
 * @throws {TypeError} for a form that its table cannot give.
 */
function statementOf(resource: Resource, { where, values }: MarketsAsked): HoldingStatement {
  const { coverage, storage, key } = resource
  const { table, span } = storage
  const times = { fields: ['marketId', 'count', 'firstTimestamp', 'lastTimestamp'], values }
  switch (coverage) {
    case 'count':
      return {
        fields: ['count'],
        values: [],
        text: `select cast(count(*) as text) from ${fromClause(resource)}`,
      }
    case 'count and block times':
      return {
        fields: ['count', 'firstTimestamp', 'lastTimestamp'],
        values: [],
        text: `select cast(count(*) as text), cast(min(block_timestamp) as text), cast(max(block_timestamp) as text)
          from ${table}`,
      }
    case 'times by market':
      if (storage.scopeBy === 'id') {
        const time = key[0]!.column
        return {
          ...times,
          text: `
            select market_id, cast(count(*) as text), cast(min(${time}) as text), cast(max(${time}) as text)
            from ${table} where ${where} group by market_id order by market_id limit $2`,
        }
      }
      if (span === undefined)
        throw new TypeError(
          `${resource.name}: no table says the times of a market's rows: name the market by its id, or keep spans`,
        )
      return {
        ...times,
        text: `
          select market_id, cast(sum(points) as text), cast(min(first_timestamp) as text),
            cast(max(last_timestamp) as text)
          from markets join ${span.table} on ${span.table}.market = markets.market
          where ${where} and market_id <= $3 group by market_id order by market_id limit $2`,
      }
    case 'blocks by market':
      if (table !== liquidityProviders.storage.table) throw new TypeError(`${resource.name}: it has no lists`)
      return {
        fields: ['marketId', 'count', 'atBlock'],
        text: `
          select market_id, cast((
              select count(*) from liquidity_providers
              where liquidity_providers.market_id = lists.market_id and ${storage.condition}
            ) as text), cast(height as text)
          from liquidity_provider_lists as lists where ${where} order by market_id limit $2`,
        values,
      }
    default:
      return coverage satisfies never
  }
}

// A description that cannot be answered fails at the start.
for (const resource of RESOURCES) statementOf(resource, { where: 'true', values: ['', 0n] })

/** Reads ranges that begin at a height or above it. */
function lowestRanges(table: 'gaps' | 'imported', fromHeight: bigint, most: bigint): Statement {
  return {
    text: `
      select ${textOf('from_height')}, ${table === 'gaps' ? GAP_COLUMNS : 'cast(to_height as text), lacks'} from ${table}
      where from_height >= $1 order by from_height limit $2`,
    values: [fromHeight, most],
  }
}

/**
 * Counts rows by resource and market; null if the store is empty. Reads one more gap, imported range and market than
 * requested, to detect whether there are more.
 */
export function* readHoldings(query = ALL_HOLDINGS): Query<Holdings | null> {
  const { marketId, limit } = query
  const most = (from: unknown) => (from === null ? 0n : limit === null ? MAX_INT64 : BigInt(limit) + 1n)
  const asked: MarketsAsked = {
    where: marketId === null ? 'market_id > $1' : 'market_id = $1',
    values: [marketId ?? query.afterMarket ?? '', most(query.afterMarket)],
  }
  const ranges = [query.fromHeight ?? 0n, most(query.fromHeight)] as const
  const [stream = null] = yield { text: READ_STREAM }
  const gaps = yield lowestRanges('gaps', ...ranges)
  const imported = yield lowestRanges('imported', ...ranges)
  const since = yield { text: READ_SINCE }
  const prunedBefore = yield* readPrunedBefore()
  const resources: { name: string; fields: readonly string[]; isByMarket: boolean; rows: Row[] }[] = []
  for (const resource of RESOURCES) {
    const { fields, ...statement } = statementOf(resource, asked)
    const isByMarket = fields[0] === 'marketId'
    const rows = resource.storage.scopeBy === 'number' ? yield* sumSpans(statement, asked) : yield statement
    resources.push({ name: resource.name, fields, isByMarket, rows })
  }

  // Gaps and imported ranges lie apart: if a list is cut, none of the other's reaches across.
  const fromHeight = endOfLists([gaps, imported], limit, ([, to]) => BigInt(to!) + 1n)
  const isShownRange = ([from]: Row) => fromHeight === null || BigInt(from!) < fromHeight
  const coverage = coverageOf(stream, gaps.filter(isShownRange), since, imported.filter(isShownRange))
  if (coverage === null) return null
  const byMarket = resources.filter(({ isByMarket }) => isByMarket).map(({ rows }) => rows)
  const afterMarket = endOfLists(byMarket, limit, ([market]) => String(market))
  const isShown = ([market]: Row) => afterMarket === null || (market as string) <= afterMarket
  const held = resources.map(({ name, fields, isByMarket, rows }) => {
    const named = (row: Row) => Object.fromEntries(fields.map((field, at) => [field, row[at]]))
    return [name, isByMarket ? rows.filter(isShown).map(named) : named(rows[0]!)]
  })
  return {
    coverage,
    next: afterMarket === null && fromHeight === null ? null : { fromHeight, afterMarket },
    ...(Object.fromEntries(held) as HeldRows),
    prunedBefore,
  }
}

/**
 * Sums up spans of as many markets as are asked for at a time, of which some may have none: of no more than are shown,
 * and each machine of a cluster those of its own.
 */
function* sumSpans({ text }: Statement, { where, values }: MarketsAsked): Query<Row[]> {
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

/** The end up to which every list is complete; null if none is cut. `endOf` says where a row ends. */
function endOfLists<End extends bigint | string>(
  lists: readonly (readonly Row[])[],
  limit: number | null,
  endOf: (row: Row) => End,
): End | null {
  if (limit === null) return null
  const cut = lists.filter((list) => list.length > limit)
  return cut.length === 0 ? null : least(cut.map((list) => endOf(list[limit - 1]!)))
}

/** How far old rows have been pruned; null if never. */
export function* readPrunedBefore(): Query<PrunedBefore | null> {
  const [row] = yield {
    text: 'select cast(before_timestamp as text), cast(before_height as text) from pruned',
  }
  if (row === undefined) return null
  const [timestamp, height] = row as [string | null, string | null]
  return { timestamp, height }
}

import type { Resource, Row } from '../../../model/resource.ts'
import { liquidityProviders } from '../../../resources/liquidity-providers/description.ts'
import { RESOURCES } from '../../../resources/resources.ts'
import { fromClause } from '../../pages/scan-sql.ts'
import type { Query, Statement } from '../../queries-protocol.ts'

/** The number of a market's rows, and the times of the first and the last one. */
type MarketCount = { marketId: string; count: string; firstTimestamp: string; lastTimestamp: string }

/** The number of rows of each resource, and for these resources more; numbers are text. */
export type ResourceCounts = {
  /** Times are those of the blocks with the checkpoints. */
  checkpoints: { count: string; firstTimestamp: string | null; lastTimestamp: string | null }
  fundingPeriodDataPoints: MarketCount[]
  /** Times are the starts of periods. */
  fundingPeriods: MarketCount[]
  instruments: { count: string }
  /** `atBlock` is the block of the market's latest list. */
  liquidityProviders: { marketId: string; count: string; atBlock: string }[]
}

/** A resource's rows, counted. */
type CountedResource = {
  name: string
  /** The names of the columns of `rows`. */
  fields: readonly string[]
  /** Whether there is a row for each market, whose id is then the first column; else there is one row. */
  isByMarket: boolean
  rows: Row[]
}

/** The requested markets: a condition on their ids, and their maximum number. */
export type RequestedMarkets = { where: string; values: [from: string, most: bigint] }

/** Counts the rows of every resource: if by market, those of the requested markets. */
export function* countResources(markets: RequestedMarkets): Query<CountedResource[]> {
  const counted: CountedResource[] = []
  for (const resource of RESOURCES) {
    const { statement, fields, isByMarket, isSummed = false } = countStatement(resource, markets)
    const rows = isSummed ? yield* sumSpans(statement, markets) : yield statement
    counted.push({ name: resource.name, fields, isByMarket, rows })
  }
  return counted
}

/** The statement that counts a resource's rows, and the form of its answer, as in {@link CountedResource}. */
type CountStatement = Pick<CountedResource, 'fields' | 'isByMarket'> & {
  statement: Statement
  /** Whether the statement is one of {@link sumSpans}, to which each of its calls adds the last market; false by default. */
  isSummed?: boolean
}

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
        isSummed: true,
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
    // There may be more markets than a call takes arguments.
    for (const row of yield { text, values: [from, left, last] }) rows.push(row)
    if (BigInt(markets.length) < left || BigInt(rows.length) === most) return rows
    from = last
  }
}

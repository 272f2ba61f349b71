import { SOURCES } from '../resources/funding-period-data-points.ts'
import { pointCursorSql } from '../resources/point-cursor.ts'
import type { FilterName, ResourceName } from '../resources/resource.ts'
import { IS_LIVE_PROVIDER } from './statements.ts'

/**
 * Where the rows of a resource are read, in SQL that both databases take. `:name` stands for a value of the
 * selection. Times and seqs come as text: they go beyond what a JavaScript number holds.
 */
export type PageTable = {
  from: string
  /** What a row holds, the key first (resources/resource.ts). */
  columns: string
  /** Always asked for. */
  condition?: string
  /** Asked for where the selection names the filter. */
  filters: Partial<Record<FilterName, string>>
  /**
   * The rows lie in several runs, each in the order of the key, told apart by one filter's column: the key
   * of the table has that column in front. A page of all of them is a merge of one page of each.
   */
  runs?: {
    filter: FilterName
    column: string
    columns: string
    values: readonly string[]
    edge: EdgeSql
  }
  /** Gives the first and the last value of the first key column among the rows of a filter, or no row. */
  span?: { filter: FilterName; statement: string }
}

/** How a row is written as an edge of the API's answer: what all rows begin and end with, and what is between. */
export type EdgeSql = {
  begin: string
  /** The end of an edge, a comma, and the beginning of the next. */
  between: string
  end: string
  /**
   * @param run the run that the row is of: its value, or the name of its column
   * @param hex 16 hex digits of a column, in the database's SQL
   */
  middle: (run: string, hex: (column: string) => string) => string
}

const MARKET = '(select market from markets where market_id = :marketId)'

export const PAGE_TABLES: Record<ResourceName, PageTable> = {
  checkpoints: {
    from: 'checkpoints',
    columns: 'cast(at_block as text), hash, block_hash',
    filters: {},
  },

  // Real markets have one external point to dozens or hundreds of internal ones. With the source in front of
  // the key, a page of one source reads that source's rows alone, and no second index is needed.
  fundingPeriodDataPoints: {
    from: 'funding_period_data_points',
    columns: 'cast(timestamp as text), cast(seq as text), source, price, twap',
    condition: `market = ${MARKET}`,
    filters: { seq: 'seq = :seq' },
    runs: {
      filter: 'source',
      column: 'source',
      columns: 'timestamp, seq, source, price, twap',
      values: ['0', '1', '2'],
      edge: {
        begin: 'cast(:edgeBegin as text)',
        between: 'cast(:edgeBetween as text)',
        end: "'\"}'",
        middle: middleOfPoint,
      },
    },
    // The points of a funding period stand close together: its span bounds how many others are read.
    span: {
      filter: 'seq',
      statement: `select cast(first_timestamp as text), cast(last_timestamp as text)
        from funding_period_spans where market = ${MARKET} and seq = :seq`,
    },
  },

  liquidityProviders: {
    from: 'liquidity_providers',
    columns: 'market_id, party_id, fee_share, sla',
    condition: IS_LIVE_PROVIDER,
    filters: { marketId: 'market_id = :marketId', partyId: 'party_id = :partyId' },
  },
}

/** What resources/funding-period-data-points.ts and cursor.ts write, in SQL: a third of the time for a page. */
function middleOfPoint(source: string, hex: (column: string) => string): string {
  const name = SOURCES[Number(source)]
  const type =
    name === undefined
      ? `'","dataPointType":"', case source ${SOURCES.map((text, n) => `when ${n} then '${text}'`).join(' ')} end, '","price":"'`
      : `'","dataPointType":"${name}","price":"'`
  return `concat(seq, ${type}, price, '","timestamp":"', timestamp, '","twap":"', twap,
    cast(:cursorBegin as text), ${pointCursorSql(source, hex('timestamp'))})`
}

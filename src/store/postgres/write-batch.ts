import type { Batch, LiquidityProviderList, StreamPlace } from '../../projections/batch.ts'
import { isNotOlder } from '../../projections/batch.ts'
import { liquidityProviderRows } from '../../projections/liquidity-providers.ts'
import { blockSpansOf } from '../block-spans.ts'
import {
  DELETE_AUCTIONS_AFTER,
  FIND_MARKET,
  notOlder,
  ON_CONFLICT_AUCTION,
  ON_CONFLICT_BLOCK_SPAN,
  ON_CONFLICT_CHECKPOINT,
  ON_CONFLICT_DATA_POINT,
  ON_CONFLICT_FUNDING_PERIOD,
  ON_CONFLICT_PROVISION,
  ON_CONFLICT_SPAN,
} from '../statements.ts'
import { type Queryable, rowsOf } from './connection.ts'

type Cell = string | number | bigint | boolean | null

/** Rows to insert at once: the target, its columns' types, and what happens to a row that is there. */
type BulkInsert = {
  table: string
  columns: Record<string, string>
  onConflict: string
  /** Columns by which the rows that were not there before are counted, and the counts returned. */
  counted?: string
}

const place = { height: 'bigint', event_index: 'integer' }

const CHECKPOINTS: BulkInsert = {
  table: 'checkpoints',
  columns: { at_block: 'bigint', hash: 'text', block_hash: 'text', block_timestamp: 'bigint', ...place },
  onConflict: ON_CONFLICT_CHECKPOINT,
}

const DATA_POINTS: BulkInsert = {
  table: 'funding_period_data_points',
  columns: {
    market: 'integer',
    source: 'smallint',
    timestamp: 'bigint',
    seq: 'bigint',
    price: 'text',
    twap: 'text',
    ...place,
  },
  onConflict: ON_CONFLICT_DATA_POINT,
  // A row that no transaction has ever locked or replaced is a new one.
  counted: 'market, seq',
}

const SPANS: BulkInsert = {
  table: 'funding_period_spans',
  columns: {
    market: 'integer',
    seq: 'bigint',
    first_timestamp: 'bigint',
    last_timestamp: 'bigint',
    points: 'bigint',
  },
  onConflict: ON_CONFLICT_SPAN,
}

const BLOCK_SPANS: BulkInsert = {
  table: 'funding_period_block_spans',
  columns: { market: 'integer', blocks: 'bigint', first_timestamp: 'bigint', last_timestamp: 'bigint' },
  onConflict: ON_CONFLICT_BLOCK_SPAN,
}

const FUNDING_PERIODS: BulkInsert = {
  table: 'funding_periods',
  columns: {
    market_id: 'text',
    seq: 'bigint',
    start_timestamp: 'bigint',
    end_timestamp: 'bigint',
    funding_payment: 'text',
    funding_rate: 'text',
    internal_twap: 'text',
    external_twap: 'text',
    ...place,
  },
  onConflict: ON_CONFLICT_FUNDING_PERIOD,
}

const AUCTIONS: BulkInsert = {
  table: 'auctions',
  columns: {
    market_id: 'text',
    ...place,
    opening_auction: 'boolean',
    leave: 'boolean',
    start_timestamp: 'bigint',
    end_timestamp: 'bigint',
  },
  onConflict: ON_CONFLICT_AUCTION,
}

const PROVISIONS: BulkInsert = {
  table: 'liquidity_provisions',
  columns: { provision_id: 'text', market_id: 'text', party_id: 'text', status: 'smallint', ...place },
  onConflict: ON_CONFLICT_PROVISION,
}

const PROVIDER_LISTS: BulkInsert = {
  table: 'liquidity_provider_lists',
  columns: { market_id: 'text', ...place },
  onConflict: `
    on conflict (market_id) do update set height = excluded.height, event_index = excluded.event_index
      ${notOlder('liquidity_provider_lists')}
    returning market_id`,
}

// Most of a market's list stays as it is from block to block: only what differs is written again.
const PROVIDERS: BulkInsert = {
  table: 'liquidity_providers',
  columns: { market_id: 'text', party_id: 'text', fee_share: 'text', sla: 'text' },
  onConflict: `
    on conflict (market_id, party_id) do update set fee_share = excluded.fee_share, sla = excluded.sla
      where (liquidity_providers.fee_share, liquidity_providers.sla)
        is distinct from (excluded.fee_share, excluded.sla)`,
}

const DELETE_OTHER_PROVIDERS = `
  delete from liquidity_providers
  where market_id = any ($1::text[])
    and not exists (
      select 1 from unnest($2::text[], $3::text[]) as kept (market_id, party_id)
      where kept.market_id = liquidity_providers.market_id and kept.party_id = liquidity_providers.party_id)`

const INSERT_MARKET = `
  insert into markets (market, market_id)
  values ((select coalesce(max(market), 0) + 1 from markets), $1) on conflict (market_id) do nothing`

/** Numbers of the markets seen; they never change. */
export type MarketNumbers = Map<string, number>

/** Writes a batch's rows within the caller's transaction: one statement for each table. */
export async function writeBatch(client: Queryable, batch: Batch, markets: MarketNumbers): Promise<void> {
  for (const { height, eventIndex } of batch.replaced) {
    await rowsOf(client, DELETE_AUCTIONS_AFTER, [height, BigInt(eventIndex)])
  }
  for (const { marketId } of batch.fundingPeriodDataPoints) {
    if (!markets.has(marketId)) markets.set(marketId, await marketNumber(client, marketId))
  }
  await insert(
    client,
    CHECKPOINTS,
    newest(batch.checkpoints, (row) => `${row.atBlock} ${row.hash}`).map((row) => [
      row.atBlock,
      row.hash,
      row.blockHash,
      row.blockTimestamp,
      row.height,
      row.eventIndex,
    ]),
  )
  const counts = await insert(
    client,
    DATA_POINTS,
    newest(
      batch.fundingPeriodDataPoints,
      (row) => `${row.marketId}${row.source} ${row.timestamp} ${row.seq}`,
    ).map((row) => [
      markets.get(row.marketId)!,
      row.source,
      row.timestamp,
      row.seq,
      row.price,
      row.twap,
      row.height,
      row.eventIndex,
    ]),
  )
  const inserted = new Map(counts.map(([market, seq, count]) => [`${market} ${seq}`, count as number]))
  await insert(
    client,
    SPANS,
    [...batch.fundingPeriodSpans.values()].map((span) => [
      markets.get(span.marketId)!,
      span.seq,
      span.first,
      span.last,
      inserted.get(`${markets.get(span.marketId)!} ${span.seq}`) ?? 0,
    ]),
  )
  await insert(
    client,
    BLOCK_SPANS,
    blockSpansOf(batch.fundingPeriodDataPoints).map((span) => [
      markets.get(span.marketId)!,
      span.blocks,
      span.first,
      span.last,
    ]),
  )
  await insert(
    client,
    FUNDING_PERIODS,
    newest(batch.fundingPeriods, (row) => `${row.marketId}${row.seq}`).map((row) => [
      row.marketId,
      row.seq,
      row.start,
      row.end,
      row.fundingPayment,
      row.fundingRate,
      row.internalTwap,
      row.externalTwap,
      row.height,
      row.eventIndex,
    ]),
  )
  await insert(
    client,
    AUCTIONS,
    batch.auctions.map((row) => [
      row.marketId,
      row.height,
      row.eventIndex,
      row.openingAuction,
      row.leave,
      row.start,
      row.end,
    ]),
  )
  await insert(
    client,
    PROVISIONS,
    [...batch.liquidityProvisions.values()].map((row) => [
      row.provisionId,
      row.marketId,
      row.partyId,
      row.status,
      row.height,
      row.eventIndex,
    ]),
  )
  await writeProviderLists(client, [...batch.liquidityProviderLists.values()])
}

async function writeProviderLists(client: Queryable, lists: readonly LiquidityProviderList[]): Promise<void> {
  const claimed = await insert(
    client,
    PROVIDER_LISTS,
    lists.map(({ event, height, eventIndex }) => [event.marketId, height, eventIndex]),
  )
  if (claimed.length === 0) return
  const marketIds = new Set(claimed.map(([marketId]) => marketId as string))
  const providers = lists
    .filter(({ event }) => marketIds.has(event.marketId))
    .flatMap(({ event }) =>
      liquidityProviderRows(event).map((row) => [event.marketId, row.partyId, row.feeShare, row.sla]),
    )
  await rowsOf(client, DELETE_OTHER_PROVIDERS, [
    [...marketIds],
    providers.map(([marketId]) => marketId!),
    providers.map(([, partyId]) => partyId!),
  ])
  await insert(client, PROVIDERS, providers)
}

/** Inserts rows, handed over as one array for each column; returns what the statement returns. */
async function insert(client: Queryable, target: BulkInsert, rows: readonly (readonly Cell[])[]) {
  if (rows.length === 0) return []
  const types = Object.values(target.columns)
  const statement = `
    insert into ${target.table} (${Object.keys(target.columns).join(', ')})
    select * from unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')})
    ${target.onConflict}`
  const text =
    target.counted === undefined
      ? statement
      : `with written as (${statement} returning ${target.counted}, xmax = 0 as is_new)
        select ${target.counted}, cast(count(*) as integer) from written where is_new group by ${target.counted}`
  const columns = types.map((_, index) => rows.map((row) => cellText(row[index]!)))
  return rowsOf(client, text, columns)
}

function cellText(cell: Cell): string | null {
  return cell === null ? null : String(cell)
}

/** One row for each key, the newest: a statement cannot write a row twice. */
function newest<Row extends StreamPlace>(rows: readonly Row[], keyOf: (row: Row) => string): Row[] {
  const byKey = new Map<string, Row>()
  for (const row of rows) {
    const key = keyOf(row)
    const known = byKey.get(key)
    if (known === undefined || isNotOlder(row, known)) byKey.set(key, row)
  }
  return [...byKey.values()]
}

async function marketNumber(client: Queryable, marketId: string): Promise<number> {
  await rowsOf(client, INSERT_MARKET, [marketId])
  const [row] = await rowsOf(client, FIND_MARKET, [marketId])
  return Number(row![0])
}

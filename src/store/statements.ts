/*
 * The statements that are the same text on every database. `$n` are positions; upserts write a row only where
 * the event it comes from is not older than the one that the stored row comes from.
 */

/** Statuses of a provision that is live: active, undeployed, pending (docs/events.md). */
const LIVE_STATUSES = '(1, 5, 6)'

/** Whether a row of `liquidity_providers` is of a party with a live provision on the market. */
export const IS_LIVE_PROVIDER = `exists (
  select 1 from liquidity_provisions
  where liquidity_provisions.market_id = liquidity_providers.market_id
    and liquidity_provisions.party_id = liquidity_providers.party_id
    and liquidity_provisions.status in ${LIVE_STATUSES})`

export const READ_POSITION = `
  select cast(height as text), cast(timestamp as text) from stream`

export const READ_STREAM = `
  select chain_id, cast(first_height as text), cast(began_height as text), block_one_hashes,
    cast(height as text), cast(timestamp as text)
  from stream`

/** With the table's name in `order by`: to PostgreSQL the bare one is the output column, a text. */
export const READ_GAPS = `
  select cast(from_height as text), cast(to_height as text), kind from gaps order by gaps.from_height`

/**
 * Gaps that keep a store from being current: below the height where it began somebody adds history. The lowest of
 * them, and how many there are.
 */
const FROM_THE_BEGINNING = 'where from_height >= (select began_height from stream)'
export const READ_CURRENT_GAPS = `
  select cast(from_height as text), cast(to_height as text), kind from gaps ${FROM_THE_BEGINNING}
  order by gaps.from_height limit $1`
export const COUNT_CURRENT_GAPS = `select cast(count(*) as text) from gaps ${FROM_THE_BEGINNING}`

export const READ_PRUNED = `
  select cast(before_timestamp as text), cast(before_height as text) from pruned`

export const WRITE_STREAM = `
  insert into stream (id, chain_id, first_height, began_height, block_one_hashes, height, timestamp)
  values (1, $1, $2, $3, $4, $5, $6)
  on conflict (id) do update
    set first_height = excluded.first_height, began_height = excluded.began_height,
      block_one_hashes = excluded.block_one_hashes, height = excluded.height, timestamp = excluded.timestamp`

/** Auctions are told apart by their places, which those of a block that is replaced have lost. */
export const DELETE_AUCTIONS_AFTER = 'delete from auctions where height = $1 and event_index > $2'

export const DELETE_GAPS = 'delete from gaps'

export const INSERT_GAP = 'insert into gaps (from_height, to_height, kind) values ($1, $2, $3)'

/** Lets an upsert write only where the event is not older than the stored row's. */
export const notOlder = (table: string) =>
  `where (excluded.height, excluded.event_index) >= (${table}.height, ${table}.event_index)`

export const ON_CONFLICT_CHECKPOINT = `
  on conflict (at_block, hash) do update
    set block_hash = excluded.block_hash, block_timestamp = excluded.block_timestamp,
      height = excluded.height, event_index = excluded.event_index
    ${notOlder('checkpoints')}`

export const ON_CONFLICT_DATA_POINT = `
  on conflict (market, source, timestamp, seq) do update
    set price = excluded.price, twap = excluded.twap,
      height = excluded.height, event_index = excluded.event_index
    ${notOlder('funding_period_data_points')}`

export const ON_CONFLICT_SPAN = `
  on conflict (market, seq) do update
    set first_timestamp = case when excluded.first_timestamp < funding_period_spans.first_timestamp
          then excluded.first_timestamp else funding_period_spans.first_timestamp end,
      last_timestamp = case when excluded.last_timestamp > funding_period_spans.last_timestamp
          then excluded.last_timestamp else funding_period_spans.last_timestamp end,
      points = funding_period_spans.points + excluded.points`

export const ON_CONFLICT_BLOCK_SPAN = `
  on conflict (market, blocks) do update
    set first_timestamp = case when excluded.first_timestamp < funding_period_block_spans.first_timestamp
          then excluded.first_timestamp else funding_period_block_spans.first_timestamp end,
      last_timestamp = case when excluded.last_timestamp > funding_period_block_spans.last_timestamp
          then excluded.last_timestamp else funding_period_block_spans.last_timestamp end`

export const ON_CONFLICT_FUNDING_PERIOD = `
  on conflict (market_id, seq) do update
    set start_timestamp = excluded.start_timestamp, end_timestamp = excluded.end_timestamp,
      funding_payment = excluded.funding_payment, funding_rate = excluded.funding_rate,
      internal_twap = excluded.internal_twap, external_twap = excluded.external_twap,
      height = excluded.height, event_index = excluded.event_index
    ${notOlder('funding_periods')}`

export const ON_CONFLICT_AUCTION = `
  on conflict (market_id, height, event_index) do update
    set opening_auction = excluded.opening_auction, leave = excluded.leave,
      start_timestamp = excluded.start_timestamp, end_timestamp = excluded.end_timestamp`

export const ON_CONFLICT_PROVISION = `
  on conflict (provision_id) do update
    set market_id = excluded.market_id, party_id = excluded.party_id, status = excluded.status,
      height = excluded.height, event_index = excluded.event_index
    ${notOlder('liquidity_provisions')}`

/** Returns a row where the market's list may be replaced. */
export const CLAIM_PROVIDER_LIST = `
  insert into liquidity_provider_lists (market_id, height, event_index) values ($1, $2, $3)
  on conflict (market_id) do update set height = excluded.height, event_index = excluded.event_index
    ${notOlder('liquidity_provider_lists')}
  returning market_id`

export const READ_PROVIDER_PARTIES = 'select party_id from liquidity_providers where market_id = $1'

export const DELETE_PROVIDER = 'delete from liquidity_providers where market_id = $1 and party_id = $2'

export const ON_CONFLICT_PROVIDER = `
  on conflict (market_id, party_id) do update set fee_share = excluded.fee_share, sla = excluded.sla`

export const FIND_MARKET = 'select market from markets where market_id = $1'

/** How many checkpoints there are, and the times of the blocks that the first and the last came in. */
export const READ_CHECKPOINT_HOLDINGS = `
  select cast(count(*) as text), cast(min(block_timestamp) as text),
    cast(max(block_timestamp) as text)
  from checkpoints`

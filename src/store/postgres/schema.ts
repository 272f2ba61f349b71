import type { Schema } from '../schema-version.ts'

/** The version whose step has the series of all points written anew. */
export const SERIES_VERSION = 7

/**
 * The schema of a store in PostgreSQL. The tables are those of SQLite (sqlite/schema.ts), with the same places in the
 * stream. Texts that are compared are `collate "C"`, so that both databases sort alike.
 *
 * Every unique key of the data points holds the market, and every query of them names it, so that they can be
 * distributed by it.
 */
export const SCHEMA: Schema = {
  oldest: 6,
  steps: [
    `
  create table stream (
    id smallint primary key check (id = 1),
    chain_id text not null,
    first_height bigint not null,
    height bigint not null,
    timestamp bigint not null,
    -- Blocks below the first height are added when they come: where the store began, and the hashes of block 1's parts,
    -- as a JSON list (null: not known).
    began_height bigint not null default 0,
    block_one_hashes text
  );

  create table gaps (
    from_height bigint primary key,
    to_height bigint not null,
    kind text not null check (kind in ('missing', 'incomplete'))
  );

  -- How far old rows have been taken out (store/pruning/prune-store.ts); no row: nothing has.
  create table pruned (
    id smallint primary key check (id = 1),
    before_timestamp bigint,
    before_height bigint
  );

  create table checkpoints (
    at_block bigint not null,
    hash text collate "C" not null,
    block_hash text not null,
    block_timestamp bigint not null,
    height bigint not null,
    event_index integer not null,
    primary key (at_block, hash)
  );
  create index checkpoints_by_height on checkpoints (height, event_index);

  create table markets (
    market integer primary key,
    market_id text collate "C" not null
  );
  create unique index markets_by_id on markets (market_id);

  create table funding_period_data_points (
    market integer not null,
    source smallint not null,
    seq bigint not null,
    timestamp bigint not null,
    height bigint not null,
    event_index integer not null,
    price text not null,
    twap text not null,
    -- Rows come in the order of the blocks, those of all markets mixed: a page read from the table itself would
    -- touch a block of the disk for each row. The index holds all that a page shows, in its order.
    primary key (market, source, timestamp, seq) include (price, twap)
  );

  create table funding_period_spans (
    market integer not null,
    seq bigint not null,
    first_timestamp bigint not null,
    last_timestamp bigint not null,
    points bigint not null,
    primary key (market, seq)
  );

  create table funding_periods (
    market_id text collate "C" not null,
    seq bigint not null,
    start_timestamp bigint not null,
    end_timestamp bigint,
    funding_payment text,
    funding_rate text,
    internal_twap text,
    external_twap text,
    height bigint not null,
    event_index integer not null,
    -- The event that a period's start is from, which is the earliest one's; all else is the latest one's.
    start_height bigint not null default 0,
    start_index integer not null default 0,
    primary key (market_id, seq)
  );
  create index funding_periods_by_start on funding_periods (market_id, start_timestamp, seq);
  create index funding_periods_by_place on funding_periods (market_id, height, event_index);

  create table auctions (
    market_id text collate "C" not null,
    height bigint not null,
    event_index integer not null,
    opening_auction boolean not null,
    leave boolean not null,
    start_timestamp bigint not null,
    end_timestamp bigint not null,
    primary key (market_id, height, event_index)
  );

  create table liquidity_provisions (
    provision_id text collate "C" primary key,
    market_id text collate "C" not null,
    party_id text collate "C" not null,
    status smallint not null,
    height bigint not null,
    event_index integer not null
  );
  create index liquidity_provisions_by_party on liquidity_provisions (market_id, party_id, status);

  create table liquidity_provider_lists (
    market_id text collate "C" primary key,
    height bigint not null,
    event_index integer not null
  );

  -- Rewritten with every block: room in each page lets a new version stand beside the old one, out of the index.
  create table liquidity_providers (
    market_id text collate "C" not null,
    party_id text collate "C" not null,
    fee_share text not null,
    sla text,
    -- Where the row last changed.
    height bigint not null default 0,
    event_index integer not null default 1,
    primary key (market_id, party_id)
  ) with (fillfactor = 50);
  create index liquidity_providers_by_party on liquidity_providers (party_id, market_id);

  -- Between which times the data points of each 64 blocks lie: how rows are found by the block that they came in
  -- (store/readings/arrivals.ts). An index on the height of each point would cost half as much as the points.
  create table funding_period_block_spans (
    market integer not null,
    blocks bigint not null,
    first_timestamp bigint not null,
    last_timestamp bigint not null,
    primary key (market, blocks)
  );

  -- What charts are made from (store/writing/write-series.ts): data points by stretches of time, each of a whole multiple of the
  -- shorter ones. Least and greatest are null where they are among first and last.
  create table funding_period_series (
    market bigint not null,
    source smallint not null,
    seconds integer not null,
    bucket bigint not null,
    points bigint not null,
    price_first text not null,
    price_last text not null,
    price_minimum text,
    price_maximum text,
    twap_first text not null,
    twap_last text not null,
    twap_minimum text,
    twap_maximum text,
    primary key (market, source, seconds, bucket)
  );

  -- Heights whose rows come from an import and not from events, both ends included: apart from each other, and never
  -- of blocks that are missing.
  create table imported (
    from_height bigint primary key,
    to_height bigint not null
  );

  -- As funding_period_block_spans, of imported points: they go with the last imported height of their 64 blocks.
  create table funding_period_imported_spans (
    market integer not null,
    source smallint not null,
    blocks bigint not null,
    first_timestamp bigint not null,
    last_timestamp bigint not null,
    primary key (market, source, blocks)
  );

  create table instruments (
    market_id text collate "C" primary key,
    code text not null,
    name text not null,
    product integer not null,
    quote_name text not null,
    decimal_places bigint not null,
    position_decimal_places bigint not null,
    state integer not null,
    trading_mode integer not null,
    settlement_asset text collate "C",
    interest_rate text,
    clamp_lower_bound text,
    clamp_upper_bound text,
    scaling_factor text,
    rate_lower_bound text,
    rate_upper_bound text,
    height bigint not null,
    event_index integer not null
  );

  create table assets (
    asset_id text collate "C" primary key,
    name text not null,
    symbol text not null,
    decimals bigint not null,
    status integer not null,
    height bigint not null,
    event_index integer not null
  );

  -- From which height on a resource is kept, and from which on it is missing below that: of blocks ingested by versions
  -- that did not know it. A row for each run of such blocks; none where all that are held have the resource.
  create table kept_from (
    resource text collate "C" not null,
    missing_from bigint not null,
    height bigint not null,
    primary key (resource, missing_from)
  );

  -- What the last commits have changed (store/changes.ts): distinguishes pages that are kept in memory from those
  -- that are out of date.
  create table changes (
    version bigint primary key,
    mark bigint not null,
    scopes text not null
  );

  insert into changes values (0, 0, '*');
    `,

    `
  -- A bucket's TWAPs are those of one period (store/writing/write-series.ts). The program writes all series anew after this step,
  -- with the starts of periods, which stand beside their points from now on.
  alter table funding_period_spans add column start_timestamp bigint;
  create index funding_period_spans_by_start on funding_period_spans (market, start_timestamp);

  truncate funding_period_series;
  alter table funding_period_series add column seq bigint not null;

  -- The latest market data of each market, rewritten with every block. The estimate of the running funding period is the
  -- core's own; its texts are null if it sent none.
  create table market_data (
    market_id text collate "C" primary key,
    timestamp bigint not null,
    mark_price text not null,
    open_interest text not null,
    market_state integer not null,
    trading_mode integer not null,
    funding_payment text,
    funding_rate text,
    internal_twap text,
    external_twap text,
    seq bigint not null,
    height bigint not null,
    event_index integer not null
  ) with (fillfactor = 50);

  -- In a store that came from version 0.1.0 the place of a period's end, where it had ended, stands as that of its start,
  -- whose event is not known.
  update funding_periods set start_height = 0, start_index = 0
  where start_height = height and start_index = event_index and end_timestamp is not null;

  -- Every market that any row names has a number.
  insert into markets
  select (select coalesce(max(market), 0) from markets) + row_number() over (order by market_id), market_id
  from (
    select market_id from instruments union select market_id from funding_periods
    union select market_id from auctions union select market_id from liquidity_provisions
    union select market_id from liquidity_provider_lists
    except select market_id from markets
  ) as named;
    `,

    `
  -- When a market's funding payments are due, and what its liquidity providers have to keep to: beside its instrument, which
  -- older versions kept without them.
  create table instrument_terms (
    market_id text collate "C" primary key,
    schedule_initial bigint,
    schedule_every bigint,
    sla_price_range text,
    sla_min_time_fraction text,
    sla_hysteresis_epochs bigint,
    sla_competition_factor text,
    height bigint not null,
    event_index integer not null
  );
    `,

    `
  -- How providers did in the epochs that have ended.
  create table liquidity_provider_history (
    market_id text collate "C" not null,
    party_id text collate "C" not null,
    epoch bigint not null,
    timestamp bigint not null,
    time_on_book text not null,
    fee_penalty text not null,
    bond_penalty text not null,
    required_liquidity text not null,
    equity_like_share text,
    height bigint not null,
    event_index integer not null,
    primary key (market_id, party_id, epoch)
  );

  create index liquidity_provider_history_by_market on liquidity_provider_history (market_id, timestamp, party_id, epoch);
  create index liquidity_provider_history_by_party on liquidity_provider_history (party_id, timestamp, market_id, epoch);
  create index liquidity_provider_history_by_place on liquidity_provider_history (market_id, height, event_index);
  create index liquidity_provider_history_by_time on liquidity_provider_history (timestamp, market_id, party_id, epoch);
    `,
  ],
}

import type { Schema } from '../schema-version.ts'

/** Marks the file as Lyra's (`pragma application_id`): the letters LYRA. */
export const APPLICATION_ID = 0x4c595241

/** The version whose step has the series of all points written anew. */
export const SERIES_VERSION = 8

/**
 * The schema of a file, whose version is `pragma user_version`.
 *
 * Every table that events write keeps the place in the stream (height, event index) that a row comes from:
 * a gap filled later never replaces what newer events have written.
 */
export const SCHEMA: Schema = {
  oldest: 7,
  steps: [
    `
  create table stream (
    id integer primary key check (id = 1),
    chain_id text not null,
    first_height integer not null,
    height integer not null,
    timestamp integer not null,
    -- Blocks below the first height are added when they come: where the store began, and the hashes of block 1's parts,
    -- as a JSON list (null: not known).
    began_height integer not null default 0,
    block_one_hashes text
  ) strict;

  create table gaps (
    from_height integer primary key,
    to_height integer not null,
    kind text not null check (kind in ('missing', 'incomplete'))
  ) strict;

  -- How far old rows have been taken out (store/pruning/prune-store.ts); no row: nothing has.
  create table pruned (
    id integer primary key check (id = 1),
    before_timestamp integer,
    before_height integer
  ) strict;

  create table checkpoints (
    at_block integer not null,
    hash text not null,
    block_hash text not null,
    block_timestamp integer not null,
    height integer not null,
    event_index integer not null,
    primary key (at_block, hash)
  ) strict, without rowid;
  create index checkpoints_by_height on checkpoints (height, event_index);

  -- A market's id costs 64 bytes as text; a data point names its market by a small number instead.
  create table markets (
    market integer primary key,
    market_id text not null unique
  ) strict;

  create table funding_period_data_points (
    market integer not null,
    source integer not null,
    timestamp integer not null,
    seq integer not null,
    -- Integers where these read back as the same text (run-steps.ts).
    price any not null,
    twap any not null,
    height integer not null,
    event_index integer not null,
    primary key (market, source, timestamp, seq)
  ) strict, without rowid;

  create table funding_period_spans (
    market integer not null,
    seq integer not null,
    first_timestamp integer not null,
    last_timestamp integer not null,
    points integer not null,
    primary key (market, seq)
  ) strict, without rowid;

  create table funding_periods (
    market_id text not null,
    seq integer not null,
    start_timestamp integer not null,
    end_timestamp integer,
    funding_payment text,
    funding_rate text,
    internal_twap text,
    external_twap text,
    height integer not null,
    event_index integer not null,
    -- The event that a period's start is from, which is the earliest one's; all else is the latest one's.
    start_height integer not null default 0,
    start_index integer not null default 0,
    primary key (market_id, seq)
  ) strict, without rowid;
  create index funding_periods_by_start on funding_periods (market_id, start_timestamp, seq);
  create index funding_periods_by_place on funding_periods (market_id, height, event_index);

  create table auctions (
    market_id text not null,
    height integer not null,
    event_index integer not null,
    opening_auction integer not null,
    leave integer not null,
    start_timestamp integer not null,
    end_timestamp integer not null,
    primary key (market_id, height, event_index)
  ) strict, without rowid;

  create table liquidity_provisions (
    provision_id text not null primary key,
    market_id text not null,
    party_id text not null,
    status integer not null,
    height integer not null,
    event_index integer not null
  ) strict, without rowid;

  create index liquidity_provisions_by_party on liquidity_provisions (market_id, party_id, status);

  create table liquidity_provider_lists (
    market_id text not null primary key,
    height integer not null,
    event_index integer not null
  ) strict, without rowid;

  create table liquidity_providers (
    market_id text not null,
    party_id text not null,
    fee_share text not null,
    sla text,
    -- Where the row last changed.
    height integer not null default 0,
    event_index integer not null default 1,
    primary key (market_id, party_id)
  ) strict, without rowid;

  create index liquidity_providers_by_party on liquidity_providers (party_id, market_id);

  -- Which store this is and how often it was written: distinguishes its own log from another's (log-check.ts). Of the
  -- commits, those of upkeep are counted apart: a writer goes on beside them.
  create table store_file (
    id integer primary key check (id = 1),
    store_id text not null,
    commits integer not null,
    upkeep_commits integer not null,
    log_from integer not null
  ) strict;

  insert into store_file values (1, lower(hex(randomblob(16))), 0, 0, 0);

  -- Between which times the data points of each 64 blocks lie: how rows are found by the block that they came in
  -- (store/readings/arrivals.ts). An index on the height of each point would cost half as much as the points.
  create table funding_period_block_spans (
    market integer not null,
    blocks integer not null,
    first_timestamp integer not null,
    last_timestamp integer not null,
    primary key (market, blocks)
  ) strict, without rowid;

  -- What charts are made from (store/writing/write-series.ts): data points by stretches of time, each of a whole multiple of the
  -- shorter ones. Least and greatest are null where they are among first and last.
  create table funding_period_series (
    market integer not null,
    source integer not null,
    seconds integer not null,
    bucket integer not null,
    points integer not null,
    price_first text not null,
    price_last text not null,
    price_minimum text,
    price_maximum text,
    twap_first text not null,
    twap_last text not null,
    twap_minimum text,
    twap_maximum text,
    primary key (market, source, seconds, bucket)
  ) strict, without rowid;

  -- Heights whose rows come from an import and not from events, both ends included: apart from each other, and never
  -- of blocks that are missing.
  create table imported (
    from_height integer primary key,
    to_height integer not null
  ) strict;

  -- As funding_period_block_spans, of imported points: they go with the last imported height of their 64 blocks.
  create table funding_period_imported_spans (
    market integer not null,
    source integer not null,
    blocks integer not null,
    first_timestamp integer not null,
    last_timestamp integer not null,
    primary key (market, source, blocks)
  ) strict, without rowid;

  create table instruments (
    market_id text not null primary key,
    code text not null,
    name text not null,
    product integer not null,
    quote_name text not null,
    decimal_places integer not null,
    position_decimal_places integer not null,
    state integer not null,
    trading_mode integer not null,
    settlement_asset text,
    interest_rate text,
    clamp_lower_bound text,
    clamp_upper_bound text,
    scaling_factor text,
    rate_lower_bound text,
    rate_upper_bound text,
    height integer not null,
    event_index integer not null
  ) strict, without rowid;

  create table assets (
    asset_id text not null primary key,
    name text not null,
    symbol text not null,
    decimals integer not null,
    status integer not null,
    height integer not null,
    event_index integer not null
  ) strict, without rowid;

  -- From which height on a resource is kept, and from which on it is missing below that: of blocks ingested by versions
  -- that did not know it. A row for each run of such blocks; none where all that are held have the resource.
  create table kept_from (
    resource text not null,
    missing_from integer not null,
    height integer not null,
    primary key (resource, missing_from)
  ) strict, without rowid;

  -- What the last commits have changed (store/changes.ts): distinguishes pages that are kept in memory from those
  -- that are out of date.
  create table changes (
    version integer primary key,
    mark integer not null,
    scopes text not null
  ) strict;

  insert into changes values (0, 0, '*');
    `,

    `
  -- A bucket's TWAPs are those of one period (store/writing/write-series.ts). The program writes all series anew after this step,
  -- with the starts of periods, which stand beside their points from now on.
  alter table funding_period_spans add column start_timestamp integer;
  create index funding_period_spans_by_start on funding_period_spans (market, start_timestamp);

  drop table funding_period_series;
  create table funding_period_series (
    market integer not null,
    source integer not null,
    seconds integer not null,
    bucket integer not null,
    points integer not null,
    price_first text not null,
    price_last text not null,
    price_minimum text,
    price_maximum text,
    twap_first text not null,
    twap_last text not null,
    twap_minimum text,
    twap_maximum text,
    seq integer not null,
    primary key (market, source, seconds, bucket)
  ) strict, without rowid;

  -- The latest market data of each market. The estimate of the running funding period is the core's own; its texts are
  -- null if it sent none.
  create table market_data (
    market_id text not null primary key,
    timestamp integer not null,
    mark_price text not null,
    open_interest text not null,
    market_state integer not null,
    trading_mode integer not null,
    funding_payment text,
    funding_rate text,
    internal_twap text,
    external_twap text,
    seq integer not null,
    height integer not null,
    event_index integer not null
  ) strict, without rowid;

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
    market_id text not null primary key,
    schedule_initial integer,
    schedule_every integer,
    sla_price_range text,
    sla_min_time_fraction text,
    sla_hysteresis_epochs integer,
    sla_competition_factor text,
    height integer not null,
    event_index integer not null
  ) strict, without rowid;
    `,

    `
  -- How providers did in the epochs that have ended.
  create table liquidity_provider_history (
    market_id text not null,
    party_id text not null,
    epoch integer not null,
    timestamp integer not null,
    time_on_book text not null,
    fee_penalty text not null,
    bond_penalty text not null,
    required_liquidity text not null,
    equity_like_share text,
    height integer not null,
    event_index integer not null,
    primary key (market_id, party_id, epoch)
  ) strict, without rowid;

  create index liquidity_provider_history_by_market on liquidity_provider_history (market_id, timestamp, party_id, epoch);
  create index liquidity_provider_history_by_party on liquidity_provider_history (party_id, timestamp, market_id, epoch);
  create index liquidity_provider_history_by_place on liquidity_provider_history (market_id, height, event_index);
  create index liquidity_provider_history_by_time on liquidity_provider_history (timestamp, market_id, party_id, epoch);
    `,
  ],
}

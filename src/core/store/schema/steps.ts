/** Engine-specific text for parts that the tables of all engines have. */
type SchemaTypes = {
  int64: string
  int32: string
  int16: string
  boolean: string
  /** A text that is compared: both databases sort alike. */
  key: string
  /**
   * How the definition of a table ends: of one that is read by its key, of one with an integer key, and of one whose rows
   * change often.
   */
  keyed: string
  numbered: string
  rewritten: string
  /** The beginning of a statement that deletes all rows; the table's name follows. */
  emptied: string
  /** Definitions of the tables that differ between engines: markets and data points. */
  own: string
}

/**
 * The steps that create the schema of a store. A released step must never be changed. Views follow each upgrade's steps
 * (views/views.ts): a step that changes or drops what one of them reads drops that view first. Every table that events write
 * has the position (height, event index) of the event that a row is from: a gap that is filled later never replaces what newer
 * events have written.
 */
export function schemaSteps(types: SchemaTypes): string[] {
  const { int64, int32, int16, boolean, key, keyed, numbered, rewritten, emptied, own } = types
  return [
    `
  create table stream (
    id ${int16} primary key check (id = 1),
    chain_id text not null,
    first_height ${int64} not null,
    height ${int64} not null,
    timestamp ${int64} not null,
    -- Blocks below the first height are added when they come: where the store began, and the hashes of block 1's parts,
    -- as a JSON list (null: not known).
    began_height ${int64} not null default 0,
    block_one_hashes text
  )${numbered};

  create table gaps (
    from_height ${int64} primary key,
    to_height ${int64} not null,
    kind text not null check (kind in ('missing', 'incomplete'))
  )${numbered};

  -- How far old rows have been taken out (store/pruning/prune-store.ts); no row: nothing has.
  create table pruned (
    id ${int16} primary key check (id = 1),
    before_timestamp ${int64},
    before_height ${int64}
  )${numbered};

  create table checkpoints (
    at_block ${int64} not null,
    hash ${key} not null,
    block_hash text not null,
    block_timestamp ${int64} not null,
    height ${int64} not null,
    event_index ${int32} not null,
    primary key (at_block, hash)
  )${keyed};
  create index checkpoints_by_height on checkpoints (height, event_index);

  ${own}

  create table funding_period_spans (
    market ${int32} not null,
    seq ${int64} not null,
    first_timestamp ${int64} not null,
    last_timestamp ${int64} not null,
    points ${int64} not null,
    primary key (market, seq)
  )${keyed};

  create table funding_periods (
    market_id ${key} not null,
    seq ${int64} not null,
    start_timestamp ${int64} not null,
    end_timestamp ${int64},
    funding_payment text,
    funding_rate text,
    internal_twap text,
    external_twap text,
    height ${int64} not null,
    event_index ${int32} not null,
    -- The event that a period's start is from, which is the earliest one's; all else is the latest one's.
    start_height ${int64} not null default 0,
    start_index ${int32} not null default 0,
    primary key (market_id, seq)
  )${keyed};
  create index funding_periods_by_start on funding_periods (market_id, start_timestamp, seq);
  create index funding_periods_by_place on funding_periods (market_id, height, event_index);

  create table auctions (
    market_id ${key} not null,
    height ${int64} not null,
    event_index ${int32} not null,
    opening_auction ${boolean} not null,
    leave ${boolean} not null,
    start_timestamp ${int64} not null,
    end_timestamp ${int64} not null,
    primary key (market_id, height, event_index)
  )${keyed};

  create table liquidity_provisions (
    provision_id ${key} not null primary key,
    market_id ${key} not null,
    party_id ${key} not null,
    status ${int16} not null,
    height ${int64} not null,
    event_index ${int32} not null
  )${keyed};

  create index liquidity_provisions_by_party on liquidity_provisions (market_id, party_id, status);

  create table liquidity_provider_lists (
    market_id ${key} not null primary key,
    height ${int64} not null,
    event_index ${int32} not null
  )${keyed};

  -- Rewritten with every block.
  create table liquidity_providers (
    market_id ${key} not null,
    party_id ${key} not null,
    fee_share text not null,
    sla text,
    -- Where the row last changed.
    height ${int64} not null default 0,
    event_index ${int32} not null default 1,
    primary key (market_id, party_id)
  )${rewritten};

  create index liquidity_providers_by_party on liquidity_providers (party_id, market_id);

  -- Between which times the data points of each 64 blocks lie: how rows are found by the block that they came in
  -- (store/queries/unseen-points.ts). An index on the height of each point would cost half as much as the points.
  create table funding_period_block_spans (
    market ${int32} not null,
    blocks ${int64} not null,
    first_timestamp ${int64} not null,
    last_timestamp ${int64} not null,
    primary key (market, blocks)
  )${keyed};

  -- What charts are made from (store/charts/build-series.ts): data points by stretches of time, each of a whole multiple
  -- of the shorter ones. Least and greatest are null where they are among first and last.
  create table funding_period_series (
    market ${int64} not null,
    source ${int16} not null,
    seconds ${int32} not null,
    bucket ${int64} not null,
    points ${int64} not null,
    price_first text not null,
    price_last text not null,
    price_minimum text,
    price_maximum text,
    twap_first text not null,
    twap_last text not null,
    twap_minimum text,
    twap_maximum text,
    primary key (market, source, seconds, bucket)
  )${keyed};

  -- Heights whose rows come from an import and not from events, both ends included: apart from each other, and never
  -- of blocks that are missing.
  create table imported (
    from_height ${int64} primary key,
    to_height ${int64} not null
  )${numbered};

  -- As funding_period_block_spans, of imported points: they go with the last imported height of their 64 blocks.
  create table funding_period_imported_spans (
    market ${int32} not null,
    source ${int16} not null,
    blocks ${int64} not null,
    first_timestamp ${int64} not null,
    last_timestamp ${int64} not null,
    primary key (market, source, blocks)
  )${keyed};

  create table instruments (
    market_id ${key} not null primary key,
    code text not null,
    name text not null,
    product ${int32} not null,
    quote_name text not null,
    decimal_places ${int64} not null,
    position_decimal_places ${int64} not null,
    state ${int32} not null,
    trading_mode ${int32} not null,
    settlement_asset ${key},
    interest_rate text,
    clamp_lower_bound text,
    clamp_upper_bound text,
    scaling_factor text,
    rate_lower_bound text,
    rate_upper_bound text,
    height ${int64} not null,
    event_index ${int32} not null
  )${keyed};

  create table assets (
    asset_id ${key} not null primary key,
    name text not null,
    symbol text not null,
    decimals ${int64} not null,
    status ${int32} not null,
    height ${int64} not null,
    event_index ${int32} not null
  )${keyed};

  -- From which height on a resource is kept, and from which on it is missing below that: of blocks ingested by versions
  -- that did not know it. A row for each run of such blocks; none where all that are held have the resource.
  create table kept_from (
    resource ${key} not null,
    missing_from ${int64} not null,
    height ${int64} not null,
    primary key (resource, missing_from)
  )${keyed};

  -- What the last commits have changed (store/changes.ts): distinguishes pages that are kept in memory from those
  -- that are out of date.
  create table changes (
    version ${int64} primary key,
    mark ${int64} not null,
    scopes text not null
  )${numbered};

  insert into changes values (0, 0, '*');
    `,

    `
  -- A bucket's TWAPs are those of one period (store/charts/build-series.ts). The program writes all series anew after this step,
  -- with the starts of periods, which stand beside their points from now on.
  alter table funding_period_spans add column start_timestamp ${int64};
  create index funding_period_spans_by_start on funding_period_spans (market, start_timestamp);

  ${emptied} funding_period_series;
  alter table funding_period_series add column seq ${int64} not null;

  -- The latest market data of each market, rewritten with every block. The estimate of the running funding period is the
  -- core's own; its texts are null if it sent none.
  create table market_data (
    market_id ${key} not null primary key,
    timestamp ${int64} not null,
    mark_price text not null,
    open_interest text not null,
    market_state ${int32} not null,
    trading_mode ${int32} not null,
    funding_payment text,
    funding_rate text,
    internal_twap text,
    external_twap text,
    seq ${int64} not null,
    height ${int64} not null,
    event_index ${int32} not null
  )${rewritten};

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
    market_id ${key} not null primary key,
    schedule_initial ${int64},
    schedule_every ${int64},
    sla_price_range text,
    sla_min_time_fraction text,
    sla_hysteresis_epochs ${int64},
    sla_competition_factor text,
    height ${int64} not null,
    event_index ${int32} not null
  )${keyed};
    `,

    `
  -- How providers did in the epochs that have ended.
  create table liquidity_provider_history (
    market_id ${key} not null,
    party_id ${key} not null,
    epoch ${int64} not null,
    timestamp ${int64} not null,
    time_on_book text not null,
    fee_penalty text not null,
    bond_penalty text not null,
    required_liquidity text not null,
    equity_like_share text,
    height ${int64} not null,
    event_index ${int32} not null,
    primary key (market_id, party_id, epoch)
  )${keyed};

  create index liquidity_provider_history_by_market on liquidity_provider_history (market_id, timestamp, party_id, epoch);
  create index liquidity_provider_history_by_party on liquidity_provider_history (party_id, timestamp, market_id, epoch);
  create index liquidity_provider_history_by_place on liquidity_provider_history (market_id, height, event_index);
  create index liquidity_provider_history_by_time on liquidity_provider_history (timestamp, market_id, party_id, epoch);
    `,

    `
  -- Heights that an operator does without (lyra gap accept): ingestion may pass over them where they are missing.
  create table accepted_gaps (
    from_height ${int64} primary key,
    to_height ${int64} not null
  )${numbered};

  -- Rows of files of instruments, which older versions took, are like imported ones of unknown blocks: every event replaces
  -- them.
  update instruments set event_index = 0 where height = 0;
  update instrument_terms set event_index = 0 where height = 0;
  update assets set event_index = 0 where height = 0;
    `,

    `
  -- Imported blocks are final: the times of their points stand with those of all others.
  insert into funding_period_block_spans (market, blocks, first_timestamp, last_timestamp)
  select market, blocks, min(first_timestamp), max(last_timestamp)
  from funding_period_imported_spans where true group by market, blocks
  on conflict (market, blocks) do update set
    first_timestamp = case when excluded.first_timestamp < funding_period_block_spans.first_timestamp
      then excluded.first_timestamp else funding_period_block_spans.first_timestamp end,
    last_timestamp = case when excluded.last_timestamp > funding_period_block_spans.last_timestamp
      then excluded.last_timestamp else funding_period_block_spans.last_timestamp end;
  drop table funding_period_imported_spans;

  -- Imported heights say themselves which resources their import has not brought: nothing else brings them any more.
  alter table imported add column lacks text not null default '';
  update imported set lacks = coalesce((
    select string_agg(resource, ' ') from (
      select distinct resource from kept_from
      where missing_from <= imported.to_height and height > imported.from_height
      order by resource
    ) as lacked
  ), '');

  -- From which height on there is a resource that an older version did not know.
  create table since (
    resource ${key} not null primary key,
    height ${int64} not null
  )${keyed};

  insert into since select resource, max(height) from kept_from
  where not exists (
    select 1 from imported where from_height <= kept_from.missing_from and to_height >= kept_from.height - 1
  )
  group by resource;
  drop table kept_from;
    `,

    `
  -- Series are made after the points are stored (store/charts/build-series.ts): how far they are, in buckets of half a minute,
  -- and which of the buckets before are stale.
  create table funding_period_series_made (
    market ${int32} not null,
    source ${int16} not null,
    made_to ${int64} not null,
    primary key (market, source)
  )${keyed};

  create table funding_period_series_stale (
    market ${int32} not null,
    source ${int16} not null,
    id ${int64} not null,
    from_bucket ${int64} not null,
    to_bucket ${int64} not null,
    primary key (market, source, id)
  )${keyed};
    `,

    `
  -- What parties paid and received at the ends of funding periods.
  create table funding_payments (
    market_id ${key} not null,
    party_id ${key} not null,
    seq ${int64} not null,
    timestamp ${int64} not null,
    amount text not null,
    loss_amount text not null,
    height ${int64} not null,
    event_index ${int32} not null,
    primary key (market_id, party_id, seq)
  )${keyed};
  create index funding_payments_by_market on funding_payments (market_id, timestamp, seq, party_id);
  create index funding_payments_by_party on funding_payments (party_id, timestamp, market_id, seq);
  create index funding_payments_by_place on funding_payments (height, event_index, market_id, party_id);
  create index funding_payments_by_time on funding_payments (timestamp, market_id, seq, party_id);
    `,

    `
  -- How streams of all markets find the rows of some blocks.
  create index funding_periods_by_height on funding_periods (height, event_index, market_id);
  create index funding_period_block_spans_by_blocks on funding_period_block_spans (blocks, market);
    `,

    `
  -- What liquidity providers were paid: some of these have no SLA, and no figures in the history of providers then.
  create table paid_liquidity_fees (
    market_id ${key} not null,
    epoch ${int64} not null,
    height ${int64} not null,
    event_index ${int32} not null,
    party_id ${key} not null,
    amount text not null,
    primary key (market_id, epoch, height, event_index, party_id)
  )${keyed};

  alter table liquidity_provider_history add column has_figures ${boolean} not null default true;
    `,

    `
  -- A provider's row keeps the place of the list that brought its figures beside its position.
  alter table liquidity_providers add column list_height ${int64} not null default 0;
  alter table liquidity_providers add column list_index ${int32} not null default 0;
  update liquidity_providers set list_height = height, list_index = event_index;

  -- Up to which height older versions wrote rows whose positions may be too early (lyra check).
  create table old_positions (
    resource ${key} not null primary key,
    height ${int64} not null
  )${keyed};

  insert into old_positions select 'liquidityProviders', height from stream;
    `,

    `
  -- Between which times a gap lies, and since when a resource is complete: by the nearest rows that have a block's time.
  alter table gaps add column start_timestamp ${int64};
  alter table gaps add column end_timestamp ${int64};
  update gaps set
    start_timestamp = (
      select block_timestamp from checkpoints where checkpoints.height < gaps.from_height order by height desc limit 1),
    end_timestamp = coalesce(
      (select block_timestamp from checkpoints where checkpoints.height > gaps.to_height order by height limit 1),
      (select timestamp from stream where stream.height > gaps.to_height));

  alter table since add column start_timestamp ${int64};
  update since set start_timestamp = (
    select block_timestamp from checkpoints where checkpoints.height >= since.height order by height limit 1);
    `,

    `
  -- The highest seq that any data of a market have named: of the data before, older versions knew the latest alone.
  alter table market_data add column highest_seq ${int64} not null default -1;
  update market_data set highest_seq = seq
  where seq > 0 or funding_payment is not null or funding_rate is not null
    or internal_twap is not null or external_twap is not null;
    `,

    `
  -- A bucket of a chart is a function of the rows of its time: the starts of periods have no part in it any more. The program
  -- writes all series anew after this step.
  drop index funding_period_spans_by_start;
  alter table funding_period_spans drop column start_timestamp;
  ${emptied} funding_period_series;
  ${emptied} funding_period_series_made;
  ${emptied} funding_period_series_stale;
    `,

    `
  -- The epochs of the network, and the latest end of each: of either the latest event counts.
  create table epochs (
    epoch ${int64} not null primary key,
    has_start ${boolean} not null,
    start_timestamp ${int64},
    expiry_timestamp ${int64},
    height ${int64} not null,
    event_index ${int32} not null
  )${keyed};

  create table epoch_ends (
    epoch ${int64} not null primary key,
    start_timestamp ${int64},
    expiry_timestamp ${int64},
    end_timestamp ${int64},
    height ${int64} not null,
    event_index ${int32} not null
  )${keyed};
    `,

    `
  -- What markets paid to their liquidity providers: each event whole, and the parties that it names. The key is in the order of
  -- the list, in which epochs descend.
  create table paid_liquidity_fees_stats (
    market_id ${key} not null,
    asset_id ${key} not null,
    reverse_epoch ${int64} not null,
    height ${int64} not null,
    event_index ${int32} not null,
    epoch ${int64} not null,
    total_fees_paid text not null,
    fees_paid_per_party text not null,
    primary key (market_id, asset_id, reverse_epoch, height, event_index)
  )${keyed};
  create index paid_liquidity_fees_stats_by_asset
    on paid_liquidity_fees_stats (asset_id, market_id, reverse_epoch, height, event_index);
  create index paid_liquidity_fees_stats_by_epoch
    on paid_liquidity_fees_stats (epoch, market_id, asset_id, reverse_epoch, height, event_index);
  create index paid_liquidity_fees_stats_by_height on paid_liquidity_fees_stats (height, event_index, market_id);

  create table paid_liquidity_fees_stats_parties (
    market_id ${key} not null,
    asset_id ${key} not null,
    reverse_epoch ${int64} not null,
    height ${int64} not null,
    event_index ${int32} not null,
    party_id ${key} not null,
    primary key (market_id, asset_id, reverse_epoch, height, event_index, party_id)
  )${keyed};
  create index paid_liquidity_fees_stats_parties_by_party
    on paid_liquidity_fees_stats_parties (party_id, market_id, asset_id, reverse_epoch, height, event_index);
    `,

    `
  -- The auctions of markets, which the program calculates after this step from their events.
  create table auction_intervals (
    market_id ${key} not null,
    start_timestamp ${int64} not null,
    end_timestamp ${int64},
    opening_auction ${int16} not null,
    after_height ${int64} not null,
    after_index ${int32} not null,
    begin_height ${int64} not null,
    begin_index ${int32} not null,
    height ${int64} not null,
    event_index ${int32} not null,
    primary key (market_id, start_timestamp)
  )${keyed};
  create index auction_intervals_by_begin on auction_intervals (market_id, begin_height, begin_index);
  create index auction_intervals_by_height on auction_intervals (height, event_index, market_id);
    `,

    `
  -- The sums of each party's payments by day, which the program calculates after this step, and what tells the days of a
  -- payment that is written again.
  create table funding_payment_spans (
    market_id ${key} not null,
    seq ${int64} not null,
    first_timestamp ${int64} not null,
    last_timestamp ${int64} not null,
    primary key (market_id, seq)
  )${keyed};
  insert into funding_payment_spans
    select market_id, seq, min(timestamp), max(timestamp) from funding_payments group by market_id, seq;

  create table funding_daily_sums (
    market_id ${key} not null,
    day ${int64} not null,
    party_id ${key} not null,
    payments ${int64} not null,
    received text not null,
    paid text not null,
    loss_amount text not null,
    primary key (market_id, day, party_id)
  )${keyed};
  create index funding_daily_sums_by_party on funding_daily_sums (party_id, day, market_id);
  alter table pruned add column sums_from_day ${int64};
    `,

    `
  -- From here on, stores have the views of store/views/views.ts.
    `,
  ]
}

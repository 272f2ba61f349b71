/*
 * The selects of version 0.1.0 on PostgreSQL, from a random place on, as pgbench runs them: the fixed limit of cold pages,
 * so that a better select raises the ratio. Points are in that version's table and index.
 */

/** The table of data points of version 0.1.0, filled with the rows of today's in the order in which they came. */
export const POINTS_BEFORE = [
  'create schema before',
  'create table before.markets (market integer primary key, market_id text collate "C" not null)',
  'create unique index on before.markets (market_id)',
  'insert into before.markets select market, market_id from lyra.markets',
  `create table before.funding_period_data_points (
    market integer not null, source smallint not null, seq bigint not null, timestamp bigint not null,
    height bigint not null, event_index integer not null, price text not null, twap text not null,
    primary key (market, source, timestamp, seq) include (price, twap))`,
  `insert into before.funding_period_data_points
    select market, source, seq, timestamp, height, event_index, price, twap
    from lyra.funding_period_data_points order by height, event_index`,
  'vacuum analyze before.funding_period_data_points',
]

/** A page of points: three runs, merged, and written as text by the database. */
export function pointsSelect(marketId: string, first: number, from: bigint, to: bigint): string {
  const limit = first + 1
  const run = (source: number) => `(select timestamp, seq, source, price, twap from funding_period_data_points
    where market = (select market from markets where market_id = '${marketId}') and source = ${source}
      and (timestamp, seq, source) < (:t, 1, 2)
    order by timestamp desc, seq desc, source desc limit ${limit})`
  return `\\set t random(${from}, ${to})
    select case count(*) when 0 then null
      else concat('${' '.repeat(64)}', '{"node":{"marketId":"${marketId}","seq":"',
        string_agg(middle, '"},{"node":{"marketId":"${marketId}","seq":"'), '"}') end, count(*)
    from (select middle from (select timestamp, seq, source,
      concat(seq, '","dataPointType":"',
        case source when 0 then 'SOURCE_UNSPECIFIED' when 1 then 'SOURCE_EXTERNAL' when 2 then 'SOURCE_INTERNAL' end,
        '","price":"', price, '","timestamp":"', timestamp, '","twap":"', twap, '"},"cursor":"phBTNawjp',
        1000 + (timestamp % 8999 * 7 + seq % 8999 * 31 + 62993 + source * 13) % 8999,
        case when timestamp % 1000000000 = 0 and timestamp >= 1000000000000000000
          then (timestamp / 1000000000) || case source when 2 then 'I' when 1 then 'E' else 'N' end
          else lpad(to_hex(timestamp), 16, '0') || case source when 2 then 'i' when 1 then 'e' else 'n' end end,
        seq) as middle
      from (${[0, 1, 2].map(run).join(' union all ')}
        order by timestamp desc, seq desc, source desc limit ${limit}) as merged
      order by merged.timestamp desc, merged.seq desc, merged.source desc) as reading) as page;`
}

/** A page of checkpoints. */
export function checkpointsSelect(first: number, from: number, to: number): string {
  return `\\set b random(${from}, ${to})
    select cast(at_block as text), hash, block_hash from checkpoints where (at_block, hash) < (:b, '0')
    order by checkpoints.at_block desc, checkpoints.hash desc limit ${first + 1};`
}

/** A page of the providers of a market, after a random party. */
export function providersSelect(marketId: string, first: number): string {
  // 52 random bits, from a tenth of the parties on to nine tenths.
  return `\\set p random(450359962737049, 4053239664633446)
    select market_id, party_id, fee_share, sla from liquidity_providers where exists (
      select 1 from liquidity_provisions
      where liquidity_provisions.market_id = liquidity_providers.market_id
        and liquidity_provisions.party_id = liquidity_providers.party_id
        and liquidity_provisions.status in (1, 5, 6))
      and market_id = '${marketId}' and party_id > rpad(lpad(to_hex(cast(:p as bigint)), 13, '0'), 64, '0')
    order by liquidity_providers.market_id, liquidity_providers.party_id limit ${first + 1};`
}

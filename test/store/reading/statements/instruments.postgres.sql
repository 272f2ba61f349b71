select null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, (exists (select 1
from (select instruments.market_id, code, instruments.name, product, quote_name, decimal_places,
position_decimal_places, state, trading_mode, settlement_asset, assets.symbol as asset_symbol,
assets.name as asset_name, assets.decimals as asset_decimals, interest_rate, clamp_lower_bound,
clamp_upper_bound, scaling_factor, rate_lower_bound, rate_upper_bound, schedule_initial, schedule_every,
sla_price_range, sla_min_time_fraction, sla_hysteresis_epochs, sla_competition_factor,
case when (assets.height, assets.event_index) > (instruments.height, instruments.event_index) then assets.height else instruments.height end as height, case when (assets.height, assets.event_index) > (instruments.height, instruments.event_index) then assets.event_index else instruments.event_index end as event_index
from instruments
left join assets on assets.asset_id = instruments.settlement_asset
left join instrument_terms on instrument_terms.market_id = instruments.market_id) as instrument_rows
where (market_id) >= ($1))), null, state.*
from (
select cast(changes.version as text), cast(mark as text),
cast(stream.height as text), cast(stream.timestamp as text)
from changes
left join stream on true
order by changes.version desc
limit 1) as state
union all
select page.*, null, null, null, null, null, null
from (select market_id, code, name, product, quote_name, decimal_places, position_decimal_places, state, trading_mode, settlement_asset, asset_symbol, asset_name, asset_decimals, interest_rate, clamp_lower_bound, clamp_upper_bound, scaling_factor, rate_lower_bound, rate_upper_bound, schedule_initial, schedule_every, sla_price_range, sla_min_time_fraction, sla_hysteresis_epochs, sla_competition_factor
from (select instruments.market_id, code, instruments.name, product, quote_name, decimal_places,
position_decimal_places, state, trading_mode, settlement_asset, assets.symbol as asset_symbol,
assets.name as asset_name, assets.decimals as asset_decimals, interest_rate, clamp_lower_bound,
clamp_upper_bound, scaling_factor, rate_lower_bound, rate_upper_bound, schedule_initial, schedule_every,
sla_price_range, sla_min_time_fraction, sla_hysteresis_epochs, sla_competition_factor,
case when (assets.height, assets.event_index) > (instruments.height, instruments.event_index) then assets.height else instruments.height end as height, case when (assets.height, assets.event_index) > (instruments.height, instruments.event_index) then assets.event_index else instruments.event_index end as event_index
from instruments
left join assets on assets.asset_id = instruments.settlement_asset
left join instrument_terms on instrument_terms.market_id = instruments.market_id) as instrument_rows
where (market_id) < ($3)
order by instrument_rows.market_id desc
limit cast($2 as bigint)) as page

-- values: a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9, 101, a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9

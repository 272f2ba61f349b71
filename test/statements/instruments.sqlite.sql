select case count(*) when 0 then null else cast(
concat('                                                                ', '{"node":{"marketId":"', group_concat(middle, '"},{"node":{"marketId":"'), '"}')
as blob) end, count(*)
from (select middle
from (select market_id, concat(market_id, '","code":', json_quote(code), ',"name":', json_quote(name), ',"product":"', case product when 0 then 'PRODUCT_UNSPECIFIED' when 1 then 'PRODUCT_FUTURE' when 2 then 'PRODUCT_SPOT' when 3 then 'PRODUCT_PERPETUAL' end, '","quoteName":', json_quote(quote_name), ',"decimalPlaces":"', decimal_places, '","positionDecimalPlaces":"', position_decimal_places, '","state":"', case state when 0 then 'STATE_UNSPECIFIED' when 1 then 'STATE_PROPOSED' when 2 then 'STATE_REJECTED' when 3 then 'STATE_PENDING' when 4 then 'STATE_CANCELLED' when 5 then 'STATE_ACTIVE' when 6 then 'STATE_SUSPENDED' when 7 then 'STATE_CLOSED' when 8 then 'STATE_TRADING_TERMINATED' when 9 then 'STATE_SETTLED' when 10 then 'STATE_SUSPENDED_VIA_GOVERNANCE' end, '","tradingMode":"', case trading_mode when 0 then 'TRADING_MODE_UNSPECIFIED' when 1 then 'TRADING_MODE_CONTINUOUS' when 2 then 'TRADING_MODE_BATCH_AUCTION' when 3 then 'TRADING_MODE_OPENING_AUCTION' when 4 then 'TRADING_MODE_MONITORING_AUCTION' when 5 then 'TRADING_MODE_NO_TRADING' when 6 then 'TRADING_MODE_SUSPENDED_VIA_GOVERNANCE' when 7 then 'TRADING_MODE_LONG_BLOCK_AUCTION' when 8 then 'TRADING_MODE_PROTOCOL_AUTOMATED_PURCHASE_AUCTION' end, '"', case when settlement_asset is null then ',"settlementAsset":null' else concat(',"settlementAsset":', '{', '"id":', json_quote(settlement_asset), case when asset_symbol is null then ',"symbol":null' else concat(',"symbol":', json_quote(asset_symbol)) end, case when asset_name is null then ',"name":null' else concat(',"name":', json_quote(asset_name)) end, case when asset_decimals is null then ',"decimals":null' else concat(',"decimals":', '"', asset_decimals, '"') end, '}') end, case when interest_rate is null then ',"funding":null' else concat(',"funding":', '{', '"interestRate":', json_quote(interest_rate), ',"clampLowerBound":', json_quote(clamp_lower_bound), ',"clampUpperBound":', json_quote(clamp_upper_bound), case when scaling_factor is null then ',"scalingFactor":null' else concat(',"scalingFactor":', json_quote(scaling_factor)) end, case when rate_lower_bound is null then ',"lowerBound":null' else concat(',"lowerBound":', json_quote(rate_lower_bound)) end, case when rate_upper_bound is null then ',"upperBound":null' else concat(',"upperBound":', json_quote(rate_upper_bound)) end, case when schedule_every is null then ',"schedule":null' else concat(',"schedule":', '{', case when schedule_initial is null then '"initial":null' else concat('"initial":', '"', schedule_initial, '"') end, ',"every":', '"', schedule_every, '"', '}') end, '}') end, case when sla_price_range is null then ',"sla":null' else concat(',"sla":', '{', '"priceRange":', json_quote(sla_price_range), ',"commitmentMinTimeFraction":', json_quote(sla_min_time_fraction), ',"performanceHysteresisEpochs":', '"', sla_hysteresis_epochs, '"', ',"slaCompetitionFactor":', json_quote(sla_competition_factor), '}') end, '},"cursor":"i', market_id) as middle
from (select instruments.market_id, code, instruments.name, product, quote_name, decimal_places,
position_decimal_places, state, trading_mode, settlement_asset, assets.symbol as asset_symbol,
assets.name as asset_name, assets.decimals as asset_decimals, interest_rate, clamp_lower_bound,
clamp_upper_bound, scaling_factor, rate_lower_bound, rate_upper_bound, schedule_initial, schedule_every,
sla_price_range, sla_min_time_fraction, sla_hysteresis_epochs, sla_competition_factor,
case
when (assets.height, assets.event_index) > (instruments.height, instruments.event_index) then assets.height
else instruments.height end as height, case
when (assets.height, assets.event_index) > (instruments.height, instruments.event_index) then assets.event_index
else instruments.event_index end as event_index
from instruments
left join assets on assets.asset_id = instruments.settlement_asset
left join instrument_terms on instrument_terms.market_id = instruments.market_id) as instrument_rows
where (market_id) < ($2)
order by instrument_rows.market_id desc
limit cast($1 as bigint)) as reading ) as page

-- values: 101, a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9

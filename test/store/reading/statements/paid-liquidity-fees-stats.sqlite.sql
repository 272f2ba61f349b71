select case count(*) when 0 then null else cast(
concat('                                                                ', '{"node":{"market":"', group_concat(middle, '"},{"node":{"market":"'), '"}')
as blob) end, count(*)
from (select middle
from (select market_id, asset_id, reverse_epoch, height, event_index, concat(market_id, '","asset":', json_quote(asset_id), ',"epochSeq":"', epoch, '","totalFeesPaid":', json_quote(total_fees_paid), ',"feesPaidPerParty":', fees_paid_per_party, '},"cursor":"g', market_id, '_', case when unhex(asset_id) is null then '-' || hex(asset_id) else asset_id end, '_', reverse_epoch, '_', height, '_', event_index) as middle
from paid_liquidity_fees_stats
where unlikely(market_id = $2) and (asset_id, reverse_epoch, height, event_index) < ($3, $4, $5, $6)
order by paid_liquidity_fees_stats.market_id desc, paid_liquidity_fees_stats.asset_id desc, paid_liquidity_fees_stats.reverse_epoch desc, paid_liquidity_fees_stats.height desc, paid_liquidity_fees_stats.event_index desc
limit cast($1 as bigint)) as reading ) as page

-- values: 101, a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9, c0de, -4, 118, 7

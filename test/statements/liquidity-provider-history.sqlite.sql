select case count(*) when 0 then null else cast(
concat('                                                                ', '{"node":{"marketId":"', group_concat(middle, '"},{"node":{"marketId":"'), '"}')
as blob) end, count(*)
from (select middle
from (select timestamp, market_id, party_id, epoch, concat(market_id, '","partyId":"', party_id, '","epoch":"', epoch, '","timestamp":"', timestamp, '","atBlock":"', height, '","timeOnBook":', json_quote(time_on_book), ',"feePenalty":', json_quote(fee_penalty), ',"bondPenalty":', json_quote(bond_penalty), ',"requiredLiquidity":', json_quote(required_liquidity), case when equity_like_share is null then ',"equityLikeShare":null' else concat(',"equityLikeShare":', json_quote(equity_like_share)) end, '},"cursor":"h', timestamp, '_', market_id, '_', party_id, '_', epoch) as middle
from liquidity_provider_history
where unlikely(market_id = $2) and (timestamp, party_id, epoch) < ($3, $4, $5)
order by liquidity_provider_history.timestamp desc, liquidity_provider_history.market_id desc, liquidity_provider_history.party_id desc, liquidity_provider_history.epoch desc
limit cast($1 as bigint)) as reading ) as page

-- values: 101, a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9, 1696500903000000001, b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7, 0

select case count(*) when 0 then null else cast(
concat('                                                                ', '{"node":{"marketId":"', group_concat(middle, '"},{"node":{"marketId":"'), '"}')
as blob) end, count(*)
from (select middle
from (select timestamp, market_id, party_id, epoch, concat(market_id, '","partyId":"', party_id, '","epoch":"', epoch, '","timestamp":"', timestamp, '","atBlock":"', height, '"', case when time_on_book is null then ',"timeOnBook":null' else concat(',"timeOnBook":', json_quote(time_on_book)) end, case when fee_penalty is null then ',"feePenalty":null' else concat(',"feePenalty":', json_quote(fee_penalty)) end, case when bond_penalty is null then ',"bondPenalty":null' else concat(',"bondPenalty":', json_quote(bond_penalty)) end, case when required_liquidity is null then ',"requiredLiquidity":null' else concat(',"requiredLiquidity":', json_quote(required_liquidity)) end, case when equity_like_share is null then ',"equityLikeShare":null' else concat(',"equityLikeShare":', json_quote(equity_like_share)) end, case when fees_paid is null then ',"feesPaid":null' else concat(',"feesPaid":', '"', fees_paid, '"') end, '},"cursor":"h', timestamp, '_', market_id, '_', party_id, '_', epoch) as middle
from (select market_id, party_id, epoch, timestamp, has_figures, case when has_figures then time_on_book end as time_on_book, case when has_figures then fee_penalty end as fee_penalty, case when has_figures then bond_penalty end as bond_penalty, case when has_figures then required_liquidity end as required_liquidity,
equity_like_share, height, event_index, (
select fees.amount
from paid_liquidity_fees as fees
where fees.market_id = history.market_id and fees.epoch = history.epoch and fees.party_id = history.party_id
and (fees.height, fees.event_index) <= (history.height, history.event_index)
and (fees.height, fees.event_index) = (
select first.height, first.event_index
from paid_liquidity_fees as first
where first.market_id = history.market_id and first.epoch = history.epoch
order by first.height, first.event_index
limit 1
)
) as fees_paid
from liquidity_provider_history as history) as liquidity_provider_history
where (has_figures or fees_paid is not null) and unlikely(market_id = $2) and (timestamp, party_id, epoch) < ($3, $4, $5)
order by liquidity_provider_history.timestamp desc, liquidity_provider_history.market_id desc, liquidity_provider_history.party_id desc, liquidity_provider_history.epoch desc
limit cast($1 as bigint)) as reading ) as page

-- values: 101, a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9, 1696500903000000001, b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7, 0

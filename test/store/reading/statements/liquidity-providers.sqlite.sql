select case count(*) when 0 then null else cast(
concat('                                                                ', '{"node":{"partyId":"', group_concat(middle, '"},{"node":{"partyId":"'), '"}')
as blob) end, count(*)
from (select middle
from (select market_id, party_id, concat(party_id, '","marketId":"', market_id, '","feeShare":', fee_share, case when sla is null then ',"sla":null' else concat(',"sla":', sla) end, '},"cursor":"l', market_id, '_', party_id) as middle
from liquidity_providers
where exists (
select 1
from liquidity_provisions
where liquidity_provisions.market_id = liquidity_providers.market_id
and liquidity_provisions.party_id = liquidity_providers.party_id
and liquidity_provisions.status in (1, 5, 6)) and unlikely(market_id = $2) and (party_id) < ($3)
order by liquidity_providers.market_id desc, liquidity_providers.party_id desc
limit cast($1 as bigint)) as reading ) as page

-- values: 101, a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9, b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7

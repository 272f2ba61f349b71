select case count(*) when 0 then null else cast(
concat('                                                                ', '{"node":{"marketId":"', group_concat(middle, '"},{"node":{"marketId":"'), '"}')
as blob) end, count(*)
from (select middle
from (select market_id, start_timestamp, concat(market_id, '","start":"', start_timestamp, '"', case when end_timestamp is null then '' else concat(',"end":', '"', end_timestamp, '"') end, ',"openingAuction":', case opening_auction when 1 then 'true' else 'false' end, '},"cursor":"u', market_id, '_', start_timestamp) as middle
from auction_intervals
where unlikely(market_id = $2) and (start_timestamp) < ($3)
order by auction_intervals.market_id desc, auction_intervals.start_timestamp desc
limit cast($1 as bigint)) as reading ) as page

-- values: 101, a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9, 1696500900000000000

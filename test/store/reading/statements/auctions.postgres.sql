select page.*, (exists (select 1
from auction_intervals
where market_id = $1 and (start_timestamp) >= ($2))), null, state.*
from (select string_agg(coalesce(cast(start_timestamp as text), ''), E'\n') as column_0, string_agg(coalesce(cast(end_timestamp as text), ''), E'\n') as column_1, string_agg(coalesce(cast(opening_auction as text), ''), E'\n') as column_2, count(*) as rows
from (select market_id, start_timestamp, end_timestamp, opening_auction
from auction_intervals
where market_id = $1 and (start_timestamp) < ($4)
order by auction_intervals.market_id desc, auction_intervals.start_timestamp desc
limit cast($3 as bigint)) as page) as page
cross join (
select cast(changes.version as text), cast(mark as text),
cast(stream.height as text), cast(stream.timestamp as text)
from changes
left join stream on true
order by changes.version desc
limit 1) as state

-- values: a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9, 1696500900000000000, 101, 1696500900000000000

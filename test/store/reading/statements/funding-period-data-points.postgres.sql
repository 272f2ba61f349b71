select page.*, (exists (select 1
from funding_period_data_points
where market = $1 and source = 2 and (timestamp, seq, source) >= ($2, $3, $4)) or exists (select 1
from funding_period_data_points
where market = $1 and source = 1 and (timestamp, seq, source) >= ($2, $3, $4)) or exists (select 1
from funding_period_data_points
where market = $1 and source = 0 and (timestamp, seq, source) >= ($2, $3, $4))), (select market_id
from markets
where market = $1), state.*
from (select string_agg(coalesce(cast(timestamp as text), ''), E'\n') as column_0, string_agg(coalesce(cast(seq as text), ''), E'\n') as column_1, string_agg(coalesce(cast(source as text), ''), E'\n') as column_2, string_agg(coalesce(cast(price as text), ''), E'\n') as column_3, string_agg(coalesce(cast(twap as text), ''), E'\n') as column_4, count(*) as rows
from ((select timestamp, seq, source, price, twap
from funding_period_data_points
where market = $1 and source = 0 and (timestamp, seq, source) < ($6, $7, $8)
order by funding_period_data_points.timestamp desc, funding_period_data_points.seq desc, funding_period_data_points.source desc
limit cast($5 as bigint))
union all
(select timestamp, seq, source, price, twap
from funding_period_data_points
where market = $1 and source = 1 and (timestamp, seq, source) < ($6, $7, $8)
order by funding_period_data_points.timestamp desc, funding_period_data_points.seq desc, funding_period_data_points.source desc
limit cast($5 as bigint))
union all
(select timestamp, seq, source, price, twap
from funding_period_data_points
where market = $1 and source = 2 and (timestamp, seq, source) < ($6, $7, $8)
order by funding_period_data_points.timestamp desc, funding_period_data_points.seq desc, funding_period_data_points.source desc
limit cast($5 as bigint))
order by timestamp desc, seq desc, source desc
limit cast($5 as bigint)) as page) as page
cross join (
select cast(changes.version as text), cast(mark as text),
cast(stream.height as text), cast(stream.timestamp as text)
from changes
left join stream on true
order by changes.version desc
limit 1) as state

-- values: 1, 1696500903000000001, 15, 2, 101, 1696500903000000001, 15, 2

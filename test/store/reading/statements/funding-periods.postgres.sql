select page.*, (exists (select 1
from funding_periods
where market_id = $1 and (start_timestamp, seq) >= ($2, $3))), null, state.*
from (select string_agg(coalesce(cast(start_timestamp as text), ''), E'\n') as column_0, string_agg(coalesce(cast(seq as text), ''), E'\n') as column_1, string_agg(coalesce(cast(end_timestamp as text), ''), E'\n') as column_2, string_agg(coalesce(cast(funding_payment as text), ''), E'\n') as column_3, string_agg(coalesce(cast(funding_rate as text), ''), E'\n') as column_4, string_agg(coalesce(cast(internal_twap as text), ''), E'\n') as column_5, string_agg(coalesce(cast(external_twap as text), ''), E'\n') as column_6, count(*) as rows
from (select start_timestamp, seq, end_timestamp, funding_payment, funding_rate, internal_twap, external_twap
from funding_periods
where market_id = $1 and (start_timestamp, seq) < ($5, $6)
order by funding_periods.start_timestamp desc, funding_periods.seq desc
limit cast($4 as bigint)) as page) as page
cross join (
select cast(changes.version as text), cast(mark as text),
cast(stream.height as text), cast(stream.timestamp as text)
from changes
left join stream on true
order by changes.version desc
limit 1) as state

-- values: a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9, 1696500858000000000, 19, 101, 1696500858000000000, 19

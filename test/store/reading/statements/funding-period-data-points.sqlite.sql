select case count(*) when 0 then null else cast(
concat('                                                                ', cast($8 as text), group_concat(middle, cast($7 as text)), '"}')
as blob) end, count(*)
from (select middle
from (select timestamp, seq, source, concat(seq, '","dataPointType":"SOURCE_UNSPECIFIED","price":"', price, '","timestamp":"', timestamp, '","twap":"', twap, cast($2 as text), 1000 + (timestamp % 8999 * 7 + seq % 8999 * 31 + 62993) % 8999, case when timestamp % 1000000000 = 0 and timestamp >= 1000000000000000000
then (timestamp / 1000000000) || 'N'
else format('%016x', timestamp) || 'n' end, seq) as middle
from funding_period_data_points
where market = $3 and source = 0 and (timestamp, seq, source) < ($4, $5, $6)
union all
select timestamp, seq, source, concat(seq, '","dataPointType":"SOURCE_EXTERNAL","price":"', price, '","timestamp":"', timestamp, '","twap":"', twap, cast($2 as text), 1000 + (timestamp % 8999 * 7 + seq % 8999 * 31 + 63006) % 8999, case when timestamp % 1000000000 = 0 and timestamp >= 1000000000000000000
then (timestamp / 1000000000) || 'E'
else format('%016x', timestamp) || 'e' end, seq) as middle
from funding_period_data_points
where market = $3 and source = 1 and (timestamp, seq, source) < ($4, $5, $6)
union all
select timestamp, seq, source, concat(seq, '","dataPointType":"SOURCE_INTERNAL","price":"', price, '","timestamp":"', timestamp, '","twap":"', twap, cast($2 as text), 1000 + (timestamp % 8999 * 7 + seq % 8999 * 31 + 63019) % 8999, case when timestamp % 1000000000 = 0 and timestamp >= 1000000000000000000
then (timestamp / 1000000000) || 'I'
else format('%016x', timestamp) || 'i' end, seq) as middle
from funding_period_data_points
where market = $3 and source = 2 and (timestamp, seq, source) < ($4, $5, $6)
order by timestamp desc, seq desc, source desc
limit cast($1 as bigint)) as reading ) as page

-- values: 101, "},"cursor":"pdLf-ZrzN, 1, 1696500903000000001, 15, 2, "},{"node":{"marketId":"a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9","seq":", {"node":{"marketId":"a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9","seq":"

select case count(*) when 0 then null else cast(
concat('                                                                ', cast($7 as text), group_concat(middle, cast($6 as text)), '"}')
as blob) end, count(*)
from (select middle
from (select start_timestamp, seq, concat(seq, '","start":"', start_timestamp, '"', case when end_timestamp is null then '' else concat(',"end":', '"', end_timestamp, '"') end, case when funding_payment is null then '' else concat(',"fundingPayment":', '"', funding_payment, '"') end, case when funding_rate is null then '' else concat(',"fundingRate":', '"', funding_rate, '"') end, case when internal_twap is null then '' else concat(',"internalTwap":', '"', internal_twap, '"') end, case when external_twap is null then '' else concat(',"externalTwap":', '"', external_twap, '"') end, cast($2 as text), start_timestamp, '_', seq) as middle
from funding_periods
where market_id = $3 and (start_timestamp, seq) < ($4, $5)
order by funding_periods.start_timestamp desc, funding_periods.seq desc
limit cast($1 as bigint)) as reading ) as page

-- values: 101, },"cursor":"fdLf-ZrzN, a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9, 1696500858000000000, 19, "},{"node":{"marketId":"a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9","seq":", {"node":{"marketId":"a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9","seq":"

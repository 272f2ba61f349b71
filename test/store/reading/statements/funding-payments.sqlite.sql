select case count(*) when 0 then null else cast(
concat('                                                                ', '{"node":{"partyId":"', group_concat(middle, '"},{"node":{"partyId":"'), '"}')
as blob) end, count(*)
from (select middle
from (select timestamp, market_id, seq, party_id, concat(party_id, '","marketId":"', market_id, '","fundingPeriodSeq":"', seq, '","timestamp":"', timestamp, '","amount":"', amount, '","lossAmount":"', loss_amount, '"},"cursor":"y', timestamp, '_', market_id, '_', seq, '_', party_id) as middle
from funding_payments
where likelihood(party_id = $2, 0.001) and (timestamp, market_id, seq) < ($3, $4, $5)
order by funding_payments.timestamp desc, funding_payments.market_id desc, funding_payments.seq desc, funding_payments.party_id desc
limit cast($1 as bigint)) as reading ) as page

-- values: 101, b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7, 1696500903000000001, a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9, 15

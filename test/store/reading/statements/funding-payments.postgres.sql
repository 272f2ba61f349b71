select page.*, (exists (select 1
from funding_payments
where party_id = $1 and (timestamp, market_id, seq) >= ($2, $3, $4))), null, state.*
from (select string_agg(coalesce(cast(timestamp as text), ''), E'\n') as column_0, string_agg(coalesce(cast(market_id as text), ''), E'\n') as column_1, string_agg(coalesce(cast(seq as text), ''), E'\n') as column_2, string_agg(coalesce(cast(amount as text), ''), E'\n') as column_3, string_agg(coalesce(cast(loss_amount as text), ''), E'\n') as column_4, count(*) as rows
from (select timestamp, market_id, seq, party_id, amount, loss_amount
from funding_payments
where party_id = $1 and (timestamp, market_id, seq) < ($6, $7, $8)
order by funding_payments.timestamp desc, funding_payments.market_id desc, funding_payments.seq desc, funding_payments.party_id desc
limit cast($5 as bigint)) as page) as page
cross join (
select cast(changes.version as text), cast(mark as text),
cast(stream.height as text), cast(stream.timestamp as text)
from changes
left join stream on true
order by changes.version desc
limit 1) as state

-- values: b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7, 1696500903000000001, a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9, 15, 101, 1696500903000000001, a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9, 15

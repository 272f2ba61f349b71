select null, null, null, null, null, null, null, null, null, null, null, (exists (select 1
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
where (has_figures or fees_paid is not null) and market_id = $1 and (timestamp, party_id, epoch) >= ($2, $3, $4))), null, state.*
from (
select cast(changes.version as text), cast(mark as text),
cast(stream.height as text), cast(stream.timestamp as text)
from changes
left join stream on true
order by changes.version desc
limit 1) as state
union all
select page.*, null, null, null, null, null, null
from (select timestamp, market_id, party_id, epoch, time_on_book, fee_penalty, bond_penalty, required_liquidity, equity_like_share, height, fees_paid
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
where (has_figures or fees_paid is not null) and market_id = $1 and (timestamp, party_id, epoch) < ($6, $7, $8)
order by liquidity_provider_history.timestamp desc, liquidity_provider_history.market_id desc, liquidity_provider_history.party_id desc, liquidity_provider_history.epoch desc
limit cast($5 as bigint)) as page

-- values: a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9, 1696500903000000001, b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7, 0, 101, 1696500903000000001, b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7, 0

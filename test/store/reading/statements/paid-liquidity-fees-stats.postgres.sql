select null, null, null, null, null, null, null, null, (exists (select 1
from paid_liquidity_fees_stats
where market_id = $1 and (asset_id, reverse_epoch, height, event_index) >= ($2, $3, $4, $5))), null, state.*
from (
select cast(changes.version as text), cast(mark as text),
cast(stream.height as text), cast(stream.timestamp as text)
from changes
left join stream on true
order by changes.version desc
limit 1) as state
union all
select page.*, null, null, null, null, null, null
from (select market_id, asset_id, reverse_epoch, height, event_index, epoch, total_fees_paid, fees_paid_per_party
from paid_liquidity_fees_stats
where market_id = $1 and (asset_id, reverse_epoch, height, event_index) < ($7, $8, $9, $10)
order by paid_liquidity_fees_stats.market_id desc, paid_liquidity_fees_stats.asset_id desc, paid_liquidity_fees_stats.reverse_epoch desc, paid_liquidity_fees_stats.height desc, paid_liquidity_fees_stats.event_index desc
limit cast($6 as bigint)) as page

-- values: a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9, c0de, -4, 118, 7, 101, c0de, -4, 118, 7

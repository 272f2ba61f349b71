select null, null, null, null, (exists (select 1
from liquidity_providers
where exists (
select 1
from liquidity_provisions
where liquidity_provisions.market_id = liquidity_providers.market_id
and liquidity_provisions.party_id = liquidity_providers.party_id
and liquidity_provisions.status in (1, 5, 6)) and market_id = $1 and (party_id) >= ($2))), null, state.*
from (
select cast(changes.version as text), cast(mark as text),
cast(stream.height as text), cast(stream.timestamp as text)
from changes
left join stream on true
order by changes.version desc
limit 1) as state
union all
select page.*, null, null, null, null, null, null
from (select market_id, party_id, fee_share, sla
from liquidity_providers
where exists (
select 1
from liquidity_provisions
where liquidity_provisions.market_id = liquidity_providers.market_id
and liquidity_provisions.party_id = liquidity_providers.party_id
and liquidity_provisions.status in (1, 5, 6)) and market_id = $1 and (party_id) < ($4)
order by liquidity_providers.market_id desc, liquidity_providers.party_id desc
limit cast($3 as bigint)) as page

-- values: a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9, b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7, 101, b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7b7

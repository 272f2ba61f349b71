select page.*, (exists (select 1
from checkpoints
where (at_block, hash) >= ($1, $2))), null, state.*
from (select string_agg(coalesce(cast(at_block as text), ''), E'\n') as column_0, string_agg(hash, E'\n') as column_1, string_agg(block_hash, E'\n') as column_2, count(*) as rows
from (select at_block, hash, block_hash
from checkpoints
where (at_block, hash) < ($4, $5)
order by checkpoints.at_block desc, checkpoints.hash desc
limit cast($3 as bigint)) as page) as page
cross join (
select cast(changes.version as text), cast(mark as text),
cast(stream.height as text), cast(stream.timestamp as text)
from changes
left join stream on true
order by changes.version desc
limit 1) as state

-- values: 12, aa, 101, 12, aa

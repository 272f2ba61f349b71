select case count(*) when 0 then null else cast(
concat('                                                                ', '{"node":{"hash":', group_concat(middle, '"},{"node":{"hash":'), '"}')
as blob) end, count(*)
from (select middle
from (select at_block, hash, concat(json_quote(hash), ',"blockHash":', json_quote(block_hash), ',"atBlock":"', at_block, '"},"cursor":"c', at_block, '_', case when unhex(hash) is null then '-' || hex(hash) else hash end) as middle
from checkpoints
where (at_block, hash) < ($2, $3)
order by checkpoints.at_block desc, checkpoints.hash desc
limit cast($1 as bigint)) as reading ) as page

-- values: 101, 12, aa

select case count(*) when 0 then null else cast(
concat('                                                                ', '{"node":{"hash":', group_concat(middle, '"},{"node":{"hash":'), '"}')
as blob) end, count(*)
from (select middle
from (select at_block, hash, concat(case when length(hash) = octet_length(hash) then json_quote(hash) else replace(replace(replace(json_quote(hash), char(133), '\u0085'), char(8232), '\u2028'), char(8233), '\u2029') end, ',"blockHash":', case when length(block_hash) = octet_length(block_hash) then json_quote(block_hash) else replace(replace(replace(json_quote(block_hash), char(133), '\u0085'), char(8232), '\u2028'), char(8233), '\u2029') end, ',"atBlock":"', at_block, '"},"cursor":"c', at_block, '_', case when unhex(hash) is null then '-' || hex(hash) else hash end) as middle
from checkpoints
where (at_block, hash) < ($2, $3)
order by checkpoints.at_block desc, checkpoints.hash desc
limit cast($1 as bigint)) as reading ) as page

-- values: 101, 12, aa

select case count(*) when 0 then null else cast(
concat('                                                                ', '{"node":{"epoch":"', group_concat(middle, '"},{"node":{"epoch":"'), '"}')
as blob) end, count(*)
from (select middle
from (select epoch, concat(epoch, '"', case when start_timestamp is null then '' else concat(',"start":', '"', start_timestamp, '"') end, case when expiry_timestamp is null then '' else concat(',"expiry":', '"', expiry_timestamp, '"') end, case when end_timestamp is null then '' else concat(',"end":', '"', end_timestamp, '"') end, case when end_block is null then '' else concat(',"endBlock":', '"', end_block, '"') end, '},"cursor":"o', epoch) as middle
from (select epochs.epoch as epoch, case
when (ends.height, ends.event_index) > (epochs.height, epochs.event_index)
then coalesce(ends.start_timestamp, epochs.start_timestamp)
else coalesce(epochs.start_timestamp, ends.start_timestamp)
end as start_timestamp, case
when (ends.height, ends.event_index) > (epochs.height, epochs.event_index)
then coalesce(ends.expiry_timestamp, epochs.expiry_timestamp)
else coalesce(epochs.expiry_timestamp, ends.expiry_timestamp)
end as expiry_timestamp,
ends.end_timestamp as end_timestamp, ends.height as end_block, case when (ends.height, ends.event_index) > (epochs.height, epochs.event_index) then ends.height else epochs.height end as height, case when (ends.height, ends.event_index) > (epochs.height, epochs.event_index) then ends.event_index else epochs.event_index end as event_index
from epochs
left join epoch_ends as ends on ends.epoch = epochs.epoch) as epoch_rows
where (epoch) < ($2)
order by epoch_rows.epoch desc
limit cast($1 as bigint)) as reading ) as page

-- values: 101, 4

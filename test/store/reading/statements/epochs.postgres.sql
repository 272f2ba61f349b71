select page.*, (exists (select 1
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
where (epoch) >= ($1))), null, state.*
from (select string_agg(coalesce(cast(epoch as text), ''), E'\n') as column_0, string_agg(coalesce(cast(start_timestamp as text), ''), E'\n') as column_1, string_agg(coalesce(cast(expiry_timestamp as text), ''), E'\n') as column_2, string_agg(coalesce(cast(end_timestamp as text), ''), E'\n') as column_3, string_agg(coalesce(cast(end_block as text), ''), E'\n') as column_4, count(*) as rows
from (select epoch, start_timestamp, expiry_timestamp, end_timestamp, end_block
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
where (epoch) < ($3)
order by epoch_rows.epoch desc
limit cast($2 as bigint)) as page) as page
cross join (
select cast(changes.version as text), cast(mark as text),
cast(stream.height as text), cast(stream.timestamp as text)
from changes
left join stream on true
order by changes.version desc
limit 1) as state

-- values: 4, 101, 4

import { defineResource } from '../../model/resource.ts'
import { epochEndTable, epochTable } from './table.ts'

/** A time that both events of an epoch may set, from the later one; from the other if that does not set it. */
const laterOf = (column: string) => `case
          when (ends.height, ends.event_index) > (epochs.height, epochs.event_index)
          then coalesce(ends.${column}, epochs.${column})
          else coalesce(epochs.${column}, ends.${column})
        end as ${column}`

/** The epochs of the network. */
export const epochs = defineResource({
  name: 'epochs',
  nodeName: 'Epoch',
  summary: 'List the epochs of the network',
  meaning: 'An epoch of the network. Times that no event has set are absent.',
  path: '/api/v2/epochs',
  tag: 9,
  cursor: 'o',
  key: [{ column: 'epoch', type: 'uint64' }],
  storage: {
    table: 'epoch_rows',
    from: ({
      latest,
    }) => `select epochs.epoch as epoch, ${laterOf('start_timestamp')}, ${laterOf('expiry_timestamp')},
        ends.end_timestamp as end_timestamp, ends.height as end_block, ${latest('epochs', 'ends')}
      from epochs left join epoch_ends as ends on ends.epoch = epochs.epoch`,
    derivedFrom: [epochTable.name, epochEndTable.name],
  },
  fields: [
    { name: 'epoch', meaning: 'Number of the epoch.', form: 'integer' },
    {
      name: 'start',
      meaning: 'Start of the epoch, Unix nanoseconds.',
      column: 'start_timestamp',
      form: 'time',
      ifNull: 'left out',
    },
    {
      name: 'expiry',
      meaning: 'Time at which the epoch was due to end, Unix nanoseconds. It ends in a later block.',
      column: 'expiry_timestamp',
      form: 'time',
      ifNull: 'left out',
    },
    {
      name: 'end',
      meaning: 'End of the epoch, Unix nanoseconds. Absent while the epoch is in progress.',
      column: 'end_timestamp',
      form: 'time',
      ifNull: 'left out',
    },
    {
      name: 'endBlock',
      meaning: 'Height of the block in which the epoch ended. Absent while the epoch is in progress.',
      form: 'integer',
      ifNull: 'left out',
    },
  ],
  coverage: 'count',
})

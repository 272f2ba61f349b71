import { integer, integerOf, text, textOf, time } from './columns.ts'
import { isBefore, type View } from './view.ts'

/** A time that both events of an epoch may set, from the later one; from the other if that does not set it. */
const laterOf = (column: string) =>
  `case when ${isBefore('epochs', 'ends')} then coalesce(ends.${column}, epochs.${column})
    else coalesce(epochs.${column}, ends.${column}) end`

/** The network, and what the store is without. */
export const NETWORK_VIEWS: readonly View[] = [
  {
    name: 'v_checkpoints',
    meaning: 'A checkpoint of the network.',
    columns: [
      integer('at_block', 'Height of the block of the checkpoint.', 'checkpoints.at_block'),
      text('hash', 'Hash of the checkpoint.', 'checkpoints.hash'),
      text('block_hash', 'Hash of the block.', 'checkpoints.block_hash'),
      ...time('timestamp', 'Time of the block with the event.', 'checkpoints.block_timestamp'),
    ],
    from: () => 'from checkpoints',
  },
  {
    name: 'v_epochs',
    meaning: 'An epoch of the network. Times that no event has set are null.',
    columns: [
      integer('epoch', 'Number of the epoch.', 'epochs.epoch'),
      ...time('start_timestamp', 'Start of the epoch.', laterOf('start_timestamp'), integerOf),
      ...time(
        'expiry_timestamp',
        'Time at which the epoch was due to end. It ends in a later block.',
        laterOf('expiry_timestamp'),
        integerOf,
      ),
      ...time('end_timestamp', 'End of the epoch; null while it is in progress.', 'ends.end_timestamp'),
      integer('end_block', 'Height of the block of the end; null while it is in progress.', 'ends.height'),
    ],
    from: () => `from epochs
  left join epoch_ends as ends on ends.epoch = epochs.epoch`,
  },
  {
    name: 'v_gaps',
    meaning: 'A range of blocks of which something is or may be missing.',
    columns: [
      textOf(
        'kind',
        '`missing`: none of the blocks is stored; `incomplete`: some of their events are missing; `imported`: their rows are from an import; `older`: an older version stored them without the resource in `lacks`; `pruned`: old rows have been deleted.',
        'coalesce(gaps.kind, kinds.value)',
      ),
      integerOf(
        'from_height',
        'First height.',
        'coalesce(gaps.from_height, imported.from_height, stream.first_height)',
      ),
      integerOf(
        'to_height',
        'Last height; null if rows were deleted by time.',
        'coalesce(gaps.to_height, imported.to_height, since.height - 1, pruned.before_height - 1)',
      ),
      ...time(
        'start_timestamp',
        'Time of the last stored block before a gap; null if it is not known.',
        'gaps.start_timestamp',
      ),
      ...time(
        'end_timestamp',
        'Time of the first stored block after the range, or before which rows were deleted; null if it is not known.',
        'coalesce(gaps.end_timestamp, since.start_timestamp, pruned.before_timestamp)',
        integerOf,
      ),
      textOf(
        'lacks',
        'The resources that imported or older blocks are stored without, by their names in `/api/v2/coverage`, with spaces between them.',
        "coalesce(nullif(imported.lacks, ''), since.resource)",
      ),
    ],
    from: ({ words }) => `from ${words(['gap', 'imported', 'older', 'pruned'], 'kinds')}
  left join gaps on kinds.value = 'gap'
  left join imported on kinds.value = 'imported'
  left join stream on kinds.value in ('older', 'pruned')
  left join since on kinds.value = 'older' and since.height > stream.first_height
  left join pruned on kinds.value = 'pruned'
where coalesce(gaps.from_height, imported.from_height, since.height, pruned.id) is not null`,
  },
]

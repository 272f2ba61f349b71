import { boolean, integer, natural, orNull, positionColumns } from '../../model/columns.ts'
import { defineTable } from '../../model/table.ts'

/** A row for each epoch. Its times are those of the latest start; null without one, or if that does not set them. */
export const epochTable = defineTable({
  name: 'epochs',
  counted: 'epochs',
  columns: {
    epoch: natural(),
    /** Whether a start of the epoch is stored. If not, the row only says that there is an end. */
    has_start: boolean(),
    start_timestamp: orNull(integer()),
    expiry_timestamp: orNull(integer()),
    ...positionColumns,
  },
  key: ['epoch'],
  fullIf: 'has_start',
  distribution: 'nowhere',
})

/** The latest end of each epoch that has ended. It repeats start and expiry, and its height is the block of the end. */
export const epochEndTable = defineTable({
  name: 'epoch_ends',
  columns: {
    epoch: natural(),
    start_timestamp: orNull(integer()),
    expiry_timestamp: orNull(integer()),
    end_timestamp: orNull(integer()),
    ...positionColumns,
  },
  key: ['epoch'],
  distribution: 'nowhere',
})

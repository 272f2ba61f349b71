/** The age limit: an earlier time (Unix nanoseconds), or a lower height. */
export type PruneBound = { by: 'time' | 'height'; before: bigint }

/** The key of a row, as text. */
export type RowKey = readonly string[]

/** The age limit: an earlier time (Unix nanoseconds), or a lower height. */
export type PruneBound = { by: 'time' | 'height'; before: bigint }

/** The key of a row, as text. */
export type RowKey = readonly string[]

/** The rest of a data point's key within those of its market and source. */
export type PointKey = { timestamp: bigint; seq: bigint }

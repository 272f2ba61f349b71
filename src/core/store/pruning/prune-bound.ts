/** The limit of age: rows before a time (Unix nanoseconds), or below a height. */
export type PruneBound = { by: 'time' | 'height'; before: bigint }

/** The key of a row, as text. */
export type RowKey = readonly string[]

/** A row of a table: the texts of the requested columns, in their order; null if a column is null. */
export type SourceRow = readonly (string | null)[]

/** A block of the table `blocks`: its height, and its time in Unix microseconds. */
export type SourceBlock = { height: number; time: number }

/** A row of history, with the height of its block. */
export type HistoryRow = { height: number; row: SourceRow }

/**
 * A row of current state, with the time of its block in Unix microseconds, NaN if that is not a time. `height` is the
 * height of the block, `heightOfSecond` that of the block that the query's `second` names; both are null if the source does
 * not have the block.
 */
export type CurrentRow = {
  row: SourceRow
  time: number
  height: number | null
  heightOfSecond: number | null
}

/** The columns of a table to be read. The time of the row's block follows them. State rows are in the order of `key`. */
export type TableQuery = {
  table: string
  columns: readonly string[]
  /** The column that names a block by the second of its time, if no other block has that second. */
  second?: string
  key: readonly string[]
  /** Whether fields are lists, which are read whole. Other fields of history are cut if they are too long for any store. */
  hasLists?: true
  /** Whether segments contain the whole table, with the rows of all earlier blocks. */
  isInState?: true
  /**
   * Only rows of blocks in which another table has rows too. In a database they are found by an indexed column: the time of
   * their block, or up to a second later.
   */
  besides?: { query: TableQuery; by: string }
  /** Another table, without which the rows have no meaning. */
  needs?: TableQuery
}

/** Consecutive blocks with their rows: a segment, or a whole database. */
export type HistoryPart = {
  name: string
  /** The lowest and the highest height; null if there is no block. */
  ends: { from: number; to: number } | null
  /** Why a table cannot be read; null if it can. */
  whyUnreadable(query: TableQuery): string | null
  /** The blocks from a height on, ascending. */
  blocks(from: number): AsyncIterable<readonly SourceBlock[]>
  /** Rows of the wanted blocks from a height on, ascending by height. Rows of other blocks may be among them. */
  history(
    query: TableQuery,
    from: number,
    isWanted: (height: number) => boolean,
  ): AsyncGenerator<readonly HistoryRow[], void, undefined>
}

/** Progress of reading a source. */
export type SourceProgress = {
  /** Name of the part that is being read. */
  source: string
  bytesRead: number
  rows: number
  /** Number of rows of history left out because their block is not in the source. */
  withoutBlock: number
}

/** Options of opening a source. */
export type SourceOptions = {
  /** Whether an unknown schema version is accepted. */
  force?: boolean
  /** Ends reading, with its reason as the error. */
  signal?: AbortSignal | undefined
  /** Folder in which rows of segments are sorted; the system's temporary folder by default. */
  temp?: string | undefined
  /** Called with a line of text for the user. */
  onNotice?: (message: string) => void
}

/** The history of a data node, from its tables. */
export type ImportSource = {
  /** Its name for people, without a password. */
  name: string
  chainId: string
  /** Ascending by height. Parts may overlap, and blocks between them may be missing. */
  parts: readonly HistoryPart[]
  /** Why a table of current state cannot be read; null if it can. */
  whyUnreadable(query: TableQuery): string | null
  /** The rows of a table of current state. The blocks of all parts must have been read before. */
  state(query: TableQuery): AsyncIterable<readonly CurrentRow[]>
  progress: SourceProgress
  close(): Promise<void>
}

/** A row of a table: the texts of the columns that were asked for, in their order; null if the column is null. */
export type SourceRow = readonly (string | null)[]

/** A block of the table `blocks`: its height, and its time in Unix microseconds. */
export type SourceBlock = { height: number; time: number }

/** A row of history, with the height of the block that it came in. */
export type HistoryRow = { height: number; row: SourceRow }

/**
 * A row of current state, with the time of its block in Unix microseconds, NaN if it is none. `height` is that of the block,
 * `heightOfSecond` that of the block that the query's `second` names: null if the source has none.
 */
export type CurrentRow = {
  row: SourceRow
  time: number
  height: number | null
  heightOfSecond: number | null
}

/** Columns to read of a table, with the time of the row's block after them. State rows are in the order of `key`. */
export type TableQuery = {
  table: string
  columns: readonly string[]
  /** The one that names a block by the second of its time, if no other block has that second. */
  second?: string
  key: readonly string[]
  /** Whether fields are lists, which are read whole. Other fields of history are cut if no store can keep them. */
  hasLists?: true
  /** Whether it is one of the tables that segments have whole, with the rows of all blocks before. */
  isInState?: true
  /**
   * Only rows of blocks in which another table has rows, too. In a database they are found by an indexed column: the time
   * of their block, or up to a second more.
   */
  besides?: { query: TableQuery; by: string }
  /** Another table without which its rows mean nothing. */
  needs?: TableQuery
}

/** A run of blocks with their rows: a segment, or a whole database. */
export type HistoryPart = {
  name: string
  /** The lowest and the highest height; null if there is no block. */
  ends: { from: number; to: number } | null
  /** Why a table cannot be read; null if it can. */
  whyUnreadable(query: TableQuery): string | null
  /** The blocks from a height on, ascending. */
  blocks(from: number): AsyncIterable<readonly SourceBlock[]>
  /** Rows of blocks from a height on that are wanted, by height ascending; those of others may be among them. */
  history(
    query: TableQuery,
    from: number,
    isWanted: (height: number) => boolean,
  ): AsyncGenerator<readonly HistoryRow[], void, undefined>
}

/** Progress of reading a source. */
export type SourceProgress = {
  /** Name of the part being read. */
  source: string
  bytesRead: number
  rows: number
  /** Rows of history that were left out since their block is not in the source. */
  withoutBlock: number
}

/** Options of opening a source. */
export type SourceOptions = {
  /** Whether a schema version that is not known is tried. */
  force?: boolean
  /** Ends reading: with its reason as the error. */
  signal?: AbortSignal | undefined
  /** Folder in which rows of segments are sorted; the system's own by default. */
  temp?: string | undefined
  /** Called with a line for the user. */
  onNotice?: (message: string) => void
}

/** The history of a data node, from its tables. */
export type ImportSource = {
  /** Its name for people, without a password. */
  name: string
  chainId: string
  /** Ascending by height; they may overlap, and leave blocks out. */
  parts: readonly HistoryPart[]
  /** Why a table of current state cannot be read; null if it can. */
  whyUnreadable(query: TableQuery): string | null
  /** The rows of a table of current state. The blocks of all parts must have been read before. */
  state(query: TableQuery): AsyncIterable<readonly CurrentRow[]>
  progress: SourceProgress
  close(): Promise<void>
}

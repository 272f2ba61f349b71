import { ImportError } from '../import-error.ts'
import { microsecondsOf } from '../reference-values.ts'
import type {
  HistoryPart,
  HistoryRow,
  SourceBlock,
  SourceProgress,
  SourceRow,
  TableQuery,
} from '../source.ts'
import { BLOCK_TIME, BLOCKS, HISTORY, STATE } from '../tables.ts'
import { METADATA, readMetadata, refuseTar } from './segment-metadata.ts'
import type { SegmentName } from './segment-name.ts'
import { readEntryRows, readHeaderLines } from './segment-tables.ts'
import type { SortingDatabase } from './sorting-database.ts'
import { readZipDirectory, type ZipDirectory } from './zip-file.ts'

/**
 * The entry of a table: `history` has the rows with times from the segment's first block on, `currentstate` the whole table
 * as it was after the segment's last block.
 */
const entryOf = ({ table, isInState }: TableQuery) => `${isInState ? 'currentstate' : 'history'}/${table}`

const OF_BLOCKS: readonly TableQuery[] = [BLOCKS, ...Object.values(HISTORY)]

/** The entries that are read. */
const READ_ENTRIES = [...OF_BLOCKS, ...Object.values(STATE)].map(entryOf)

/** The entries whose rows are all sorted. Of the others hardly any rows are. */
const SORTED_ENTRIES = OF_BLOCKS.filter(({ besides }) => besides === undefined).map(entryOf)

/** All columns that a query reads. */
const columnsOf = ({ columns }: TableQuery) => [...columns, BLOCK_TIME]

/** The text of a column of the row that was just read, by the column's index in the query. */
type TextOf = (column: number) => string | null

/** A segment whose name, directory and header lines have been read. */
export type Segment = SegmentName & {
  path: string
  part: HistoryPart
  /** The uncompressed size of the history tables that are read, in bytes. */
  historyBytes: number
  whyUnreadable(query: TableQuery): string | null
  /** Rows of a table of current state, in the order of the file. */
  currentState(query: TableQuery): AsyncGenerator<SourceRow[], void, undefined>
}

type SegmentOptions = {
  progress: SourceProgress
  /** Ends reading with its reason as the error. */
  signal: AbortSignal | undefined
  /** The database in which rows and blocks are sorted, those of one segment at a time. */
  sorting: SortingDatabase
}

/**
 * Opens a segment, and compares its name with its metadata.
 *
 * @throws {ImportError} for a file that is not a readable segment.
 */
export async function openSegment(path: string, options: SegmentOptions): Promise<Segment> {
  refuseTar(path)
  const zip = await readZipDirectory(path, (entry) => entry === METADATA || READ_ENTRIES.includes(entry))
  const name = await readMetadata(path, zip)
  const tables = new SegmentTables(path, zip, await readHeaderLines(path, zip), options)
  const cannotRead = tables.whyUnreadable(BLOCKS)
  if (cannotRead !== null) {
    throw new ImportError(
      `${cannotRead}: a segment cannot be imported without its blocks. Copy the segment again`,
    )
  }
  return {
    ...name,
    path,
    historyBytes: zip.names
      .filter((entry) => SORTED_ENTRIES.includes(entry))
      .reduce((sum, entry) => sum + zip.size(entry), 0),
    whyUnreadable: (query) => tables.whyUnreadable(query),
    currentState: (query) => tables.currentState(query),
    part: new SegmentHistory(path, name, tables, options),
  }
}

/** The tables of a segment's file, in the order of the file. */
class SegmentTables {
  readonly #path: string
  readonly #zip: ZipDirectory
  /** The names of each entry's columns. */
  readonly #columns: ReadonlyMap<string, readonly string[]>
  readonly #options: SegmentOptions

  constructor(
    path: string,
    zip: ZipDirectory,
    columns: ReadonlyMap<string, readonly string[]>,
    options: SegmentOptions,
  ) {
    this.#path = path
    this.#zip = zip
    this.#columns = columns
    this.#options = options
  }

  /** Why a table cannot be read; null if it can. */
  whyUnreadable(query: TableQuery): string | null {
    const entry = entryOf(query)
    const columns = this.#columns.get(entry)
    if (columns === undefined) return `${this.#path} has no entry ${entry}`
    const missing = columnsOf(query).find((column) => !columns.includes(column))
    if (missing !== undefined) return `${this.#path}: ${entry} has no column ${missing}`
    const needed = query.needs ?? query.besides?.query
    return needed === undefined ? null : this.whyUnreadable(needed)
  }

  /** Reads a table, and calls `onRow` with each of its rows. Yields after each piece of the file. */
  read(query: TableQuery, onRow: (textOf: TextOf) => void): AsyncGenerator<void, void, undefined> {
    const columns = this.#columns.get(entryOf(query))!
    const indexes = columnsOf(query).map((column) => columns.indexOf(column))
    return readEntryRows(this.#path, this.#zip, entryOf(query), this.#options, (row) =>
      onRow((column) => row.field(indexes[column]!)),
    )
  }

  async *currentState(query: TableQuery): AsyncGenerator<SourceRow[], void, undefined> {
    let rows: SourceRow[] = []
    const add = (textOf: TextOf) => rows.push(columnsOf(query).map((_, column) => textOf(column)))
    for await (const _ of this.read(query, add)) {
      if (rows.length > 0) yield rows
      rows = []
    }
  }
}

/** The history in a segment, sorted by block. */
class SegmentHistory implements HistoryPart {
  readonly name: string
  readonly ends: { from: number; to: number }
  readonly #segment: SegmentName
  readonly #tables: SegmentTables
  readonly #options: SegmentOptions
  #areBlocksRead = false

  constructor(path: string, segment: SegmentName, tables: SegmentTables, options: SegmentOptions) {
    this.name = path
    this.ends = { from: segment.from, to: segment.to }
    this.#segment = segment
    this.#tables = tables
    this.#options = options
  }

  whyUnreadable(query: TableQuery): string | null {
    return this.#tables.whyUnreadable(query)
  }

  async *blocks(from: number): AsyncGenerator<readonly SourceBlock[], void, undefined> {
    await this.#readBlocks()
    yield* this.#options.sorting.blocks(from)
  }

  async *history(
    query: TableQuery,
    from: number,
    isWanted: (height: number) => boolean,
  ): AsyncGenerator<readonly HistoryRow[], void, undefined> {
    await this.#readBlocks()
    const { sorting, progress } = this.#options
    const { columns: wanted, besides } = query
    const heights = besides === undefined ? null : await this.#heightsOf(besides.query, from, isWanted)
    // This is the largest table of a segment, and most segments have nothing to read in it.
    if (heights?.size === 0) return
    const sorter = sorting.sorter(query.table, wanted.length, query.hasLists)
    await readToEnd(
      this.#tables.read(query, (textOf) => {
        const height = sorter.heightOf(microsecondsOf(textOf(wanted.length)))
        if (height === null) {
          if (!query.isInState) progress.withoutBlock++
        } else if (heights === null ? height >= from && isWanted(height) : heights.has(height)) {
          sorter.add(
            height,
            wanted.map((_, column) => textOf(column)),
          )
        }
      }),
    )
    yield* sorter.sorted()
  }

  /** The wanted heights, from `from` on, at which a table has rows. */
  async #heightsOf(
    query: TableQuery,
    from: number,
    isWanted: (height: number) => boolean,
  ): Promise<Set<number>> {
    const heights = new Set<number>()
    await readToEnd(
      this.#tables.read(query, (textOf) => {
        const height = this.#options.sorting.heightOf(microsecondsOf(textOf(query.columns.length)))
        if (height !== null && height >= from && isWanted(height)) heights.add(height)
      }),
    )
    return heights
  }

  /** Sorts the blocks, by whose times rows have heights. */
  async #readBlocks(): Promise<void> {
    if (this.#areBlocksRead) return
    this.#options.sorting.beginBlocks()
    await readToEnd(this.#tables.read(BLOCKS, (textOf) => this.#addBlock(textOf(0), textOf(1))))
    this.#areBlocksRead = true
  }

  /** @throws {ImportError} for a block that is invalid, not of this segment, or there twice. */
  #addBlock(text: string | null, time: string | null): void {
    const { from, to } = this.#segment
    const fail = (what: string) =>
      new ImportError(`${this.name}: its entry history/blocks has ${what}. Copy the segment again`)
    const height = Number(text)
    if (!/^\d{1,15}$/.test(text ?? '') || height < from || height > to) {
      throw fail(`block ${JSON.stringify(text)}, which is not one of ${from} to ${to}`)
    }
    const micros = microsecondsOf(time)
    if (Number.isNaN(micros)) throw fail(`block ${text} at ${JSON.stringify(time)}, which is not a time`)
    const twice = this.#options.sorting.addBlock({ height, time: micros })
    if (twice !== null) throw fail(twice)
  }
}

/** Reads to the end. */
async function readToEnd(pieces: AsyncIterable<void>): Promise<void> {
  for await (const _ of pieces);
}

import { ImportError } from './import-error.ts'
import { microsecondsOf } from './reference-values.ts'
import { METADATA, readMetadata, refuseTar } from './segment-metadata.ts'
import type { SegmentName } from './segment-name.ts'
import { PickedRow, readEntryRows, readHeaderLines } from './segment-tables.ts'
import type { SortingDatabase } from './sorting-database.ts'
import type { HistoryPart, SourceProgress, SourceRow, TableQuery } from './source.ts'
import { BLOCKS, HISTORY, STATE } from './tables.ts'
import { readZipDirectory } from './zip-file.ts'

/** Rows with a time from the segment's first block on; and tables whole as they were after its last. */
type Folder = 'history' | 'currentstate'

const folderOf = ({ isInState }: TableQuery): Folder => (isInState ? 'currentstate' : 'history')

const OF_HISTORY: readonly TableQuery[] = Object.values(HISTORY)

const entriesOf = (queries: readonly TableQuery[]) =>
  queries.map((query) => `${folderOf(query)}/${query.table}`)

/** The entries that are read. */
const READ_ENTRIES: ReadonlySet<string> = new Set([
  ...entriesOf([BLOCKS, ...OF_HISTORY]),
  ...Object.values(STATE).map(({ table }) => `currentstate/${table}`),
])

/** Those whose rows are all sorted; of the others, hardly any are. */
const SORTED_ENTRIES = entriesOf([BLOCKS, ...OF_HISTORY.filter(({ besides }) => besides === undefined)])

/** A segment whose name, directory and header lines have been read. */
export type Segment = SegmentName & {
  path: string
  part: HistoryPart
  /** Size of the tables of history that are read, not compressed. */
  historyBytes: number
  lacks(folder: Folder, query: TableQuery): string | null
  /** Rows of a table of current state, in the order of the file. */
  currentState(query: TableQuery): AsyncGenerator<SourceRow[], void, undefined>
}

export type SegmentOptions = {
  progress: SourceProgress
  /** Ends reading with an error. */
  signal: AbortSignal | undefined
  /** Called with each row of history whose block the segment does not have. */
  onNoBlock: (table: string) => void
  /** Where rows and blocks are sorted; of one segment at a time. */
  sorting: SortingDatabase
}

/**
 * Opens a segment, and checks what its name says against its metadata.
 *
 * @throws {ImportError} for a file that is not a segment that can be read.
 */
export async function openSegment(path: string, options: SegmentOptions): Promise<Segment> {
  refuseTar(path)
  const zip = await readZipDirectory(path, (entry) => entry === METADATA || READ_ENTRIES.has(entry))
  const name = await readMetadata(path, zip)
  const columns = await readHeaderLines(path, zip)
  const lacks = (folder: Folder, query: TableQuery): string | null => {
    const { table, columns: wanted, times, seconds = [], besides } = query
    const known = columns.get(`${folder}/${table}`)
    if (known === undefined) return `${path} has no entry ${folder}/${table}`
    const missing = [...wanted, ...times, ...seconds].find((column) => !known.includes(column))
    if (missing !== undefined) return `${path}: ${folder}/${table} has no column ${missing}`
    return besides === undefined ? null : lacks(folderOf(besides.query), besides.query)
  }
  /** Reads a table; the columns that `onRow` asks for are the query's, in its order. */
  const read = (
    folder: Folder,
    { table, columns: wanted, times, seconds = [] }: TableQuery,
    onRow: (row: PickedRow) => void,
  ) => {
    const known = columns.get(`${folder}/${table}`)!
    const picked = new PickedRow([...wanted, ...times, ...seconds].map((column) => known.indexOf(column)))
    return readEntryRows(path, zip, `${folder}/${table}`, options, (row) => {
      picked.row = row
      onRow(picked)
    })
  }
  const cannotRead = lacks('history', BLOCKS)
  if (cannotRead !== null) {
    throw new ImportError(
      `${cannotRead}: a segment cannot be imported without its blocks. Copy the segment again`,
    )
  }
  const { sorting } = options
  /** The heights from one on that are wanted, and in which a table has rows. */
  const heightsOf = async (query: TableQuery, from: number, isWanted: (height: number) => boolean) => {
    const heights = new Set<number>()
    await readToEnd(
      read(folderOf(query), query, (row) => {
        const height = sorting.heightOf(microsecondsOf(row.text(query.columns.length)))
        if (height !== null && height >= from && isWanted(height)) heights.add(height)
      }),
    )
    return heights
  }
  let areBlocksRead = false
  const readBlocks = async () => {
    if (areBlocksRead) return
    await sortBlocks(path, name, sorting, (onRow) => readToEnd(read('history', BLOCKS, onRow)))
    areBlocksRead = true
  }
  return {
    ...name,
    path,
    historyBytes: zip.names
      .filter((entry) => SORTED_ENTRIES.includes(entry))
      .reduce((sum, entry) => sum + zip.size(entry), 0),
    lacks,
    async *currentState(query) {
      const width = query.columns.length + query.times.length + (query.seconds?.length ?? 0)
      let rows: SourceRow[] = []
      const add = (row: PickedRow) => rows.push(row.texts(width))
      for await (const _ of read('currentstate', query, add)) {
        if (rows.length > 0) yield rows
        rows = []
      }
    },
    part: {
      name: path,
      ends: { from: name.from, to: name.to },
      lacks: (query) => lacks(folderOf(query), query),
      async *blocks(from) {
        await readBlocks()
        yield* sorting.blocks(from)
      },
      async *history(query, from, isWanted) {
        await readBlocks()
        const { columns: wanted, stamps = [], besides } = query
        const heights = besides === undefined ? null : await heightsOf(besides.query, from, isWanted)
        // The largest table of a segment, of which most segments have nothing to read.
        if (heights?.size === 0) return
        const stampAt = new Set(stamps.map((column) => wanted.indexOf(column)))
        const sorter = sorting.sorter(query.table, wanted.length, query.hasLists)
        await readToEnd(
          read(folderOf(query), query, (row) => {
            row.stamps = stampAt
            const height = sorter.heightOf(microsecondsOf(row.text(wanted.length)))
            if (height === null) {
              if (!query.isInState) options.onNoBlock(query.table)
            } else if (heights === null ? height >= from && isWanted(height) : heights.has(height)) {
              sorter.add(height, row.texts(wanted.length))
            }
          }),
        )
        yield* sorter.sorted()
      },
    },
  }
}

/** Reads to the end. */
async function readToEnd(pieces: AsyncIterable<void>): Promise<void> {
  for await (const _ of pieces);
}

async function sortBlocks(
  path: string,
  { from, to }: SegmentName,
  sorting: SortingDatabase,
  read: (onRow: (row: PickedRow) => void) => Promise<void>,
): Promise<void> {
  const fail = (what: string) =>
    new ImportError(`${path}: its entry history/blocks has ${what}. Copy the segment again`)
  sorting.beginBlocks()
  await read((row) => {
    const [text, time] = [row.text(0), row.text(1)]
    const height = Number(text)
    if (!/^\d{1,15}$/.test(text ?? '') || height < from || height > to) {
      throw fail(`block ${JSON.stringify(text)}, which is not one of ${from} to ${to}`)
    }
    const micros = microsecondsOf(time)
    if (Number.isNaN(micros)) throw fail(`block ${text} at ${JSON.stringify(time)}, which is not a time`)
    const twice = sorting.addBlock({ height, time: micros })
    if (twice !== null) throw fail(twice)
  })
}

import { ImportError } from './import-error.ts'
import { microsecondsOf } from './reference-values.ts'
import { MAX_SEGMENT_BLOCKS, SegmentBlocks } from './segment-blocks.ts'
import { METADATA, readMetadata, refuseTar } from './segment-metadata.ts'
import type { SegmentName } from './segment-name.ts'
import { PickedRow, readColumns, readRows } from './segment-tables.ts'
import { sortByBlock } from './sort-by-block.ts'
import type { HistoryPart, HistoryRow, SourceBlock, SourceProgress, TableQuery } from './source.ts'
import { BLOCKS, HISTORY, STATE } from './tables.ts'
import { readZipDirectory } from './zip-file.ts'

/** The entries that are read. */
const READ_ENTRIES: ReadonlySet<string> = new Set([
  ...[BLOCKS, ...Object.values(HISTORY)].map(({ table }) => `history/${table}`),
  ...Object.values(STATE).map(({ table }) => `currentstate/${table}`),
])

/** Blocks that are handed on at once. */
const CHUNK_BLOCKS = 1_000

/** Rows with a time from the segment's first block on; and tables whole as they were after its last. */
type Folder = 'history' | 'currentstate'

type Texts = (string | null)[]

/** A segment whose name, directory and header lines have been read. */
export type Segment = SegmentName & {
  path: string
  part: HistoryPart
  lacks(folder: Folder, query: TableQuery): string | null
  /** Rows of a table of current state, in the order of the file. */
  currentState(query: TableQuery): AsyncGenerator<Texts[], void, undefined>
}

export type SegmentOptions = {
  progress: SourceProgress
  /** Ends reading with an error. */
  signal: AbortSignal | undefined
  /** Called with each block that is read. */
  onBlock: (block: SourceBlock) => void
  /** Called with each row of history whose block the segment does not have. */
  onNoBlock: (table: string) => void
  /** Memory for rows that are sorted, in bytes. */
  maxBytes: number
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
  const columns = await readColumns(path, zip)
  const lacks = (folder: Folder, { table, columns: wanted, times, seconds = [] }: TableQuery) => {
    const known = columns.get(`${folder}/${table}`)
    if (known === undefined) return `${path} has no entry ${folder}/${table}`
    const missing = [...wanted, ...times, ...seconds].find((column) => !known.includes(column))
    return missing === undefined ? null : `${path}: ${folder}/${table} has no column ${missing}`
  }
  /** Reads a table; the columns that `onRow` asks for are the query's, in its order. */
  const read = (
    folder: Folder,
    { table, columns: wanted, times, seconds = [] }: TableQuery,
    onRow: (row: PickedRow) => void,
  ) => {
    const known = columns.get(`${folder}/${table}`)!
    const picked = new PickedRow([...wanted, ...times, ...seconds].map((column) => known.indexOf(column)))
    return readRows(path, zip, `${folder}/${table}`, options, (row) => {
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
  let blocks: SegmentBlocks | null = null
  const allBlocks = async () => {
    blocks ??= await readBlocks(path, name, (onRow) => drained(read('history', BLOCKS, onRow)))
    return blocks
  }
  return {
    ...name,
    path,
    lacks,
    async *currentState(query) {
      const width = query.columns.length + query.times.length + (query.seconds?.length ?? 0)
      let rows: Texts[] = []
      const add = (row: PickedRow) =>
        rows.push(Array.from({ length: width }, (_, column) => row.text(column)))
      for await (const _ of read('currentstate', query, add)) {
        if (rows.length > 0) yield rows
        rows = []
      }
    },
    part: {
      name: path,
      ends: { from: name.from, to: name.to },
      lacks: (query) => lacks('history', query),
      async *blocks(from) {
        const all = await allBlocks()
        for (let index = 0; index < all.heights.length; index++) options.onBlock(all.at(index))
        const first = all.heights.findIndex((height) => height >= from)
        for (let start = first; start >= 0 && start < all.heights.length; start += CHUNK_BLOCKS) {
          const end = Math.min(start + CHUNK_BLOCKS, all.heights.length)
          yield Array.from({ length: end - start }, (_, offset) => all.at(start + offset))
        }
        blocks = null
      },
      async *history(query, from, isWanted): AsyncGenerator<HistoryRow[], void, undefined> {
        const all = await allBlocks()
        const wanted = Uint8Array.from(all.heights, (height) => (height >= from && isWanted(height) ? 1 : 0))
        const { columns: wantedColumns, stamps = [] } = query
        const stampAt = new Set(stamps.map((column) => wantedColumns.indexOf(column)))
        const timeAt = wantedColumns.length
        let isFirst = true
        yield* sortByBlock({
          name: `${path}: history/${query.table}`,
          heights: all.heights,
          width: wantedColumns.length,
          // Of points there are many times as many as of all else.
          maxBytes: query.table === HISTORY.points.table ? options.maxBytes : options.maxBytes / 8,
          async read(onRow) {
            const onNoBlock = isFirst ? () => options.onNoBlock(query.table) : () => {}
            isFirst = false
            await drained(
              read('history', query, (row) => {
                row.stamps = stampAt
                const block = all.find(microsecondsOf(row.text(timeAt)))
                if (block < 0) onNoBlock()
                else if (wanted[block] === 1) onRow(block, row)
              }),
            )
          },
        })
      },
    },
  }
}

/** Reads to the end. */
async function drained(pieces: AsyncIterable<void>): Promise<void> {
  for await (const _ of pieces);
}

async function readBlocks(
  path: string,
  { from, to }: SegmentName,
  read: (onRow: (row: PickedRow) => void) => Promise<void>,
): Promise<SegmentBlocks> {
  const fail = (what: string) =>
    new ImportError(`${path}: its entry history/blocks has ${what}. Copy the segment again`)
  const heights: number[] = []
  const times: number[] = []
  await read((row) => {
    const [height, time] = [row.text(0), row.text(1)]
    if (heights.length >= MAX_SEGMENT_BLOCKS) {
      throw fail(`more than ${MAX_SEGMENT_BLOCKS} blocks; real segments have a few thousand`)
    }
    const number = Number(height)
    if (!/^\d{1,15}$/.test(height ?? '') || number < from || number > to) {
      throw fail(`block ${JSON.stringify(height)}, which is not one of ${from} to ${to}`)
    }
    const micros = microsecondsOf(time)
    if (Number.isNaN(micros)) throw fail(`block ${height} at ${JSON.stringify(time)}, which is not a time`)
    heights.push(number)
    times.push(micros)
  })
  const blocks = new SegmentBlocks(heights, times)
  if (blocks.twice !== null) throw fail(blocks.twice)
  return blocks
}

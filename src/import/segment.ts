import { closeSync, openSync, readSync } from 'node:fs'
import { CsvError, CsvReader, type CsvRow } from './csv-reader.ts'
import { ImportError } from './import-error.ts'
import { microsecondsOf } from './reference-values.ts'
import { MAX_SEGMENT_BLOCKS, SegmentBlocks } from './segment-blocks.ts'
import { parseSegmentName, type SegmentName, segmentName } from './segment-name.ts'
import { sortByBlock } from './sort-by-block.ts'
import type { HistoryPart, HistoryRow, SourceBlock, SourceProgress, TableQuery } from './source.ts'
import { BLOCKS, HISTORY, STATE } from './tables.ts'
import { readZipDirectory, type ZipDirectory } from './zip-file.ts'

const METADATA = 'metadata.json'
const MAX_METADATA_BYTES = 64 * 1024

/** The entries that are read. */
const READ_ENTRIES: ReadonlySet<string> = new Set([
  ...[BLOCKS, ...Object.values(HISTORY)].map(({ table }) => `history/${table}`),
  ...Object.values(STATE).map(({ table }) => `currentstate/${table}`),
])

/** Header lines have a few hundred bytes. */
const MAX_HEADER_BYTES = 64 * 1024

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
  const name = await readName(path, zip)
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
      `${cannotRead}: without its blocks nothing of a segment can be imported. Copy the segment again`,
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
        for (let start = all.from(from); start < all.heights.length; start += CHUNK_BLOCKS) {
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
          maxBytes: options.maxBytes,
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

/** A row of which some columns are read, by their order in a query. */
class PickedRow {
  row: CsvRow | null = null
  /** Columns that are times, and are given as Unix microseconds. */
  stamps: ReadonlySet<number> = new Set()
  readonly #places: readonly number[]

  constructor(places: readonly number[]) {
    this.#places = places
  }

  integer(column: number): number {
    if (!this.stamps.has(column)) return this.row!.integer(this.#places[column]!)
    const time = microsecondsOf(this.row!.text(this.#places[column]!))
    return time >= 0 ? time : -1
  }

  text(column: number): string | null {
    const text = this.row!.text(this.#places[column]!)
    return this.stamps.has(column) ? String(microsecondsOf(text)) : text
  }
}

/** Reads to the end. */
async function drained(pieces: AsyncIterable<void>): Promise<void> {
  for await (const _ of pieces);
}

/** Segments of v0.70 and before are tar archives, whose tables have no header lines. */
function refuseTar(path: string): void {
  const start = Buffer.alloc(512)
  const file = openSync(path, 'r')
  try {
    readSync(file, start, 0, start.length, 0)
  } finally {
    closeSync(file)
  }
  const isTar = start.toString('latin1', 257, 262) === 'ustar'
  const isGzip = start[0] === 0x1f && start[1] === 0x8b
  if (!isTar && !isGzip) return
  throw new ImportError(
    `${path}: a ${isTar ? 'tar' : 'gzip'} archive, as v0.70 of the data node and older ones wrote: their tables have no header lines and cannot be imported. ` +
      'Import the database of a node that has loaded them, or segments of v0.71 or later',
  )
}

async function readName(path: string, zip: ZipDirectory): Promise<SegmentName> {
  if (!zip.names.includes(METADATA)) {
    throw new ImportError(
      `${path}: has no ${METADATA}, and so is not a network-history segment. \`data-node network-history copy\` writes them`,
    )
  }
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of zip.read(METADATA)) {
    size += piece.length
    if (size > MAX_METADATA_BYTES)
      throw new ImportError(`${path}: ${METADATA} has more than ${MAX_METADATA_BYTES} bytes`)
    pieces.push(piece)
  }
  const metadata = parseMetadata(path, Buffer.concat(pieces).toString())
  const name = parseSegmentName(path)
  const expected = segmentName(metadata)
  if (name === null || segmentName(name) !== expected) {
    throw new ImportError(
      `${path}: its ${METADATA} says that it is ${JSON.stringify(expected)}. Give it that name`,
    )
  }
  if (metadata.from > metadata.to)
    throw new ImportError(`${path}: begins at block ${metadata.from}, after its end`)
  return metadata
}

function parseMetadata(path: string, text: string): SegmentName {
  let data: Record<string, unknown> | null = null
  try {
    data = JSON.parse(text) as Record<string, unknown>
  } catch {}
  const fields = [data?.DatabaseVersion, data?.HeightFrom, data?.HeightTo]
  const chainId = data?.ChainID
  if (
    typeof chainId !== 'string' ||
    !isChainId(chainId) ||
    !fields.every((value) => Number.isSafeInteger(value) && (value as number) >= 0)
  ) {
    throw new ImportError(
      `${path}: ${METADATA} is not that of a segment: it must have ChainID, DatabaseVersion, HeightFrom and HeightTo. Copy the segment again`,
    )
  }
  const [schemaVersion, from, to] = fields as [number, number, number]
  return { chainId, schemaVersion, from, to }
}

/** What can be the id of a chain, as in events. */
export function isChainId(text: string): boolean {
  return text !== '' && text.length <= 256 && !text.includes('\0')
}

/** Header lines are the same in thousands of segments: they are held once. */
const HEADERS = new Map<string, string[]>()
const MAX_HEADERS = 1_000

function shared(header: string[]): string[] {
  const text = header.join('\0')
  const known = HEADERS.get(text)
  if (known === undefined && HEADERS.size < MAX_HEADERS) HEADERS.set(text, header)
  return known ?? header
}

/** The header lines of the tables, by entry. */
async function readColumns(path: string, zip: ZipDirectory): Promise<Map<string, string[]>> {
  const columns = new Map<string, string[]>()
  for (const entry of zip.names) {
    if (entry === METADATA) continue
    const reader = new CsvReader(() => {})
    const piecesOfEntry = zip.read(entry)
    try {
      while (reader.header === null) {
        const piece = await piecesOfEntry.next()
        if (piece.done) reader.end()
        else reader.push(piece.value.subarray(0, MAX_HEADER_BYTES))
        if (piece.done) break
      }
      if (reader.header !== null) columns.set(entry, shared(reader.header))
    } catch (error) {
      throw explain(path, entry, error)
    } finally {
      await piecesOfEntry.return()
    }
  }
  return columns
}

/** Reads the rows of an entry; yields after each piece of it. */
async function* readRows(
  path: string,
  zip: ZipDirectory,
  entry: string,
  { progress, signal }: SegmentOptions,
  onRow: (row: CsvRow) => void,
): AsyncGenerator<void, void, undefined> {
  const reader = new CsvReader((row) => {
    progress.rows++
    onRow(row)
  })
  progress.source = path
  const onRead = (bytes: number) => {
    progress.bytesRead += bytes
  }
  try {
    for await (const piece of zip.read(entry, onRead)) {
      signal?.throwIfAborted()
      reader.push(piece)
      yield
    }
    reader.end()
    yield
  } catch (error) {
    throw explain(path, entry, error)
  }
}

function explain(path: string, entry: string, error: unknown): unknown {
  if (!(error instanceof CsvError)) return error
  return new ImportError(`${path}: its entry ${entry} is damaged: ${error.message}. Copy the segment again`, {
    cause: error,
  })
}

async function readBlocks(
  path: string,
  { from, to }: SegmentName,
  read: (onRow: (row: PickedRow) => void) => Promise<void>,
): Promise<SegmentBlocks> {
  const fail = (what: string) =>
    new ImportError(`${path}: its entry history/blocks has ${what}. Copy the segment again`)
  let heights = new Float64Array(1024)
  let times = new Float64Array(1024)
  let count = 0
  await read((row) => {
    const [height, time] = [row.text(0), row.text(1)]
    if (count === heights.length) {
      if (count >= MAX_SEGMENT_BLOCKS) {
        throw fail(`more than ${MAX_SEGMENT_BLOCKS} blocks, where real ones have some thousand`)
      }
      heights = doubled(heights)
      times = doubled(times)
    }
    const number = Number(height)
    if (!/^\d{1,15}$/.test(height ?? '') || number < from || number > to) {
      throw fail(`block ${JSON.stringify(height)}, which is not one of ${from} to ${to}`)
    }
    const micros = microsecondsOf(time)
    if (Number.isNaN(micros)) throw fail(`block ${height} at ${JSON.stringify(time)}, which is not a time`)
    heights[count] = number
    times[count++] = micros
  })
  const blocks = new SegmentBlocks({ heights: heights.subarray(0, count), times: times.subarray(0, count) })
  if (blocks.twice !== null) throw fail(blocks.twice)
  return blocks
}

function doubled(values: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(values.length * 2)
  larger.set(values)
  return larger
}

import { closeSync, openSync, readSync } from 'node:fs'
import { CsvError, CsvReader, type CsvRow } from './csv-reader.ts'
import { ImportError } from './import-error.ts'
import { microsecondsOf } from './reference-values.ts'
import { MAX_SEGMENT_BLOCKS, SegmentBlocks } from './segment-blocks.ts'
import { parseSegmentName, type SegmentName, segmentName } from './segment-name.ts'
import { type IndexedRow, sortByBlock } from './sort-by-block.ts'
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

/** Blocks that are handed on at once. */
const CHUNK_BLOCKS = 1_000

/** Rows with a time from the segment's first block on; and tables whole as they were after its last. */
type Folder = 'history' | 'currentstate'

/** A segment whose name, directory and header lines have been read. */
export type Segment = SegmentName & {
  path: string
  part: HistoryPart
  lacks(folder: Folder, query: TableQuery): string | null
  /** Rows of a table of current state, in the order of the file. */
  currentState(query: TableQuery): AsyncGenerator<CsvRow[], void, undefined>
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
  const select = (folder: Folder, { table, columns: wanted, times, seconds = [] }: TableQuery) => {
    const entry = `${folder}/${table}`
    return picked(readRows(path, zip, entry, options), columns.get(entry)!, [...wanted, ...times, ...seconds])
  }
  const cannotRead = lacks('history', BLOCKS)
  if (cannotRead !== null) {
    throw new ImportError(
      `${cannotRead}: without its blocks nothing of a segment can be imported. Copy the segment again`,
    )
  }
  let blocks: SegmentBlocks | null = null
  const allBlocks = async () => {
    blocks ??= await readBlocks(path, name, select('history', BLOCKS))
    return blocks
  }
  return {
    ...name,
    path,
    lacks,
    currentState: (query) => select('currentstate', query),
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
        let isFirst = true
        yield* sortByBlock({
          name: `${path}: history/${query.table}`,
          heights: all.heights,
          maxBytes: options.maxBytes,
          async *read() {
            const onNoBlock = isFirst ? () => options.onNoBlock(query.table) : () => {}
            isFirst = false
            for await (const rows of select('history', query)) yield indexed(rows, all, wanted, onNoBlock)
          },
        })
      },
    },
  }
}

/** Rows whose last column is their time, with the indices of their blocks; without those that are not wanted. */
function indexed(
  rows: CsvRow[],
  blocks: SegmentBlocks,
  wanted: Uint8Array,
  onNoBlock: () => void,
): IndexedRow[] {
  const found: IndexedRow[] = []
  for (const row of rows) {
    const time = row.pop()
    const block = blocks.find(microsecondsOf(time ?? null))
    if (block < 0) onNoBlock()
    else if (wanted[block] === 1) found.push({ block, row })
  }
  return found
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

/** The header lines of the tables, by entry. */
async function readColumns(path: string, zip: ZipDirectory): Promise<Map<string, string[]>> {
  const columns = new Map<string, string[]>()
  for (const entry of zip.names) {
    if (entry === METADATA) continue
    const reader = new CsvReader()
    const piecesOfEntry = zip.read(entry)
    try {
      for (;;) {
        const piece = await piecesOfEntry.next()
        const [header] = piece.done ? reader.end() : reader.push(piece.value)
        if (header !== undefined)
          columns.set(
            entry,
            header.map((name) => name ?? ''),
          )
        if (header !== undefined || piece.done) break
      }
    } catch (error) {
      throw explain(path, entry, error)
    } finally {
      await piecesOfEntry.return()
    }
  }
  return columns
}

/** Rows of an entry, without its header line. */
async function* readRows(
  path: string,
  zip: ZipDirectory,
  entry: string,
  { progress, signal }: SegmentOptions,
): AsyncGenerator<CsvRow[], void, undefined> {
  const reader = new CsvReader()
  progress.source = path
  let isFirst = true
  const body = (rows: CsvRow[]) => {
    if (isFirst && rows.length > 0) {
      isFirst = false
      return rows.slice(1)
    }
    return rows
  }
  const onRead = (bytes: number) => {
    progress.bytesRead += bytes
  }
  try {
    for await (const piece of zip.read(entry, onRead)) {
      signal?.throwIfAborted()
      const rows = body(reader.push(piece))
      progress.rows += rows.length
      if (rows.length > 0) yield rows
    }
    const rows = body(reader.end())
    progress.rows += rows.length
    if (rows.length > 0) yield rows
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

/** Columns of rows by name. */
async function* picked(
  all: AsyncIterable<CsvRow[]>,
  columns: readonly string[],
  names: readonly string[],
): AsyncGenerator<CsvRow[], void, undefined> {
  const places = names.map((name) => columns.indexOf(name))
  for await (const rows of all) {
    const chosen: CsvRow[] = new Array(rows.length)
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index]!
      const values: CsvRow = new Array(places.length)
      for (let at = 0; at < places.length; at++) values[at] = row[places[at]!]!
      chosen[index] = values
    }
    yield chosen
  }
}

async function readBlocks(
  path: string,
  { from, to }: SegmentName,
  pages: AsyncIterable<CsvRow[]>,
): Promise<SegmentBlocks> {
  const fail = (what: string) =>
    new ImportError(`${path}: its entry history/blocks has ${what}. Copy the segment again`)
  let heights = new Float64Array(1024)
  let times = new Float64Array(1024)
  let count = 0
  for await (const rows of pages) {
    for (const [height, time] of rows) {
      if (count === heights.length) {
        if (count >= MAX_SEGMENT_BLOCKS)
          throw fail(`more than ${MAX_SEGMENT_BLOCKS} blocks, where real ones have some thousand`)
        heights = doubled(heights)
        times = doubled(times)
      }
      const number = Number(height)
      if (!/^\d{1,15}$/.test(height ?? '') || number < from || number > to) {
        throw fail(`block ${JSON.stringify(height)}, which is not one of ${from} to ${to}`)
      }
      const micros = microsecondsOf(time ?? null)
      if (Number.isNaN(micros)) throw fail(`block ${height} at ${JSON.stringify(time)}, which is not a time`)
      heights[count] = number
      times[count++] = micros
    }
  }
  const blocks = new SegmentBlocks({ heights: heights.subarray(0, count), times: times.subarray(0, count) })
  if (blocks.twice !== null) throw fail(blocks.twice)
  return blocks
}

function doubled(values: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(values.length * 2)
  larger.set(values)
  return larger
}

import { createHash, hash } from 'node:crypto'
import { createWriteStream, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Coverage } from '../domain/coverage.ts'
import { decodeCursor, encodeCursor } from '../resources/cursor.ts'
import { type Key, keyOf, type Resource, type Row, type Selection } from '../resources/resource.ts'
import { readEarliestTimeAbove } from '../store/readings/exports.ts'
import type { Snapshot } from '../store/store.ts'
import { ExportError } from './export-error.ts'
import { type ExportedRow, exportRows } from './export-rows.ts'
import { readJson, writeJson } from './json-file.ts'
import { type ParquetOptions, parquetColumns, parquetOf } from './parquet.ts'

/** Rows of a file at most: a run writes the last file again, where rows follow it. */
const PART_ROWS = 1_000_000

const MANIFEST = '_lyra.json'
const PART_FILE = /^part-\d+\.parquet(?:\.partial)?$/

/** A file, whole: how many rows it holds, and the cursors of the first and the last. */
type PartFile = { file: string; rows: number; first: string; last: string; sha256: string }

type PartitionManifest = {
  /** Names of the columns of the files. */
  columns: string[]
  /** The block at which the files were written, and what was held up to it. */
  height: string
  held: string
  /** Whether rows follow the last file: the run was ended before it had written them. */
  isOpen: boolean
  parts: PartFile[]
}

export type PartitionOptions = ParquetOptions & {
  resource: Resource
  /** The market, where rows are written by market. */
  selection: Selection
  folder: string
  snapshot: Snapshot
  /** What the snapshot holds. */
  coverage: Coverage
  partRows?: number
  signal?: AbortSignal
  onRows?: (count: number) => void
  onNotice?: (message: string) => void
}

/** Rows and files that were written, and files that were left as they are. */
export type PartitionReport = { rows: number; written: number; unchanged: number }

/**
 * Writes the rows of a resource, or of a market of it, into the files of a folder, or what has come since into those that
 * are there. Rows are in the order of the key, over all files in the order of their names.
 *
 * Rows that stay as they came are written on: full files are left as they are, but for those that a gap filled since, or
 * rows of earlier times, concern. Rows that change in place are written anew, and take the place of what is there where
 * they differ.
 */
export async function exportPartition(options: PartitionOptions): Promise<PartitionReport> {
  const { folder, coverage, resource } = options
  const columns = parquetColumns(resource, options)
  const path = join(folder, MANIFEST)
  const known = readJson<PartitionManifest>(path)
  // What was pruned stands in the files alone: they are replaced by nothing that may hold less.
  if (resource.rowsStay) refuseOtherFiles(options, known, columns)
  const old = known?.parts ?? []
  const keep = known !== null && resource.rowsStay ? await partsToKeep(options, known) : 0
  const isCurrent = keep === 'all'
  const kept = old.slice(0, isCurrent ? old.length : keep)
  const report: PartitionReport = { rows: 0, written: 0, unchanged: kept.length }
  const manifest = (parts: PartFile[], isOpen: boolean): PartitionManifest => ({
    ...{ columns, isOpen, parts },
    ...{ height: coverage.height.toString(), held: heldUpTo(coverage, coverage.height) },
  })
  const parts = [...kept]
  if (!isCurrent) {
    // Before the first file has its name: files without a word on them are not those of a run that was killed.
    const begin = () => {
      if (known === null && parts.length === 0) writeJson(path, manifest([], true))
    }
    for await (const part of writeParts({ ...options, begin }, parts, old)) {
      parts.push(part.part)
      if (part.isNew) report.rows += part.part.rows
      report[part.isNew ? 'written' : 'unchanged']++
      writeJson(path, manifest(parts, true))
    }
    if (parts.length === 0 && old.length > 0) {
      const empty = await writeEmpty({ ...options, begin }, old[0]!)
      parts.push(empty.part)
      report[empty.isNew ? 'written' : 'unchanged']++
    }
  }
  if (parts.length === 0) return report
  writeJson(path, manifest(parts, false))
  const files = new Set(parts.map(({ file }) => file))
  for (const name of readdirSync(folder)) {
    if (PART_FILE.test(name) && !files.has(name)) rmSync(join(folder, name))
  }
  return report
}

/** @throws {ExportError} where a folder holds files that this export cannot continue. */
function refuseOtherFiles(
  { folder }: PartitionOptions,
  known: PartitionManifest | null,
  columns: readonly string[],
): void {
  const fault =
    known === null
      ? existsSync(folder) && readdirSync(folder).some((name) => /^part-\d+\.parquet$/.test(name))
        ? `${MANIFEST}, which says what its files hold, is missing or damaged`
        : null
      : known.columns.join() === columns.join()
        ? null
        : 'its files have other columns, of another version'
  if (fault !== null) throw new ExportError(`${folder}: ${fault}; export to a new directory`)
}

/** How many of the files stay as they are, before the others are written again and on; `all` where nothing has come. */
async function partsToKeep(options: PartitionOptions, known: PartitionManifest): Promise<number | 'all'> {
  const { coverage, snapshot, selection, resource } = options
  const { parts } = known
  const height = BigInt(known.height)
  const isSame = heldUpTo(coverage, height) === known.held
  // More of an incomplete block's events may have come, and not all of them: its rows may be new whenever it is asked.
  const incomplete = coverage.gaps.find(({ from, kind }) => kind === 'incomplete' && from <= height)
  if (isSame && coverage.height === height && !known.isOpen && incomplete === undefined) return 'all'
  let first = 0
  const hasSpans = resource.storage.arrivals === 'block spans'
  if (isSame && (hasSpans || incomplete === undefined)) {
    const above = incomplete === undefined ? height : incomplete.from - 1n
    const time = hasSpans ? await snapshot.read(readEarliestTimeAbove(selection.marketId!, above)) : null
    const isTouched = (part: PartFile) => time !== null && timeOf(options, part.last) >= time
    const touched = parts.findIndex(isTouched)
    const isLastFull = (parts.at(-1)?.rows ?? 0) >= (options.partRows ?? PART_ROWS)
    const end = isLastFull ? parts.length : Math.max(0, parts.length - 1)
    first = touched < 0 ? end : Math.min(touched, end)
  }
  // What has been pruned since stands in the files alone.
  while (first < parts.length && !(await isThere(options, parts[first - 1], parts[first]!))) {
    options.onNotice?.(
      `${join(options.folder, parts[first]!.file)}: rows of it were pruned; it stays as it is, without rows of its time that have come since`,
    )
    first++
  }
  return first
}

/** Whether the first row of a file is still there, or an earlier one after the file before. */
async function isThere(
  { resource, selection, snapshot }: PartitionOptions,
  before: PartFile | undefined,
  part: PartFile,
): Promise<boolean> {
  const cursor = before === undefined ? null : keyIn(resource, selection, before.last)
  const { rows } = await snapshot.page({ resource, selection, descending: false, cursor, limit: 1 })
  const [row] = rows
  if (row === undefined) return false
  const [found, first] = [keyOf(resource, row), keyIn(resource, selection, part.first)]
  for (const [index, value] of found.entries()) {
    if (value !== first[index]) return value < first[index]!
  }
  return true
}

/** The key of a cursor that was written here. */
function keyIn(resource: Resource, selection: Selection, cursor: string): Key {
  const key = decodeCursor(resource, selection, cursor)
  if (typeof key === 'string')
    throw new ExportError(`${MANIFEST}: the cursor ${cursor} is ${key}; name a new directory`)
  return key
}

const timeOf = ({ resource, selection }: PartitionOptions, cursor: string) =>
  keyIn(resource, selection, cursor)[0] as bigint

/** What distinguishes one state of the blocks up to a height from another: where they begin, what is missing, what is imported. */
function heldUpTo(coverage: Coverage, height: bigint): string {
  let known = sums.get(coverage)
  if (known === undefined) {
    known = new Map()
    sums.set(coverage, known)
  }
  let sum = known.get(height)
  if (sum === undefined) {
    const ranges = [...coverage.gaps, ...coverage.imported.map((range) => ({ ...range, kind: 'imported' }))]
    const below = ranges
      .filter(({ from }) => from <= height)
      .map(({ from, to, kind }) => `${kind} ${from} ${to < height ? to : height}`)
    sum = hash('sha256', [String(coverage.first), ...below].join('\n'))
    known.set(height, sum)
  }
  return sum
}

/** Every market asks for the same, and a stream that is full of holes has as many gaps as blocks. */
const sums = new WeakMap<Coverage, Map<bigint, string>>()

/** What is done before a file gets its name. */
type WritingOptions = PartitionOptions & { begin: () => void }

/** A file that is there, and whether it is another than was there before. */
type WrittenPart = { part: PartFile; isNew: boolean }

/** Writes the rows that follow the last of the files kept, file by file. */
async function* writeParts(
  options: WritingOptions,
  kept: readonly PartFile[],
  old: readonly PartFile[],
): AsyncGenerator<WrittenPart, void, undefined> {
  const { resource, selection, snapshot, signal, onRows, partRows = PART_ROWS } = options
  const last = kept.at(-1)
  const cursor = last === undefined ? null : keyIn(resource, selection, last.last)
  const chunks = exportRows({ resource, selection, descending: false, cursor }, snapshot, signal)
  let chunk = await chunks.next()
  for (let number = kept.length; !chunk.done; number++) {
    let rows = 0
    const [firstRow] = chunk.value as [ExportedRow]
    let lastRow = firstRow
    async function* ofPart(): AsyncGenerator<ExportedRow[], void, undefined> {
      while (!chunk.done && rows < partRows) {
        yield chunk.value
        rows += chunk.value.length
        lastRow = chunk.value.at(-1)!
        onRows?.(chunk.value.length)
        chunk = await chunks.next()
      }
    }
    const { sha256, file, isNew } = await writeFile(options, number, ofPart(), old[number])
    const cursorOf = ({ row }: { row: Row }) => encodeCursor(resource, selection, row)
    yield { part: { file, rows, first: cursorOf(firstRow), last: cursorOf(lastRow), sha256 }, isNew }
  }
}

/** A file without rows, in the place of one whose rows are all gone: readers of the folder find its columns. */
async function writeEmpty(options: WritingOptions, old: PartFile): Promise<WrittenPart> {
  async function* none(): AsyncGenerator<ExportedRow[], void, undefined> {}
  const { sha256, file, isNew } = await writeFile(options, 0, none(), old)
  return { part: { file, rows: 0, first: '', last: '', sha256 }, isNew }
}

/** Writes a file under another name first; one that is there already and holds the same stays. */
async function writeFile(
  { folder, resource, decimalScale, signal, begin }: WritingOptions,
  number: number,
  rows: AsyncIterable<ExportedRow[]>,
  old: PartFile | undefined,
): Promise<{ sha256: string; file: string; isNew: boolean }> {
  const file = `part-${String(number).padStart(5, '0')}.parquet`
  const path = join(folder, file)
  mkdirSync(folder, { recursive: true })
  const sum = createHash('sha256')
  async function* summed(): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const bytes of parquetOf(rows, resource, { decimalScale })) {
      sum.update(bytes)
      yield bytes
    }
  }
  const partial = `${path}.partial`
  try {
    await pipeline(
      Readable.from(summed(), { objectMode: false }),
      createWriteStream(partial, { flush: true }),
      signal === undefined ? {} : { signal },
    )
  } catch (error) {
    rmSync(partial, { force: true })
    throw error
  }
  const sha256 = sum.digest('hex')
  const isSame = old?.file === file && old.sha256 === sha256 && existsSync(path)
  if (isSame) rmSync(partial)
  else {
    begin()
    renameSync(partial, path)
  }
  return { sha256, file, isNew: !isSame }
}

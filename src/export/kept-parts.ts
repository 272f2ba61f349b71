import { hash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Coverage } from '../domain/coverage.ts'
import { keyOf } from '../resources/resource.ts'
import { readEarliestTimeAbove } from '../store/readings/exports.ts'
import { ExportError } from './export-error.ts'
import {
  keyIn,
  MANIFEST,
  PART_ROWS,
  type PartFile,
  type PartitionManifest,
  type PartitionOptions,
} from './partition.ts'

/** @throws {ExportError} if a folder holds files that this export cannot continue. */
export function refuseOtherFiles(
  { folder }: PartitionOptions,
  known: PartitionManifest | null,
  columns: readonly string[],
): void {
  const fault =
    known === null
      ? existsSync(folder) && readdirSync(folder).some((name) => /^part-\d+\.parquet$/.test(name))
        ? `${MANIFEST}, which describes the files, is missing or damaged`
        : null
      : known.columns.join() === columns.join()
        ? null
        : 'its files were written by another version, with other columns'
  if (fault !== null) throw new ExportError(`${folder}: ${fault}; export to a new directory`)
}

/** Number of files that stay as they are; the others are rewritten and continued. `all` if nothing is new. */
export async function partsToKeep(
  options: PartitionOptions,
  known: PartitionManifest,
): Promise<number | 'all'> {
  const { coverage, snapshot, selection, resource } = options
  const { parts } = known
  const height = BigInt(known.height)
  const isSame = heldUpTo(coverage, height) === known.held
  // More events of an incomplete block may have arrived: its rows may be new at any time.
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
  // Rows pruned since exist only in the files.
  while (first < parts.length && !(await isFirstRowHeld(options, parts[first - 1], parts[first]!))) {
    options.onNotice?.(
      `${join(options.folder, parts[first]!.file)}: part of it was pruned from the store, so it is not rewritten; late rows for this period are missing from the export`,
    )
    first++
  }
  return first
}

/** Whether the first row of a file is still there, or an earlier one after the file before. */
async function isFirstRowHeld(
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

const timeOf = ({ resource, selection }: PartitionOptions, cursor: string) =>
  keyIn(resource, selection, cursor)[0] as bigint

/** Identifies the stored blocks up to a height: their start, gaps and imported ranges. */
export function heldUpTo(coverage: Coverage, height: bigint): string {
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

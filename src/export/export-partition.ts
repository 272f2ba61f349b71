import { readdirSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { readJson, writeJson } from './json-file.ts'
import { heldUpTo, partsToKeep, refuseOtherFiles } from './kept-parts.ts'
import { parquetColumns } from './parquet.ts'
import { MANIFEST, type PartFile, type PartitionManifest, type PartitionOptions } from './partition.ts'
import { writeParts } from './write-parts.ts'

const PART_FILE = /^part-\d+\.parquet(?:\.partial)?$/

/** Rows and files that were written, and files that were left as they are. */
export type PartitionReport = { rows: number; written: number; unchanged: number }

/**
 * Writes the rows of a resource, or of one of its markets, into the files of a folder, or adds new rows. Rows are in
 * key order over all files in name order.
 *
 * Unchanging rows are appended: full files stay as they are, except those with a filled gap or late rows. Changing rows
 * are rewritten, and replace a file if they differ.
 */
export async function exportPartition(options: PartitionOptions): Promise<PartitionReport> {
  const { folder, coverage, resource } = options
  const withoutMarket = options.selection.marketId !== undefined
  const columns = parquetColumns(resource, { ...options, withoutMarket })
  const path = join(folder, MANIFEST)
  const known = readJson<PartitionManifest>(path)
  // Pruned rows exist only in the files, which must not be replaced by files with fewer rows.
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
    for await (const part of writeParts({ ...options, begin }, kept, old)) {
      parts.push(part.part)
      if (part.isNew) report.rows += part.part.rows
      report[part.isNew ? 'written' : 'unchanged']++
      writeJson(path, manifest(parts, true))
    }
  }
  if (parts.length > 0) writeJson(path, manifest(parts, false))
  else if (known === null) return report
  const files = new Set(parts.map(({ file }) => file))
  for (const name of readdirSync(folder)) {
    if (PART_FILE.test(name) && !files.has(name)) rmSync(join(folder, name))
  }
  // If all rows are gone, so is the folder, as in a new export.
  if (parts.length === 0) {
    rmSync(path)
    if (readdirSync(folder).length === 0) rmdirSync(folder)
  }
  return report
}

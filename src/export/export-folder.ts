import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Coverage } from '../domain/coverage.ts'
import type { Resource } from '../resources/resource.ts'
import { RESOURCES } from '../resources/resources.ts'
import { readCoverage } from '../store/readings/coverage.ts'
import { readNextMarket } from '../store/readings/exports.ts'
import type { Snapshot } from '../store/store.ts'
import { ExportError } from './export-error.ts'
import { exportPartition, type PartitionReport } from './export-partition.ts'
import { lockFolder } from './folder-lock.ts'
import { readJson, writeJson } from './json-file.ts'
import type { ParquetOptions } from './parquet.ts'

/** File that describes the export in a folder. Readers of Parquet skip names with an underscore. */
const MANIFEST = '_lyra.json'

type FolderManifest = {
  format: 2
  chainId: string
  /** Whether it was begun with `--text`. */
  asText: boolean
  /** The last block of the last run that came to its end; null if none has. */
  height: string | null
}

/** The folder of a market: readers of Parquet take its name for a column `marketId`, which the files do not have. */
const MARKET_FOLDER = /^marketId=(.+)$/

export type FolderOptions = ParquetOptions & {
  folder: string
  snapshot: Snapshot
  /** Rows of a file at most; whole thousands. */
  partRows?: number
  signal?: AbortSignal
  /** Called with rows as they are written. */
  onRows?: (count: number) => void
  /** Called with a line for the user. */
  onNotice?: (message: string) => void
}

export type FolderReport = PartitionReport & { height: bigint }

/**
 * Writes all rows of every resource into a folder, as Parquet by market; in an existing export, only new and changed
 * rows. However it ends, the next run resumes.
 *
 * A folder keeps the column types of its first export.
 *
 * @throws {ExportError} if the folder contains something else, or a number does not fit its decimal.
 */
export async function exportFolder(options: FolderOptions): Promise<FolderReport> {
  const { folder, snapshot } = options
  const coverage = await snapshot.read(readCoverage())
  if (coverage === null) throw new ExportError('the store is empty: there is nothing to export')
  mkdirSync(folder, { recursive: true })
  const unlock = lockFolder(folder)
  try {
    const manifest = claimFolder(options, coverage)
    const total: FolderReport = { rows: 0, written: 0, unchanged: 0, height: coverage.height }
    for (const resource of RESOURCES) {
      for await (const report of exportResource(
        resource,
        { ...options, asText: manifest.asText },
        coverage,
      )) {
        total.rows += report.rows
        total.written += report.written
        total.unchanged += report.unchanged
      }
    }
    writeJson(join(folder, MANIFEST), { ...manifest, height: coverage.height.toString() })
    return total
  } finally {
    unlock()
  }
}

/** Checks that the folder is one for this export, and notes that it is. */
function claimFolder({ folder, asText }: FolderOptions, coverage: Coverage): FolderManifest {
  const path = join(folder, MANIFEST)
  if (!existsSync(path)) {
    const [other] = readdirSync(folder).filter((name) => !name.startsWith('_lyra'))
    if (other !== undefined)
      throw new ExportError(
        `${folder}: is not empty (${other}) and contains no export to continue; name a new directory`,
      )
    const manifest = { format: 2, chainId: coverage.chainId, asText, height: null } as const
    writeJson(path, manifest)
    return manifest
  }
  const found = readJson<FolderManifest>(path)
  if (found?.format !== 2)
    throw new ExportError(`${path}: was not written by this version; name a new directory`)
  if (found.chainId !== coverage.chainId)
    throw new ExportError(
      `${folder}: contains an export of chain ${found.chainId}, but the store is of ${coverage.chainId}; name another directory`,
    )
  if (asText && !found.asText)
    throw new ExportError(
      `${folder}: was begun without --text and keeps its types; omit --text, or name a new directory`,
    )
  if (found.height !== null && BigInt(found.height) > coverage.height)
    throw new ExportError(
      `${folder}: was exported at block ${found.height}, but the store is at block ${coverage.height}; ingest the missing blocks, or name another directory`,
    )
  return found
}

/** Whether the rows of a resource are written by market: those of which a market has many. */
export function isByMarket({ key, scope }: Resource): boolean {
  return scope !== null || (key.length > 1 && key[0]!.filter === 'marketId')
}

async function* exportResource(
  resource: Resource,
  options: FolderOptions,
  coverage: Coverage,
): AsyncGenerator<PartitionReport, void, undefined> {
  const folder = join(options.folder, resource.kebabName)
  const inFolder = (name: string, marketId?: string) =>
    exportPartition({
      ...options,
      coverage,
      resource,
      selection: marketId === undefined ? {} : { marketId },
      folder: join(folder, name),
    })
  if (!isByMarket(resource)) {
    yield await inFolder('')
    return
  }
  // Folders of markets that no longer have rows are also updated.
  const left = new Set(
    existsSync(folder) ? readdirSync(folder).filter((name) => MARKET_FOLDER.test(name)) : [],
  )
  let from: { marketId: string; inclusive: boolean } | null = null
  for (;;) {
    const marketId: string | null = await options.snapshot.read(readNextMarket(resource, from, false))
    if (marketId === null) break
    const name = `marketId=${marketId}`
    left.delete(name)
    yield await inFolder(name, marketId)
    from = { marketId, inclusive: false }
  }
  for (const name of left) {
    const [, marketId] = MARKET_FOLDER.exec(name)!
    yield await inFolder(name, marketId!)
  }
  // If nothing was written, no folder is left.
  if (existsSync(folder) && readdirSync(folder).length === 0) rmSync(folder, { recursive: true })
}

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { flushFolder, makeFolder } from '#core/concurrency/flush'
import { realPathOf } from '#core/concurrency/real-path'
import type { Coverage } from '#core/domain/coverage'
import type { Resource } from '#core/model/resource'
import { RESOURCES } from '#core/resources/resources'
import { readNextMarket } from '#core/store/queries/contents/next-market'
import { readCoverage } from '#core/store/queries/coverage'
import { ExportError } from '../../formats/export-error.ts'
import { lockFolder } from './folder-lock.ts'
import { type PartOptions, writeParts } from './write-parts.ts'

/** File that describes the export in a folder. Readers of Parquet skip names with an underscore. */
const MANIFEST = '_lyra.json'

/** Its content: the chain, and the last block of the snapshot. */
type Manifest = { chainId: string; height: string }

export type FolderOptions = Omit<PartOptions, 'resource' | 'selection'>

type FolderReport = { rows: number; files: number; height: bigint }

/**
 * Writes all rows of every resource into a folder, as Parquet. It is written beside the folder and replaces it
 * once it is complete and on disk; until then an earlier export remains. The next run removes the remains of an interrupted
 * one.
 *
 * @throws {ExportError} if the folder contains anything but an earlier export of the store, or a number does not fit
 * its decimal.
 */
export async function exportFolder(options: FolderOptions): Promise<FolderReport> {
  const folder = realPathOf(resolve(options.folder))
  const [fresh, old] = [`${folder}.new`, `${folder}.old`]
  const coverage = await options.snapshot.read(readCoverage())
  if (coverage === null) throw new ExportError('the store is empty: there is nothing to export')
  makeFolder(dirname(folder))
  const unlock = lockFolder(folder)
  try {
    // An earlier run ended between its two renames.
    if (existsSync(old) && !existsSync(folder)) renameSync(old, folder)
    refuseOtherContent(folder, coverage)
    for (const left of [fresh, old]) rmSync(left, { recursive: true, force: true })
    mkdirSync(fresh)
    const report = await writeResources({ ...options, folder: fresh })
    const manifest: Manifest = { chainId: coverage.chainId, height: String(coverage.height) }
    writeFileSync(join(fresh, MANIFEST), `${JSON.stringify(manifest, null, 1)}\n`, { flush: true })
    flushFolder(fresh)
    if (existsSync(folder)) {
      renameSync(folder, old)
      // One of the two names is on disk at any time.
      flushFolder(dirname(folder))
    }
    renameSync(fresh, folder)
    flushFolder(dirname(folder))
    rmSync(old, { recursive: true, force: true })
    return { ...report, height: coverage.height }
  } finally {
    rmSync(fresh, { recursive: true, force: true })
    unlock()
  }
}

/** Refuses a folder that must not or cannot be replaced. */
function refuseOtherContent(folder: string, { chainId, height }: Coverage): void {
  if (!existsSync(folder)) return
  if (statSync(folder).dev !== statSync(dirname(folder)).dev)
    throw new ExportError(
      `${folder}: is a mounted file system, which cannot be replaced; name a folder in it`,
    )
  const [other] = readdirSync(folder)
  if (other === undefined) return
  const manifest = manifestIn(folder)
  if (manifest === null) {
    throw new ExportError(
      `${folder}: is not empty (${other}) and contains no export of this version; name a new folder`,
    )
  }
  if (manifest.chainId !== chainId)
    throw new ExportError(
      `${folder}: contains an export of chain ${manifest.chainId}, but the store is of ${chainId}; name another folder`,
    )
  if (BigInt(manifest.height) > height)
    throw new ExportError(
      `${folder}: was exported at block ${manifest.height}, but the store is at block ${height}; ingest the missing blocks, or name another folder`,
    )
}

/** The description of the export in a folder; null if there is none. */
function manifestIn(folder: string): Manifest | null {
  const path = join(folder, MANIFEST)
  if (!existsSync(path)) return null
  try {
    const { chainId, height } = JSON.parse(readFileSync(path, 'utf8')) as Partial<Manifest>
    return typeof chainId === 'string' && /^\d+$/.test(height ?? '') ? { chainId, height: height! } : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

/** Whether the rows of a resource are written by market, since a market has many of them. */
export function isWrittenByMarket({ key, scope }: Resource): boolean {
  return scope !== null || (key.length > 1 && key[0]!.column === 'market_id')
}

async function writeResources(options: FolderOptions): Promise<{ rows: number; files: number }> {
  const total = { rows: 0, files: 0 }
  const onRows = (count: number) => {
    total.rows += count
    options.onRows?.(count)
  }
  for (const resource of RESOURCES) {
    const folder = join(options.folder, resource.kebabName)
    if (isWrittenByMarket(resource)) {
      for await (const marketId of marketsOfResource(resource, options)) {
        const ofMarket = { folder: join(folder, marketId), selection: { marketId } }
        total.files += await writeParts({ ...options, ...ofMarket, resource, onRows })
      }
    } else total.files += await writeParts({ ...options, folder, resource, selection: {}, onRows })
  }
  return total
}

/** The markets of a resource's rows, by id; one may have no rows left. */
async function* marketsOfResource(
  resource: Resource,
  { snapshot }: FolderOptions,
): AsyncGenerator<string, void, undefined> {
  let marketId = await snapshot.read(readNextMarket(resource, null, false))
  while (marketId !== null) {
    yield marketId
    marketId = await snapshot.read(readNextMarket(resource, { marketId, inclusive: false }, false))
  }
}

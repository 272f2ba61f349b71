import { isPostgresAddress } from '#core/store/postgres/address'
import { openPostgresSource } from './database/postgres-source.ts'
import { ImportError } from './import-error.ts'
import { findSegments, openSegmentSource } from './segments/segment-source.ts'
import type { ImportSource, SourceOptions } from './source.ts'

/**
 * Opens the source that a command line names: a database, or segments.
 *
 * @returns the source, and the files in named directories that are not segments
 *
 * @throws {ImportError} for a source that cannot be imported.
 */
export async function openSource(
  sources: readonly string[],
  options: SourceOptions,
): Promise<{ source: ImportSource; foreign: string[] }> {
  const [address] = sources.filter(isPostgresAddress)
  if (address === undefined) {
    const { paths, foreign } = findSegments(sources)
    return { source: await openSegmentSource(paths, options), foreign }
  }
  if (sources.length > 1) {
    throw new ImportError('name either one database or segments; import them one after the other')
  }
  return { source: await openPostgresSource(address, options), foreign: [] }
}

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { explainPathError } from '#core/records/event-paths'
import { ImportError } from '../import-error.ts'
import { microsecondsOf } from '../reference-values.ts'
import { checkSchemaVersion } from '../schema-versions.ts'
import type { CurrentRow, ImportSource, SourceOptions, SourceProgress, TableQuery } from '../source.ts'
import { STATE } from '../tables.ts'
import { announceSize } from '../temporary-file.ts'
import { openSegment, type Segment } from './segment.ts'
import { parseSegmentName } from './segment-name.ts'
import { SortingDatabase } from './sorting-database.ts'

/** Segments, and other files in named folders. */
type SegmentPaths = { paths: string[]; foreign: string[] }

/**
 * Finds segments: named files, and all segments in named folders.
 *
 * @throws {EventPathError} for a path that cannot be read.
 * @throws {ImportError} for a folder without segments, and if there is no file.
 */
export function findSegments(sources: readonly string[]): SegmentPaths {
  const segments: SegmentPaths = { paths: [], foreign: [] }
  for (const path of sources) {
    try {
      if (!statSync(path).isDirectory()) {
        segments.paths.push(path)
        continue
      }
      const before = segments.paths.length
      for (const name of readdirSync(path).sort()) {
        const list = parseSegmentName(name) === null ? segments.foreign : segments.paths
        list.push(join(path, name))
      }
      if (segments.paths.length === before) {
        throw new ImportError(
          `${path}: contains no segment (CHAIN-VERSION-FROM-TO.zip). \`data-node network-history copy ID FILE\` writes them`,
        )
      }
    } catch (error) {
      throw explainPathError(path, error)
    }
  }
  return segments
}

/**
 * Opens segments as one source, by height. The current state is that of the last segment.
 *
 * @throws {ImportError} for a file that is not a segment, and for segments of several chains.
 * @throws {TemporaryFileError} without space for sorting their rows.
 */
export async function openSegmentSource(
  paths: readonly string[],
  { force = false, signal, temp, onNotice }: SourceOptions = {},
): Promise<ImportSource> {
  const progress: SourceProgress = { source: paths[0]!, bytesRead: 0, rows: 0, withoutBlock: 0 }
  const sorting = new SortingDatabase(temp)
  const segments: Segment[] = []
  try {
    for (const path of paths) segments.push(await openSegment(path, { progress, signal, sorting }))
    segments.sort((a, b) => a.from - b.from || a.to - b.to)
    const last = lastSegment(segments)
    for (const { path, schemaVersion } of segments) checkSchemaVersion(path, schemaVersion, force)
    await readAll(last)
    const bytes = segments.reduce((most, { historyBytes }) => Math.max(most, historyBytes), 0)
    announceSize(sorting.folder, 'rows are sorted', bytes, onNotice)
    return {
      name: paths.length === 1 ? paths[0]! : `${paths.length} segments`,
      chainId: last.chainId,
      parts: segments.map(({ part }) => part),
      whyUnreadable: last.whyUnreadable,
      state: (query) => readCurrentState(last, sorting, query),
      progress,
      close: async () => sorting.close(),
    }
  } catch (error) {
    sorting.close()
    throw error
  }
}

/** The segment with the highest block; all must be of its chain. */
function lastSegment(segments: readonly Segment[]): Segment {
  const last = segments.reduce((latest, segment) => (segment.to > latest.to ? segment : latest))
  const other = segments.find(({ chainId }) => chainId !== last.chainId)
  if (other === undefined) return last
  throw new ImportError(
    `${other.path} is of chain ${JSON.stringify(other.chainId)}, ${last.path} of chain ${JSON.stringify(last.chainId)}: import each chain into a separate store`,
  )
}

/** Reads the entries of current state to check that they are complete, before anything is imported. */
async function readAll(last: Segment): Promise<void> {
  for (const query of Object.values(STATE)) {
    if (last.whyUnreadable(query) !== null) continue
    for await (const _ of last.currentState(query));
  }
}

async function* readCurrentState(
  last: Segment,
  sorting: SortingDatabase,
  query: TableQuery,
): AsyncGenerator<CurrentRow[], void, undefined> {
  const { columns, second } = query
  const secondAt = second === undefined ? null : columns.indexOf(second)
  for await (const rows of last.currentState(query)) {
    yield rows.map((row) => {
      const time = microsecondsOf(row[columns.length]!)
      const heightOfSecond = secondAt === null ? null : sorting.heightInSecond(microsecondsOf(row[secondAt]!))
      return { row: row.slice(0, columns.length), time, height: sorting.heightAt(time), heightOfSecond }
    })
  }
}

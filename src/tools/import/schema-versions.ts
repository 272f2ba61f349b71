import { ImportError } from './import-error.ts'

/** The schema version of v0.73, the first with everything that is imported, and that of v0.79. */
const FIRST_KNOWN = 54
const LAST_KNOWN = 123

/**
 * Refuses an unknown schema version, unless the user wants to try it.
 *
 * @throws {ImportError}
 */
export function checkSchemaVersion(source: string, version: number, force: boolean): void {
  if (force || (version >= FIRST_KNOWN && version <= LAST_KNOWN)) return
  const why =
    version < FIRST_KNOWN
      ? 'older than v0.73 of the data node, the first with all tables'
      : 'newer than this program supports'
  throw new ImportError(
    `${source}: schema version ${version} is ${why}; supported are ${FIRST_KNOWN} to ${LAST_KNOWN}. --force tries anyway: columns are read by name, and missing ones are reported`,
  )
}

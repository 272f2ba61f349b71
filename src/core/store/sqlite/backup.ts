import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { flushFile } from '../../concurrency/flush.ts'
import { writeWhole } from '../../concurrency/whole-file.ts'
import { printable } from '../../domain/printable.ts'
import { StoreError } from '../errors.ts'
import type { BackupOptions } from '../inspection.ts'
import type { Connection } from './connection.ts'
import { explainSqliteError, withSqliteErrors } from './errors.ts'
import { openForReading } from './open-connection.ts'
import { shortenWal } from './shorten-wal.ts'
import { createPrivately } from './store-file.ts'
import { hasWal } from './wal-check.ts'

/** Number of pages copied at a time. */
const STEP_PAGES = 2_000

/**
 * Copies a store to another file, as of the start of the copy, however much is written meanwhile. The copy gets its name
 * once it is whole and on disk.
 *
 * @throws {StoreError} if the file exists and must not be replaced, or cannot be written to, or if the store is damaged.
 */
export async function backupSqlite(
  path: string,
  file: string,
  { force = false, signal, onProgress }: BackupOptions,
): Promise<void> {
  // A backup may be made before an upgrade, so a store of any schema is copied as it is.
  const source = openForReading(path, { isOldAllowed: true })
  try {
    refuseFile(path, file, force)
    // Open until the copy is whole: every page is then of this moment.
    source.begin()
    source.row('select commits from store_file')
    withSqliteErrors(path, () => refuseDamaged(source))
    await writeWhole(file, async (partial) => {
      createPrivately(partial)
      await source.copyTo(partial, {
        rate: STEP_PAGES,
        progress: ({ totalPages, remainingPages }) => {
          signal?.throwIfAborted()
          onProgress?.({ donePages: totalPages - remainingPages, totalPages })
        },
      })
      signal?.throwIfAborted()
      flushFile(partial)
    })
  } catch (error) {
    throw explainSqliteError(file, error)
  } finally {
    source.close()
    shortenWal(path)
  }
}

/** Refuses to copy a damaged store, because the copy would replace a good one. */
function refuseDamaged(source: Connection): void {
  const [problem] = source.row('pragma quick_check(1)')!
  if (problem === 'ok') return
  throw new StoreError(
    `${source.path}: the file is damaged, nothing was copied (${printable(String(problem))}); restore a backup, or ingest the event files again`,
  )
}

/** Refuses to replace a store that is in use, or the store itself. */
function refuseFile(path: string, file: string, force: boolean): void {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (stats === undefined) {
    if (!existsSync(dirname(file))) throw new StoreError(`${file}: the folder does not exist`)
    return
  }
  const store = statSync(path, { throwIfNoEntry: false })
  if (stats.dev === store?.dev && stats.ino === store.ino) {
    throw new StoreError(`${file}: this is the store itself; name another file`)
  }
  if (!stats.isFile()) throw new StoreError(`${file}: exists and is not a regular file; name another one`)
  if (!force)
    throw new StoreError(`${file}: already exists; name another file, or add --force to overwrite it`)
  if (hasWal(file)) {
    throw new StoreError(
      `${file}: has a write-ahead log (${file}-wal), so it may be a store in use; name another file`,
    )
  }
}

import type { Command } from 'commander'
import { exportFolder } from '../export/export-folder.ts'
import { createLogger } from '../log.ts'
import { findStore } from '../store/open-store.ts'
import { StoreError } from '../store/store.ts'
import { EXIT } from './exit.ts'
import type { ExportCommandOptions } from './export.ts'
import { stopOnSignals } from './interrupt.ts'
import { InvalidSettingError } from './options.ts'
import { watchingLog } from './watch-log.ts'

const PROGRESS_INTERVAL_MS = 2_000

/** The options that are for one resource. */
const OF_ONE = ['market', 'party', 'source', 'seq', 'from', 'to', 'after', 'oldestFirst', 'force'] as const

/** `lyra export all`: writes every resource into a directory, or what is new since. */
export async function exportAll(options: ExportCommandOptions, command: Command): Promise<void> {
  const folder = folderOf(options, command)
  const log = createLogger(options.logLevel)
  const signal = stopOnSignals()
  const store = findStore(options.store)
  const reader = await store.openReader()
  let rows = 0
  let shownAt = performance.now()
  const onRows = (count: number) => {
    rows += count
    const now = performance.now()
    if (now - shownAt < PROGRESS_INTERVAL_MS) return
    shownAt = now
    log.info(`${rows.toLocaleString('en')} rows`)
  }
  try {
    const snapshot = await reader.openSnapshot()
    try {
      const { height, ...written } = await watchingLog(store, log, () =>
        exportFolder({
          ...{ folder, snapshot, decimalScale: options.decimal ?? null, signal, onRows },
          onNotice: (message) => log.warn(message),
        }),
      )
      const count = (value: number) => value.toLocaleString('en')
      console.log(
        `${folder}: as of block ${height}; ${count(written.written)} files written (${count(written.rows)} rows), ${count(written.unchanged)} left as they were.`,
      )
    } finally {
      await snapshot.close()
    }
  } catch (error) {
    if (signal.aborted) {
      log.info(`interrupted; run the same command again to resume: ${folder} is incomplete until then`)
      process.exitCode = EXIT.interrupted
      return
    }
    const { syscall, message } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    throw new StoreError(`${folder}: cannot be written (${message})`, { cause: error })
  } finally {
    await reader.close()
  }
}

/**
 * The directory that is named.
 *
 * @throws {InvalidSettingError} where there is none, and for options of one resource.
 */
function folderOf({ out, format }: ExportCommandOptions, command: Command): string {
  const given = (name: string) => command.getOptionValueSource(name) === 'cli'
  const foreign = OF_ONE.find(given)
  if (foreign !== undefined) {
    const flag = `--${foreign.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
    throw new InvalidSettingError(`${flag} is for the export of one resource; leave it out with all`)
  }
  if (given('format') && format !== 'parquet')
    throw new InvalidSettingError(`--format ${format} is not for all, which is written as parquet`)
  if (out === undefined)
    throw new InvalidSettingError('all: --out DIR must be given, the directory to write to')
  return out
}

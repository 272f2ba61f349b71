import type { Command } from 'commander'
import { count, wordsOfName } from '#core/domain/words'
import { FILTERS } from '#core/model/filters'
import { StoreError } from '#core/store/errors'
import { findStore } from '#core/store/open-store'
import { withSnapshot } from '#core/store/read-store'
import { exportFolder } from '#service/exports/folder/export-folder'
import { createLogger } from '#service/log'
import { type ExportCommandOptions, refuseTimes } from './export-options.ts'
import { interruptible } from './interrupt.ts'
import { InvalidSettingError } from './options.ts'
import { RowProgress } from './progress.ts'

/** Options that apply only to a single resource. */
const OF_ONE = [
  ...Object.values(FILTERS).map(({ option }) => option),
  'from',
  'to',
  'after',
  'oldestFirst',
  'force',
]

/** `lyra export all`: writes every resource to a folder, and replaces an earlier export there. */
export async function exportAll(options: ExportCommandOptions, command: Command): Promise<void> {
  const folder = outputFolder(options, command)
  refuseTimes(options.times, 'parquet')
  const logger = createLogger(options.logLevel)
  const store = await findStore(options.store)
  const progress = new RowProgress(logger)
  const result = await interruptible(
    logger,
    `interrupted; nothing was written to ${folder}`,
    [store],
    (signal) =>
      withSnapshot(store, (snapshot) =>
        exportFolder({
          folder,
          snapshot,
          signal,
          times: options.times,
          numbers: options.text ? 'text' : undefined,
          onRows: (count) => progress.add(count),
        }),
      ),
  ).catch((error) => {
    const { syscall, message } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    throw new StoreError(`${folder}: cannot be written (${message})`, { cause: error })
  })
  if (result === null) return
  const { height, rows, files } = result
  console.log(`${folder}: as of block ${height}; ${count(files)} files, ${count(rows)} rows.`)
}

/**
 * The named folder.
 *
 * @throws {InvalidSettingError} if none is named, and for options of a single resource.
 */
function outputFolder({ out, format }: ExportCommandOptions, command: Command): string {
  const isSet = (name: string) => command.getOptionValueSource(name) === 'cli'
  const foreign = OF_ONE.find(isSet)
  if (foreign !== undefined) {
    const flag = `--${wordsOfName(foreign, '-')}`
    throw new InvalidSettingError(`${flag} applies to one resource only; omit it with all`)
  }
  if (isSet('format') && format !== 'parquet')
    throw new InvalidSettingError(`--format ${format} cannot be used with all, which writes Parquet`)
  if (out === undefined) throw new InvalidSettingError('all: --out DIR is required, the folder to write to')
  return out
}

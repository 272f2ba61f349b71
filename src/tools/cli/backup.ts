import { Command } from 'commander'
import { StoreError } from '#core/store/errors'
import { findStore } from '#core/store/open-store'
import { createLogger } from '#service/log'
import { interruptible } from './interrupt.ts'
import { type CommonOptions, flagOption, logLevelOption, storeOption } from './options.ts'
import { progressLines } from './progress.ts'

const NOTES = `
The store may be in use: the copy contains its state when the backup began. The file gets its name when it is complete.
The copy is an ordinary store. For a PostgreSQL store, use pg_dump: this command prints the exact call.`

type BackupCommandOptions = CommonOptions & { force: boolean }

/** `lyra backup`: copies a store in one SQLite file while it is in use. */
export function command(): Command {
  return new Command('backup')
    .description('Copies a store to a file while it is in use.')
    .argument('<file>', 'file to write')
    .addOption(storeOption())
    .addOption(flagOption('--force', 'overwrite an existing file'))
    .addOption(logLevelOption())
    .addHelpText('after', NOTES)
    .action(backup)
}

async function backup(file: string, { store: name, force, logLevel }: BackupCommandOptions): Promise<void> {
  const logger = createLogger(logLevel)
  const store = await findStore(name)
  if (store.backup === undefined) throw new StoreError(await store.backupAdvice!(file))
  const copied = await interruptible(
    logger,
    'interrupted; the incomplete copy was deleted',
    [store],
    async (signal) => {
      await store.backup!(file, {
        force,
        signal,
        onProgress: progressLines(
          logger,
          ({ donePages, totalPages }) => `${Math.floor((100 * donePages) / totalPages)} % copied`,
        ),
      })
      return true
    },
  )
  if (copied) console.log(`Copied ${store.name} to ${file}. To check it: lyra check --store ${file}`)
}

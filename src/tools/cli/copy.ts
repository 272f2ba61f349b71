import { Command } from 'commander'
import { count } from '#core/domain/words'
import { copyStore } from '#core/store/admin/copy-store'
import { findStore } from '#core/store/open-store'
import { createLogger } from '#service/log'
import { interruptible } from './interrupt.ts'
import { jsonOption, logLevelOption, setting } from './options.ts'
import { progressLines } from './progress.ts'

const NOTES = `
Either store may be a SQLite file or a PostgreSQL address. Run an interrupted copy again to resume it. At the end the
row count and digest of every table are compared.`

type CopyCommandOptions = { from: string; to: string; json: boolean; logLevel: string }

/** `lyra copy`: copies a whole store. */
export function command(): Command {
  return new Command('copy')
    .description(
      'Copies a store to another file or database, between SQLite and PostgreSQL in either direction.',
    )
    .addOption(setting('--from <store>', 'store to read', 'lyra copy').makeOptionMandatory())
    .addOption(setting('--to <store>', 'store to write', 'lyra copy').makeOptionMandatory())
    .addOption(jsonOption())
    .addOption(logLevelOption())
    .addHelpText('after', NOTES)
    .action(copy)
}

async function copy({ from, to, json, logLevel }: CopyCommandOptions): Promise<void> {
  const logger = createLogger(logLevel)
  const source = await findStore(from)
  const target = await findStore(to)
  const digests = await interruptible(
    logger,
    'interrupted; run the same command again to resume',
    [source],
    (signal) =>
      copyStore(source, target, {
        signal,
        onNotice: (message) => logger.warn(message),
        onProgress: progressLines(
          logger,
          ({ table, rows, written }) => `${table}: ${count(rows)} rows compared, ${count(written)} written`,
        ),
      }),
  )
  if (digests === null) return
  if (json) {
    console.log(JSON.stringify(digests))
    return
  }
  console.log('Copied; both stores contain the same rows:')
  for (const { table, rows, sha256 } of digests) {
    console.log(`  ${table}: ${count(rows)} rows, sha256 ${sha256}`)
  }
}

import { Command } from 'commander'
import { findStore } from '#core/store/open-store'
import { withOpen } from '#core/with-open'
import { createLogger } from '#service/log'
import { importHistory } from '../import/import-history.ts'
import type { ImportReport } from '../import/import-report.ts'
import { openSource } from '../import/open-source.ts'
import { describeImport } from './describe-import.ts'
import { EXIT } from './exit.ts'
import { stopAfterBatch } from './interrupt.ts'
import {
  allowGapOption,
  type CommonOptions,
  flagOption,
  jsonLinesOption,
  logLevelOption,
  storeOption,
  tempOption,
} from './options.ts'
import { showFailure, showReport } from './outcome.ts'
import { createProgressView } from './progress.ts'

type ImportCommandOptions = CommonOptions & {
  allowGap: boolean
  force: boolean
  temp: string
  json: boolean
}

const NOTES = `
A source is the address of the data node's PostgreSQL database (postgres://user@host/database), a network-history
segment (CHAIN-VERSION-FROM-TO.zip), or a folder of segments. Name one database, or any number of segments. The
database is only read, in one transaction; the node may keep running. Load a dump into PostgreSQL first.

Blocks already in the store are never replaced; run the command again to resume. Imported blocks are final: ingest event
files first, and import the other blocks. docs/import.md describes what each source contains.

Exit status: 0 done, 1 failed, 2 wrong usage, 3 blocks are missing, 130 interrupted.`

/** `lyra import`: imports the history of a data node. */
export function command(): Command {
  return new Command('import')
    .summary('import history from a Vega data node')
    .description(
      'Imports the history of a Vega data node from its database or from network-history segments.',
    )
    .argument('<source...>', 'postgres://user@host/database, or segments (.zip) and their folders')
    .addOption(storeOption())
    .addOption(allowGapOption())
    .addOption(flagOption('--force', 'import from an unsupported schema version', 'LYRA_IMPORT_FORCE'))
    .addOption(tempOption('where rows of segments are sorted'))
    .addOption(jsonLinesOption())
    .addOption(logLevelOption())
    .addHelpText('after', NOTES)
    .action(importSources)
}

async function importSources(sources: string[], options: ImportCommandOptions): Promise<void> {
  const log = createLogger(options.logLevel)
  const signal = stopAfterBatch(log)
  const { force, temp } = options
  try {
    const { source, foreign } = await openSource(sources, {
      ...{ force, temp, signal },
      onNotice: (message) => log.info(message),
    })
    for (const path of foreign) log.warn(`${path}: skipped, not named like a segment`)
    try {
      const view = createProgressView(log, options.json, 'rows')
      const onNotice = (message: string) => log.warn(message)
      const opening = findStore(options.store).openWriter({ signal, onNotice })
      const ended = await withOpen(opening, async (writer) => {
        const { report, failure } = await importHistory({
          source,
          writer,
          allowGap: options.allowGap,
          signal,
          onProgress: view.show,
        })
        view.end()
        const whole: ImportReport = { ...report, foreignFiles: foreign }
        showReport(whole, failure, { json: options.json, describe: describeImport })
        return [failure, report] as const
      })
      // As in `lyra ingest`: shown after the last flush.
      showFailure(...ended)
    } finally {
      await source.close().catch(() => {})
    }
  } catch (error) {
    if (!signal.aborted) throw error
    process.exitCode = EXIT.interrupted
  }
}

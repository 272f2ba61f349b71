import { Command } from 'commander'
import { createLogger } from '#service/log'
import { importHistory } from '../import/import-history.ts'
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
import { runWriting } from './run-writing.ts'

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
    .description(
      'Imports the history of a Vega data node from its database or from network-history segments.',
    )
    .argument('<source...>', 'postgres://user@host/database, or segments (.zip) and their folders')
    .addOption(storeOption())
    .addOption(allowGapOption())
    .addOption(flagOption('--force', 'import from an unsupported schema version', 'lyra import'))
    .addOption(tempOption('where rows of segments are sorted'))
    .addOption(jsonLinesOption())
    .addOption(logLevelOption())
    .addHelpText('after', NOTES)
    .action(importSources)
}

async function importSources(sources: string[], options: ImportCommandOptions): Promise<void> {
  const logger = createLogger(options.logLevel)
  const signal = stopAfterBatch(logger)
  const { force, temp, allowGap } = options
  try {
    const { source, foreign } = await openSource(sources, {
      force,
      temp,
      signal,
      onNotice: (message) => logger.info(message),
    })
    for (const path of foreign) logger.warn(`${path}: skipped, not named like a segment`)
    try {
      await runWriting(logger, options, signal, 'rows', describeImport, async (writer, onProgress) => {
        const result = await importHistory({ source, writer, allowGap, signal, onProgress })
        return { ...result, report: { ...result.report, foreignFiles: foreign } }
      })
    } finally {
      await source.close().catch(() => {})
    }
  } catch (error) {
    if (!signal.aborted) throw error
    process.exitCode = EXIT.interrupted
  }
}

import { Command } from 'commander'
import { ingestFiles } from '#core/ingest/ingest-files'
import { createLogger } from '#service/log'
import { describeReport } from './describe-report.ts'
import { findInput } from './event-input.ts'
import { stopAfterBatch } from './interrupt.ts'
import {
  allowGapOption,
  type CommonOptions,
  jsonLinesOption,
  logLevelOption,
  storeOption,
  strictOption,
} from './options.ts'
import { runWriting } from './run-writing.ts'

type IngestOptions = CommonOptions & {
  allowGap: boolean
  strict: boolean
  json: boolean
}

const NOTES = `
Paths are event files (.evts, .evt, .bevt, gzipped or not), folders, or - for standard input.
Run the command again to resume; blocks already stored or imported are skipped. To have what an older version did not
store, or events in place of imported blocks, ingest the files into a new store (docs/maintain.md).
The report says how many rows more the store has than before. Rows that events only change are not counted.

Exit status: 0 done, 1 failed, 2 wrong usage, 3 blocks are missing, 130 interrupted.`

/** `lyra ingest`: ingests event files. */
export function command(): Command {
  return new Command('ingest')
    .description("Ingests event files of the network's core into a store.")
    .argument('<path...>', 'event files or folders, or - for standard input')
    .addOption(storeOption())
    .addOption(allowGapOption())
    .addOption(strictOption())
    .addOption(jsonLinesOption())
    .addOption(logLevelOption())
    .addHelpText('after', NOTES)
    .action(ingest)
}

async function ingest(paths: string[], options: IngestOptions): Promise<void> {
  const logger = createLogger(options.logLevel)
  const input = findInput(paths, logger)
  const signal = stopAfterBatch(logger)
  const { allowGap, strict } = options
  await runWriting(logger, options, signal, 'events', describeReport, (writer, onProgress) =>
    ingestFiles({ input, writer, logger, allowGap, strict, signal, onProgress }),
  )
}

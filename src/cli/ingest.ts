import { Command, Option } from 'commander'
import { ingestFiles } from '../ingest/ingest-files.ts'
import { readInstruments, writeInstruments } from '../ingest/write-instruments.ts'
import { createLogger } from '../log.ts'
import { noEventsError } from '../records/read-records.ts'
import type { InstrumentNodes } from '../resources/instruments/nodes.ts'
import { findStore } from '../store/open-store.ts'
import type { Writer } from '../store/store.ts'
import { describeReport } from './describe-report.ts'
import { findInput } from './event-input.ts'
import { EXIT } from './exit.ts'
import { stopAfterBatch } from './interrupt.ts'
import {
  allowGapOption,
  type CommonOptions,
  InvalidSettingError,
  jsonLinesOption,
  logLevelOption,
  storeOption,
  strictOption,
} from './options.ts'
import { showFailure, showReport } from './outcome.ts'
import { createProgressView } from './progress.ts'

type IngestOptions = CommonOptions & {
  allowGap: boolean
  strict: boolean
  json: boolean
  instruments?: string
}

const NOTES = `
Paths are event files (.evts, .evt, .bevt, gzipped or not), directories of them, or - for standard input.
Run the command again to resume; blocks already stored are skipped. If an older version that did not support a resource
ingested the blocks, ingest their files again to add the rows of that resource.

--instruments takes the JSON of GET /api/v2/instruments, a list of its nodes, or one node per line; event files are
then optional. Values from events are never overwritten.

Exit status: 0 done, 1 failed, 2 wrong usage, 3 blocks are missing, 130 interrupted.`

/** `lyra ingest`: ingests event files. */
export function command(): Command {
  return new Command('ingest')
    .summary('ingest event files into a store')
    .description("Ingests event files of the network's core into a store.")
    .argument('[path...]', 'event files, directories of them, or - for standard input')
    .addOption(storeOption())
    .addOption(allowGapOption())
    .addOption(strictOption())
    .addOption(
      new Option('--instruments <file>', 'read names, decimals and assets of markets from a JSON file').env(
        'LYRA_INSTRUMENTS',
      ),
    )
    .addOption(jsonLinesOption())
    .addOption(logLevelOption())
    .addHelpText('after', NOTES)
    .action(ingest)
}

async function ingest(paths: string[], options: IngestOptions): Promise<void> {
  const log = createLogger(options.logLevel)
  if (paths.length === 0 && options.instruments === undefined) {
    throw new InvalidSettingError("missing required argument 'path': name event files, or --instruments FILE")
  }
  const nodes = options.instruments === undefined ? null : readInstruments(options.instruments)
  const input = findInput(paths, log)
  const signal = stopAfterBatch(log)
  let writer: Writer
  try {
    writer = await findStore(options.store).openWriter({
      signal,
      onNotice: (message) => log.warn(message),
    })
  } catch (error) {
    if (!signal.aborted) throw error
    process.exitCode = EXIT.interrupted
    return
  }
  const view = createProgressView(log, options.json)
  try {
    if (nodes !== null && paths.length === 0) {
      await writeInstruments(writer, nodes)
      showInstruments(nodes, options.json)
      return
    }
    const { report, failure: stopped } = await ingestFiles({
      input,
      writer,
      log,
      allowGap: options.allowGap,
      strict: options.strict,
      signal,
      onProgress: view.show,
    })
    view.end()
    const failure = stopped ?? noEventsError(input.files, report)
    const isWritten = nodes !== null && report.height !== null && !signal.aborted
    if (isWritten) await writeInstruments(writer, nodes)
    showReport(report, failure, { json: options.json, describe: describeReport })
    if (isWritten) showInstruments(nodes, options.json)
    showFailure(failure, report)
  } finally {
    await writer.close()
  }
}

function showInstruments({ markets, assets }: InstrumentNodes, json: boolean): void {
  const counts = { instruments: markets.length, assets: assets.length }
  if (json) console.log(JSON.stringify({ type: 'instruments', ...counts }))
  else
    console.log(
      `${markets.length} instruments and ${assets.length} assets written from --instruments, except values known from events`,
    )
}

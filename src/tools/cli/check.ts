import { Command } from 'commander'
import { describeRanges } from '#core/domain/height-ranges'
import { printable } from '#core/domain/printable'
import { count } from '#core/domain/words'
import { findStore } from '#core/store/open-store'
import { createLogger } from '#service/log'
import { checkAgainstFiles, type FilesComparison, storeBytesOf } from '../check/check-against-files.ts'
import { checkStore, type StoreCheck } from '../check/check-store.ts'
import { announceSize } from '../import/temporary-file.ts'
import { findInput } from './event-input.ts'
import { EXIT } from './exit.ts'
import { interruptible } from './interrupt.ts'
import { type CommonOptions, jsonOption, logLevelOption, storeOption, tempOption } from './options.ts'
import { printJson } from './output.ts'

/** Maximum number of ranges of heights that are listed one by one. */
const SHOWN_RANGES = 20

const NOTES = `
Checks the database and every row: keys and their order, values, the time spans of funding periods, the position and
gaps, lists of providers. With event files (.evts, .evt, .bevt, gzipped or not), folders or -, it also compares
every row with them, over the blocks that both contain completely. The files become a temporary store for this, in
--temp. The store may be in use, and is not changed.

Exit status: 0 no problems, 1 problems or a failure, 2 wrong usage, 130 interrupted.`

type CheckCommandOptions = CommonOptions & { temp: string; json: boolean }

/** `lyra check`: checks a store, and compares it with event files. */
export function command(): Command {
  return new Command('check')
    .description('Checks a store for damage, alone or against event files.')
    .argument('[path...]', 'event files or folders, or - for standard input')
    .addOption(storeOption())
    .addOption(tempOption('where event files become a temporary store'))
    .addOption(jsonOption())
    .addOption(logLevelOption())
    .addHelpText('after', NOTES)
    .action(check)
}

async function check(
  paths: string[],
  { store: name, temp, json, logLevel }: CheckCommandOptions,
): Promise<void> {
  const logger = createLogger(logLevel)
  const input = findInput(paths, logger)
  const store = await findStore(name)
  const onStep = (what: string) => logger.info(`checking ${what}`)
  if (paths.length > 0) {
    announceSize(temp, 'the event files become a temporary store', storeBytesOf(input), (message) =>
      logger.info(message),
    )
  }
  const checked = await interruptible(logger, 'interrupted', [store], async (signal) => {
    const result = await checkStore(store, { signal, onStep })
    const isCompared = paths.length > 0 && result.isReadable
    const options = { logger, signal, temp, onStep }
    return { result, compared: isCompared ? await checkAgainstFiles(store, input, result, options) : null }
  })
  if (checked === null) return
  const { result, compared } = checked
  const { problems, notes, rows } = result
  if (json) {
    const { count, reported } = problems
    printJson({ ok: count === 0, problemCount: count, problems: reported, notes, rows, compared })
  } else {
    console.log(describeCheck(store.name, result, compared))
  }
  if (problems.count > 0) process.exitCode = EXIT.failure
}

function describeCheck(
  name: string,
  { problems, notes, rows }: StoreCheck,
  compared: FilesComparison | null,
): string {
  const sum = (counts: Record<string, number>) =>
    count(Object.values(counts).reduce((total, rows) => total + rows, 0))
  const lines = problems.reported.map(({ where, what }) => printable(`${where}: ${what}`))
  if (problems.count > problems.reported.length) {
    lines.push(`and ${count(problems.count - problems.reported.length)} more`)
  }
  for (const note of notes) lines.push(printable(`note: ${note}`))
  lines.push(`${name}: ${sum(rows)} rows checked`)
  if (compared !== null) {
    const ranges = describeRanges(compared.heights, SHOWN_RANGES)
    lines.push(`${sum(compared.rows)} rows match the event files, over ${ranges}`)
  }
  const number = problems.count === 0 ? 'No' : count(problems.count)
  lines.push(`${number} ${problems.count === 1 ? 'problem' : 'problems'} found.`)
  return lines.join('\n')
}

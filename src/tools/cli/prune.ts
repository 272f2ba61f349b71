import { Command } from 'commander'
import { timeBefore } from '#core/domain/time'
import { StoreError } from '#core/store/errors'
import { findStore } from '#core/store/open-store'
import type { PruneBound } from '#core/store/pruning/prune-bound'
import { describePruned, pruneStore } from '#core/store/pruning/prune-store'
import { PRUNED_ROWS } from '#core/store/schema/tables'
import type { Store } from '#core/store/store'
import { createLogger } from '#service/log'
import { describeBound, type GivenBound, lastBlockOf, parseBound } from './bound.ts'
import { EXIT } from './exit.ts'
import { stopOnSignals } from './interrupt.ts'
import {
  type CommonOptions,
  flagOption,
  jsonOption,
  logLevelOption,
  setting,
  storeOption,
} from './options.ts'
import { printJson } from './output.ts'
import { progressLines } from './progress.ts'

const NOTES = `
A whole number of 16 digits or more is a time in Unix nanoseconds, a smaller one a block height. The service may be
running. Nothing else is deleted. Space of deleted rows is reused; a SQLite file does not shrink. lyra serve --keep
prunes every hour.`

type PruneCommandOptions = CommonOptions & { before: GivenBound; dryRun: boolean; json: boolean }

/** `lyra prune`: deletes old rows. */
export function command(): Command {
  return new Command('prune')
    .description(`Deletes the ${PRUNED_ROWS} of a store that are older than a time or a block.`)
    .addOption(storeOption())
    .addOption(
      setting(
        '--before <when>',
        'delete rows older than this: a date, a time (RFC 3339, Unix nanoseconds), a height, or an age before the last block (90d)',
      )
        .argParser(parseBound)
        .makeOptionMandatory(),
    )
    .addOption(flagOption('--dry-run', 'only count the rows that would be deleted'))
    .addOption(jsonOption())
    .addOption(logLevelOption())
    .addHelpText('after', NOTES)
    .action(prune)
}

async function prune({ store: name, before, dryRun, json, logLevel }: PruneCommandOptions): Promise<void> {
  const logger = createLogger(logLevel)
  const store = await findStore(name)
  const { kind } = await store.inspect()
  const bound = await boundOf(store, before)
  logger.info(`--before means ${describeBound(bound)}`)
  const signal = stopOnSignals()
  const report = await pruneStore(store, bound, {
    signal,
    isDryRun: dryRun,
    onProgress: progressLines(logger, describePruned),
  })
  if (json) {
    const { by, before } = bound
    printJson({ by, before: before.toString(), dryRun, ...report, interrupted: signal.aborted })
  } else {
    const done = dryRun ? 'Would be deleted' : 'Deleted'
    console.log(`${done} from ${store.name}, older than ${describeBound(bound)}: ${describePruned(report)}.`)
    if (kind === 'sqlite' && !dryRun) console.log('The file keeps its size; new rows use the space in it.')
  }
  if (signal.aborted) process.exitCode = EXIT.interrupted
}

/**
 * Parses and checks the bound.
 *
 * @throws {StoreError} for a bound that would delete everything, which probably is a mistake: a time in seconds, or a
 *   wrong year.
 */
async function boundOf(store: Store, given: GivenBound): Promise<PruneBound> {
  const storeHead = await lastBlockOf(store, 'prune')
  const bound: PruneBound =
    given.by === 'age' ? { by: 'time', before: timeBefore(BigInt(storeHead.timestamp), given.age) } : given
  const last = BigInt(bound.by === 'height' ? storeHead.height : storeHead.timestamp)
  if (bound.before <= last) return bound
  throw new StoreError(
    `--before ${describeBound(bound)} is later than the last block (${describeBound({ ...bound, before: last })}) ` +
      `and would delete everything; give an earlier one${bound.by === 'height' ? ', or a time such as 2026-01-31' : ''}`,
  )
}

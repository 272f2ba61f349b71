import { Command, InvalidArgumentError, Option } from 'commander'
import { count } from '#core/domain/words'
import type { Resource } from '#core/model/resource'
import { RESOURCES } from '#core/resources/resources'
import { StoreError } from '#core/store/errors'
import { findStore } from '#core/store/open-store'
import { isStoredMarket } from '#core/store/queries/contents/ids'
import { readStore, withSnapshot } from '#core/store/read-store'
import type { Snapshot, Store } from '#core/store/store'
import { exportQuery, fullExportParametersOf, fullExportQuery } from '#service/exports/export-query'
import { EXPORT_TYPES, exportBytes, TIMES_FORMS } from '#service/formats/export-bytes'
import type { ExportQuery } from '#service/formats/export-rows'
import { ApiError } from '#service/http/errors'
import { createLogger } from '#service/log'
import { parameterReader, parametersOf } from '#service/questions/parameters'
import { parseTime } from './bound.ts'
import { exportAll } from './export-all.ts'
import { type ExportCommandOptions, refuseTimes } from './export-options.ts'
import { filterOptions, refuseForeign, restrictionsIn, takersOf } from './export-restrictions.ts'
import { interruptible } from './interrupt.ts'
import { flagOption, InvalidSettingError, logLevelOption, storeOption } from './options.ts'
import { forTerminal } from './output.ts'
import { RowProgress } from './progress.ts'
import { refuseExisting, writeOut } from './write-out.ts'

const NOTES = `
All rows come from one snapshot. Rows of one market are sorted newest first; rows of all markets by market id, then
oldest first. Each line of ndjson and csv contains its cursor; pass it to --after to resume after that row. A file gets
its name when it is complete.

lyra export all --out DIR writes every resource as Parquet, by market. Run it again to replace it by a new export.`

/** The name on the command line for all resources. */
const ALL = 'all'

/** Each resource, by its name on the command line. */
const RESOURCES_BY_NAME = new Map(
  RESOURCES.map((resource): [string, Resource] => [resource.kebabName, resource]),
)

/** `lyra export`: writes all rows of a resource to a file. */
export function command(): Command {
  const command = new Command('export')
    .description(
      'Writes all rows of a resource to a file or standard output, with the same fields as the API.',
    )
    .argument('<resource>', `${[...RESOURCES_BY_NAME.keys()].join(', ')}, or ${ALL}`, (name) => {
      const resource = name === ALL ? ALL : RESOURCES_BY_NAME.get(name)
      if (resource === undefined) {
        throw new InvalidArgumentError(
          `It must be one of ${[...RESOURCES_BY_NAME.keys()].join(', ')}, ${ALL}.`,
        )
      }
      return resource
    })
    .addOption(storeOption())
  for (const option of filterOptions()) command.addOption(option)
  return command
    .addOption(
      new Option(
        '--from <time>',
        `only rows at or after this date, time, or age before the last block (${takersOf('from')})`,
      ).argParser(parseTime),
    )
    .addOption(
      new Option('--to <time>', `only rows before this date, time, or age (${takersOf('to')})`).argParser(
        parseTime,
      ),
    )
    .option('--after <cursor>', 'resume after the row with this cursor')
    .addOption(flagOption('--oldest-first', 'write the oldest rows first'))
    .addOption(
      new Option('--format <format>', 'output format').choices(Object.keys(EXPORT_TYPES)).default('ndjson'),
    )
    .option('--out <file>', 'file to write (default: standard output); for `all`, the folder')
    .addOption(
      new Option(
        '--times <form>',
        'ndjson and csv: iso, dates in UTC instead of nanoseconds; Parquet: micros (UTC, as Spark reads) or local (nanoseconds without a zone) instead of UTC in nanoseconds',
      ).choices(TIMES_FORMS),
    )
    .addOption(flagOption('--text', 'Parquet: write decimals as text, as the core sent them'))
    .addOption(flagOption('--force', 'overwrite an existing file'))
    .addOption(logLevelOption())
    .addHelpText('after', NOTES)
    .action((resource: Resource | typeof ALL, options: ExportCommandOptions, command: Command) =>
      resource === ALL ? exportAll(options, command) : exportResource(resource, options),
    )
}

async function exportResource(resource: Resource, options: ExportCommandOptions): Promise<void> {
  refuseForeign(resource, options)
  const logger = createLogger(options.logLevel)
  const store = await findStore(options.store)
  const query = queryOfOptions(resource, options, await restrictionsIn(store, options))
  const { out, force, format, text, times } = options
  if (text && format !== 'parquet')
    throw new InvalidSettingError(`--text requires Parquet; the format is ${format}: add --format parquet`)
  refuseTimes(times, format)
  if (out !== undefined) refuseExisting(out, force)
  const progress = new RowProgress(logger)
  const exported = await interruptible(logger, 'interrupted; the output is incomplete', [store], (signal) =>
    withSnapshot(store, async (snapshot) => {
      async function* all(): AsyncGenerator<string | Uint8Array, void, undefined> {
        yield* shownBytes(query, options, { snapshot, signal, onRows: (count) => progress.add(count) })
        if (progress.rows === 0) logger.warn(await reasonForNoRows(store, query))
      }
      await writeOut(out, all())
      return true
    }),
  )
  if (exported && out !== undefined) {
    console.log(`${count(progress.rows)} rows written to ${out}.`)
  }
}

/** The rows for which the options ask, checked like a request to the API. */
function queryOfOptions(
  resource: Resource,
  { after, oldestFirst }: ExportCommandOptions,
  restrictions: ReadonlyMap<string, readonly string[]>,
): ExportQuery {
  const { scope, required } = resource
  const isOfAll =
    scope === null
      ? required.list !== undefined && !required.list.some((filter) => restrictions.has(filter))
      : !restrictions.has(scope)
  const pairs = [...restrictions].flatMap(([name, values]) =>
    name === scope ? [] : values.map((value): [string, string] => [name, value]),
  )
  if (after !== undefined) pairs.push(['pagination.after', after])
  try {
    if (isOfAll) {
      return fullExportQuery(resource, parameterReader(fullExportParametersOf(resource), 'refused')(pairs))
    }
    pairs.push(['pagination.newestFirst', String(!oldestFirst)])
    const values = parameterReader(parametersOf(resource), 'refused')(pairs)
    return exportQuery(resource, scope === null ? null : restrictions.get(scope)![0]!, values, 'export')
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const reason = error.detail?.inner ?? error.message
    throw new InvalidSettingError(reason.replace('pagination.after', '--after'))
  }
}

/**
 * Why a selection has no rows.
 *
 * @throws {StoreError} if the store does not have its market, which probably is a mistake.
 */
async function reasonForNoRows(store: Store, query: ExportQuery): Promise<string> {
  const { resource, selection } = query
  const { marketId } = selection
  if (marketId !== undefined && !(await readStore(store, () => isStoredMarket(marketId)))) {
    throw new StoreError(
      `${store.name}: market ${marketId} is unknown; lyra status lists the markets of the store`,
    )
  }
  const of = marketId === undefined ? '' : ` of market ${marketId}`
  return `no matching ${resource.kebabName.replaceAll('-', ' ')}${of}: 0 rows written`
}

type ExportReading = { snapshot: Snapshot; signal: AbortSignal; onRows: (count: number) => void }

async function* shownBytes(
  query: ExportQuery,
  { format, text, times, out }: ExportCommandOptions,
  { snapshot, ...reading }: ExportReading,
): AsyncGenerator<string | Uint8Array, void, undefined> {
  const isShown = out === undefined && process.stdout.isTTY && format !== 'parquet'
  const numbers = text ? ('text' as const) : undefined
  for await (const bytes of exportBytes({ ...query, times, numbers }, format, snapshot, reading)) {
    yield isShown ? forTerminal(Buffer.from(bytes).toString(), format) : bytes
  }
}

import { createWriteStream, existsSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Command, InvalidArgumentError, Option } from 'commander'
import { flushFolder } from '#core/concurrency/flush'
import { count, wordsOfName } from '#core/domain/words'
import { FILTERS, type Filter } from '#core/model/filters'
import type { Resource } from '#core/model/resource'
import { RESOURCES } from '#core/resources/resources'
import { StoreError } from '#core/store/errors'
import { findStore } from '#core/store/open-store'
import { isStoredMarket } from '#core/store/queries/ids'
import { readStore, withSnapshot } from '#core/store/read-store'
import type { Snapshot, Store } from '#core/store/store'
import { exportQuery, fullExportParametersOf, fullExportQuery } from '#service/exports/export-query'
import { EXPORT_TYPES, exportBytes, TIMES_FORMS } from '#service/formats/export-bytes'
import type { ExportQuery } from '#service/formats/export-rows'
import { ApiError } from '#service/http/errors'
import { createLogger } from '#service/log'
import { parameterReader, parametersOf } from '#service/questions/parameters'
import { type GivenTime, lastBlockOf, parseTime } from './bound.ts'
import { exportAll } from './export-all.ts'
import { type ExportCommandOptions, type GivenFilters, refuseTimes } from './export-options.ts'
import { interruptible } from './interrupt.ts'
import { flagOption, InvalidSettingError, logLevelOption, storeOption } from './options.ts'
import { endAtOutputFault, forTerminal } from './output.ts'
import { RowProgress } from './progress.ts'
import { wholeId } from './whole-id.ts'

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

type Restriction = keyof GivenFilters | 'from' | 'to'

/** The options that restrict the rows, and their parameters in the API. */
const RESTRICTIONS = [
  ...Object.entries(FILTERS).map(([name, { option, type }]) => ({ option, name, type })),
  { option: 'from', name: 'dateRange.startTimestamp', type: null },
  { option: 'to', name: 'dateRange.endTimestamp', type: null },
] as const satisfies { option: Restriction; name: string; type: Filter['type'] | null }[]

/** The placeholder of a filter's value, by type. */
const PLACEHOLDERS: Record<Filter['type'], string> = {
  marketId: 'id',
  partyId: 'id',
  traderId: 'id',
  source: 'source',
  uint64: 'number',
}

/** The options that apply to a resource. */
function restrictionsOf(resource: Resource): Restriction[] {
  const parameters = [resource.scope, ...parametersOf(resource).map(({ name }) => name)]
  return RESTRICTIONS.filter(({ name }) => parameters.includes(name)).map(({ option }) => option)
}

/** The names of the resources that take an option, for its help. */
function takersOf(option: Restriction): string {
  return RESOURCES.filter((resource) => restrictionsOf(resource).includes(option))
    .map(({ kebabName }) => kebabName)
    .join(', ')
}

/** The options for the filters of all resources. */
function filterOptions(): Option[] {
  return Object.values(FILTERS).flatMap(({ option, type, meaning }) => {
    const takers = takersOf(option)
    if (takers === '') return []
    const isId = PLACEHOLDERS[type] === 'id'
    const text = `${meaning[0]!.toLowerCase()}${meaning.slice(1, -1)}${isId ? ', by id or unique prefix' : ''}`
    const otherwise = type === 'marketId' ? '; default: all markets' : ''
    return [new Option(`--${flagOf(option)} <${PLACEHOLDERS[type]}>`, `${text} (${takers})${otherwise}`)]
  })
}

const flagOf = (option: string) => wordsOfName(option, '-')

/** `lyra export`: writes all rows of a resource to a file. */
export function command(): Command {
  const command = new Command('export')
    .summary('export the rows of a resource as ndjson, csv or Parquet')
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
    .option('--text', 'Parquet: write decimals as text, as the core sent them', false)
    .addOption(flagOption('--force', 'overwrite an existing file'))
    .addOption(logLevelOption())
    .addHelpText('after', NOTES)
    .action((resource: Resource | typeof ALL, options: ExportCommandOptions, command: Command) =>
      resource === ALL ? exportAll(options, command) : exportResource(resource, options),
    )
}

async function exportResource(resource: Resource, options: ExportCommandOptions): Promise<void> {
  refuseForeign(resource, options)
  const log = createLogger(options.logLevel)
  const store = await findStore(options.store)
  const query = queryOfOptions(resource, options, await restrictionsIn(store, options))
  const { out, force, format, text, times } = options
  if (text && format !== 'parquet')
    throw new InvalidSettingError(`--text requires Parquet; the format is ${format}: add --format parquet`)
  refuseTimes(times, format)
  if (out !== undefined && !force && existsSync(out)) {
    throw new StoreError(`${out}: already exists; name another file, or add --force to overwrite it`)
  }
  const progress = new RowProgress(log)
  const exported = await interruptible(log, 'interrupted; the output is incomplete', [store], (signal) =>
    withSnapshot(store, async (snapshot) => {
      async function* all(): AsyncGenerator<string | Uint8Array, void, undefined> {
        yield* shownBytes(query, options, { snapshot, signal, onRows: (count) => progress.add(count) })
        if (progress.rows === 0) log.warn(await reasonForNoRows(store, query))
      }
      await writeOut(out, all())
      return true
    }),
  )
  if (exported && out !== undefined) {
    console.log(`${count(progress.rows)} rows written to ${out}.`)
  }
}

/** The given restrictions by parameter: ids are completed, and ages are counted back from the last block of the store. */
async function restrictionsIn(store: Store, options: ExportCommandOptions): Promise<Map<string, string>> {
  const values = new Map<string, string>()
  for (const { option, name, type } of RESTRICTIONS) {
    const value = options[option]
    if (value === undefined) continue
    if (typeof value === 'object') values.set(name, String(await timeOf(store, value)))
    else if (PLACEHOLDERS[type!] !== 'id') values.set(name, value)
    else values.set(name, await wholeId(store, type === 'marketId' ? 'market' : 'party', value))
  }
  return values
}

async function timeOf(store: Store, time: GivenTime): Promise<bigint> {
  if (time.by === 'time') return time.before
  return BigInt((await lastBlockOf(store, 'export')).timestamp) - time.age
}

/** Refuses options that the resource does not have, whatever their values. */
function refuseForeign(resource: Resource, options: ExportCommandOptions): void {
  const allowed = restrictionsOf(resource)
  const foreign = RESTRICTIONS.find(
    ({ option }) => options[option] !== undefined && !allowed.includes(option),
  )?.option
  if (foreign === undefined) return
  const flags = allowed.map((name) => `--${flagOf(name)}`).join(', ')
  throw new InvalidSettingError(
    `${resource.kebabName} cannot be filtered by ${foreign} (--${flagOf(foreign)}); ${flags === '' ? 'omit it' : `allowed: ${flags}`}`,
  )
}

/** The rows for which the options ask, checked like a request to the API. */
function queryOfOptions(
  resource: Resource,
  { after, oldestFirst }: ExportCommandOptions,
  restrictions: ReadonlyMap<string, string>,
): ExportQuery {
  const { scope, required } = resource
  const isOfAll =
    scope === null
      ? required.list !== undefined && !required.list.some((filter) => restrictions.has(filter))
      : !restrictions.has(scope)
  const pairs = [...restrictions].filter(([name]) => name !== scope)
  if (after !== undefined) pairs.push(['pagination.after', after])
  try {
    if (isOfAll) {
      return fullExportQuery(resource, parameterReader(fullExportParametersOf(resource), 'refused')(pairs))
    }
    pairs.push(['pagination.newestFirst', String(!oldestFirst)])
    const values = parameterReader(parametersOf(resource), 'refused')(pairs)
    return exportQuery(resource, scope === null ? null : restrictions.get(scope)!, values)
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

/** Writes to standard output, or to a file that gets its name once it is whole and on disk. */
export async function writeOut(
  out: string | undefined,
  bytes: AsyncIterable<string | Uint8Array>,
): Promise<void> {
  const source = Readable.from(bytes, { objectMode: false })
  if (out === undefined) {
    await pipeline(source, process.stdout, { end: false }).catch(endAtOutputFault)
    return
  }
  const partial = `${out}.partial`
  try {
    await pipeline(source, createWriteStream(partial, { flush: true }))
    renameSync(partial, out)
    flushFolder(dirname(out))
  } catch (error) {
    rmSync(partial, { force: true })
    const { syscall, message } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    throw new StoreError(`${out}: cannot be written (${message})`, { cause: error })
  }
}

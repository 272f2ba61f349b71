import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { Command, InvalidArgumentError, Option } from 'commander'
import { withOpen } from '#core/concurrency/with-open'
import { canonicalId, PARTY_ID } from '#core/domain/ids'
import { nearestInt64 } from '#core/domain/integers'
import { timeBefore } from '#core/domain/time'
import { StoreError } from '#core/store/errors'
import { findStore } from '#core/store/open-store'
import type { Store } from '#core/store/store'
import { createLogger } from '#service/log'
import { partyStatementQuestion } from '#service/questions/party-statement'
import { parsedAnswer, ServiceError, serviceAt } from '../status/ask-service.ts'
import { type GivenTime, lastBlockOf, parseTime } from './bound.ts'
import {
  type CommonOptions,
  flagOption,
  InvalidSettingError,
  isOfService,
  logLevelOption,
  storeOption,
  urlOption,
} from './options.ts'
import { forTerminal } from './output.ts'
import { wholeId } from './whole-id.ts'
import { refuseExisting, writeOut } from './write-out.ts'

const NOTES = `
The file is CSV: a row for each funding payment, and for the liquidity fees and the fee penalty of each epoch, with market,
size, rate, amount in whole units and running total. If the statement is incomplete, a warning says so, and its last rows
say why. Its last row names what is in no statement.

  lyra statement --party 3e65 --month 2024-09 --out .`

type StatementOptions = CommonOptions & {
  url: string | undefined
  party: string
  month: Range | undefined
  from: GivenTime | undefined
  to: GivenTime | undefined
  out: string | undefined
  force: boolean
}

/** A range of times, Unix nanoseconds; null for an open end. */
type Range = { start: bigint | null; end: bigint | null }

/** A statement as a file. */
type StatementFile = { text: string; name: string }

/** `lyra statement`: writes what a party paid and received to a file. */
export function command(): Command {
  return new Command('statement')
    .description('Writes what a party paid and received, by funding payment and epoch, as CSV.')
    .addOption(storeOption())
    .addOption(urlOption())
    .requiredOption('--party <id>', 'the party; in a store also a unique prefix of its id')
    .addOption(
      new Option('--month <month>', 'only rows of this month in UTC, such as 2024-09').argParser(parseMonth),
    )
    .addOption(
      new Option(
        '--from <time>',
        'only rows at or after this date, time, or age before the last block',
      ).argParser(parseTime),
    )
    .addOption(new Option('--to <time>', 'only rows before this date, time, or age').argParser(parseTime))
    .option(
      '--out <file>',
      'file to write, or a folder, where it is named by party and range (default: standard output)',
    )
    .addOption(flagOption('--force', 'overwrite an existing file'))
    .addOption(logLevelOption())
    .addHelpText('after', NOTES)
    .action(writeStatement)
}

async function writeStatement(options: StatementOptions, command: Command): Promise<void> {
  const { month, from, to, out, force } = options
  if (month !== undefined && (from !== undefined || to !== undefined))
    throw new InvalidSettingError('--month cannot be combined with --from or --to; give either')
  const log = createLogger(options.logLevel)
  const { text, name } = isOfService(options, command)
    ? await statementOfService(options.url!.replace(/\/+$/, ''), options)
    : await statementOfStore(await findStore(options.store), options)
  if (name.endsWith('-incomplete.csv')) log.warn('the statement is incomplete: its last rows say why')
  if (out === undefined) {
    await writeOut(undefined, Readable.from([process.stdout.isTTY ? forTerminal(text, 'csv') : text]))
    return
  }
  const path = existsSync(out) && statSync(out).isDirectory() ? join(out, name) : out
  refuseExisting(path, force)
  await writeOut(path, Readable.from([text]))
  console.log(`Statement written to ${path}.`)
}

async function statementOfStore(store: Store, options: StatementOptions): Promise<StatementFile> {
  const partyId = canonicalId(await wholeId(store, 'party', options.party))
  const range = await rangeOf(options, async () => (await lastBlockOf(store, 'state')).timestamp)
  const rendered = await withOpen(store.openReader(), (reader) =>
    partyStatementQuestion.render({ partyId, ...range, file: {} }, { reader, form: 'json' }),
  )
  if (rendered === null) throw new StoreError(`${store.name}: the store is empty; there is nothing to state`)
  if (rendered.refusal !== undefined) throw new StoreError(`${store.name}: ${withoutField(rendered.refusal)}`)
  return { text: rendered.body.toString(), name: rendered.file!.name! }
}

async function statementOfService(base: string, options: StatementOptions): Promise<StatementFile> {
  if (!PARTY_ID.test(options.party))
    throw new InvalidSettingError(
      `--party ${options.party} must be a whole id of 64 hex digits: a service does not complete it`,
    )
  const ask = serviceAt(base)
  const { start, end } = await rangeOf(options, async () => {
    const last = (await ask('/api/v2/vega/time')).headers.get('x-block-timestamp')
    if (last === null || !/^-?\d+$/.test(last))
      throw new ServiceError(`${base}: does not say of what time its last block is`)
    return last
  })
  const query = new URLSearchParams({ format: 'csv' })
  if (start !== null) query.set('dateRange.startTimestamp', `${start}`)
  if (end !== null) query.set('dateRange.endTimestamp', `${end}`)
  const path = partyStatementQuestion.path.replace(':partyId', options.party)
  const answer = await ask(`${path}?${query}`, [200, 400])
  if (answer.status === 400) {
    const { message } = parsedAnswer<{ message?: unknown }>(base, answer)
    throw new ServiceError(`${base}: ${withoutField(String(message))}`)
  }
  const [, name] = FILE_NAME.exec(answer.headers.get('content-disposition') ?? '') ?? []
  if (name === undefined)
    throw new ServiceError(`${base}${path}: not a statement of a Lyra service of this version`)
  return { text: answer.text, name }
}

/** Nothing in the name leads out of a folder. */
const FILE_NAME = /filename="(statement-[\w-]+\.csv)"/

/** The refusal of a request, without the name of its parameter. */
const withoutField = (refusal: string) => refusal.replace(/^parsing field "\w+": /, '')

/** @param lastTime reads the time of the last block, Unix nanoseconds, from which ages are counted back */
async function rangeOf(
  { month, from, to }: StatementOptions,
  lastTime: () => Promise<string>,
): Promise<Range> {
  if (month !== undefined) return month
  const last = from?.by === 'age' || to?.by === 'age' ? BigInt(await lastTime()) : 0n
  const timeOf = (time: GivenTime | undefined) =>
    time === undefined ? null : time.by === 'time' ? time.before : timeBefore(last, time.age)
  return { start: timeOf(from), end: timeOf(to) }
}

function parseMonth(text: string): Range {
  const [, year, month] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text) ?? []
  if (year === undefined) throw new InvalidArgumentError('It must be a month such as 2024-09.')
  const startOf = (months: number) => nearestInt64(BigInt(Date.UTC(Number(year), months)) * 1_000_000n)
  return { start: startOf(Number(month) - 1), end: startOf(Number(month)) }
}

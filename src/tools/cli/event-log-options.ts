import { dirname, join } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { readTime } from '#core/domain/time'
import { isReaderName } from '#core/log/files/reader-files'
import { isLogUrl, parseLogUrl } from '#core/log/read/url/log-url'
import type { LogRetention } from '#core/log/retention'
import { createAllowList } from '#service/live/receive/allow-list'
import { hasOldEvents } from '#service/live/receive/convert-buffer'
import type { ServeSettings } from '#service/serve/settings'
import { InvalidSettingError, setting } from './options.ts'

/** The event log, and the buffer of versions before 0.3, unless a setting names others. */
const DEFAULT_EVENT_LOG = './lyra-event-log'
const DEFAULT_BUFFER = './lyra-buffer'

const SIZE_UNITS: Record<string, number> = {
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
  TIB: 2 ** 40,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
}

const SIZE = /^(\d{1,15}(?:\.\d{1,3})?) ?([KMGT]i?B)$/i

/** A log smaller than this would be deleted before a store had read it, and be all of one segment. */
const LEAST_BYTES = 16 * 1024 * 1024

/** `--event-log`, of commands that write one. */
export const eventLogOption = () =>
  setting('--event-log <folder>', "folder for the core's events, in files that stores read from").default(
    null,
    DEFAULT_EVENT_LOG,
  )

/** `--event-log-keep`, of the same. */
export const eventLogKeepOption = () =>
  setting('--event-log-keep <amount>', 'how much of it stays once stores have it: 1GiB, 36h, 90d or all')
    .default(null, '1GiB')
    .argParser(parseKeep)

/** `--event-log-mode`, of the same. */
export const eventLogModeOption = () =>
  setting('--event-log-mode <mode>', "mode of its files: 600, 640 for a group such as a web server's, or 644")
    .default(null, '600')
    .argParser(parseMode)

/** `--follow`, of commands that read event logs. */
export const followOption = () =>
  setting(
    '--follow <logs>',
    'comma-separated folders or https URLs of event logs of other receivers; may be repeated',
  )
    .default([], 'none')
    .argParser(parseLogs)

/** Parses the name of a reader, which becomes that of a file. */
export function parseReader(text: string): string {
  if (isReaderName(text)) return text
  throw new InvalidArgumentError(
    'It must be a name of letters, digits, dots, hyphens and underscores, up to 100.',
  )
}

/** `--listen-from`, of commands that wait for a core. */
export const listenFromOption = () =>
  setting(
    '--listen-from <networks>',
    'comma-separated addresses a core may connect from, such as 10.0.0.7 or 10.0.0.0/8; may be repeated',
  )
    .default([], 'any')
    .argParser(parseNetworks)

/** `--chain`, of the same. `by` says which chain is accepted without it. */
export const chainOption = (by: string) =>
  setting('--chain <id>', 'accept only events of this chain').default(null, by).argParser(parseChain)

/** The folder of the event log that a setting names, or the default. */
export function eventLogPath(given: string | null): string {
  return given ?? DEFAULT_EVENT_LOG
}

/** The folder with events of a version before 0.3 that is not named: where it is by default, or beside the event log. */
export function findOldBuffer(eventLog: string): string | null {
  const folders = [DEFAULT_BUFFER, join(dirname(eventLog), 'buffer')]
  return folders.find((folder) => hasOldEvents(folder)) ?? null
}

/** Parses a size such as `1GiB` or `500MB`; in bytes. */
export function parseSize(text: string): number {
  const [, digits, unit] = SIZE.exec(text) ?? []
  const bytes = unit === undefined ? Number.NaN : Math.round(Number(digits) * SIZE_UNITS[unit.toUpperCase()]!)
  if (bytes >= LEAST_BYTES && Number.isSafeInteger(bytes)) return bytes
  throw new InvalidArgumentError('It must be a size from 16MiB on, such as 1GiB or 500MB.')
}

/** Parses how much of an event log is kept: a size, an age, or `all`. */
function parseKeep(text: string): LogRetention {
  if (text === 'all') return 'all'
  if (SIZE.test(text)) return { bytes: parseSize(text) }
  const read = readTime(text)
  if ('age' in read) return { milliseconds: Number(read.age / 1_000_000n) }
  throw new InvalidArgumentError(
    'It must be a size such as 1GiB or 500MB, an age such as 36h or 90d, or all.',
  )
}

function parseMode(text: string): number {
  if (/^0?6[04]0$|^0?644$/.test(text)) return Number.parseInt(text, 8)
  throw new InvalidArgumentError('It must be 600, 640 or 644.')
}

/** The parts of a list, which are separated by commas. */
function partsOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** Parses folders and URLs, separated by commas, which add to those of earlier ones. */
function parseLogs(text: string, known: string[]): string[] {
  try {
    return [...known, ...partsOf(text).map((name) => (isLogUrl(name) ? parseLogUrl(name).href : name))]
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message)
  }
}

/**
 * Refuses to forward logs that are followed by a URL.
 *
 * @throws {InvalidSettingError}
 */
export function refuseForwardedUrls(logs: readonly string[]): void {
  if (logs.some(isLogUrl))
    throw new InvalidSettingError(
      'a log followed by its URL is not forwarded: it cannot note how far the receiver is. Run lyra forward where its folder is',
    )
}

/** The settings of the event log as commander returns them, with those of versions before 0.3. */
export type GivenOptions = Omit<ServeSettings, 'paths' | 'eventLog'> & {
  eventLog: string | null
  keepBuffer: boolean
  forwardMb: string | null
}

/**
 * The settings with an event log. Variables of versions before 0.3 still count, each with a warning that names its successor.
 *
 * @throws {InvalidSettingError} for their options on a command line, and for a size that is none.
 */
export function withEventLog(
  { keepBuffer, forwardMb, ...options }: GivenOptions,
  command: Command,
  warn: (line: string) => void,
): Omit<ServeSettings, 'paths'> {
  for (const [name, flag] of [
    ['keepBuffer', '--keep-buffer'],
    ['forwardMb', '--forward-mb'],
  ] as const) {
    if (command.getOptionValueSource(name) === 'cli')
      throw new InvalidSettingError(
        `${flag} is no more: say with --event-log-keep how much of the event log stays`,
      )
  }
  let { eventLogKeep, eventLog, buffer } = options
  if (buffer !== null) {
    eventLog ??= join(dirname(buffer), 'event-log')
    warn(
      `LYRA_BUFFER: events in ${buffer} are moved to the event log ${eventLog}; name that with LYRA_EVENT_LOG instead`,
    )
  } else {
    buffer = findOldBuffer(eventLogPath(eventLog))
  }
  if (keepBuffer) {
    eventLogKeep ??= 'all'
    warn('LYRA_KEEP_BUFFER: the event log keeps everything; say so with LYRA_EVENT_LOG_KEEP=all instead')
  }
  if (forwardMb !== null) {
    const size = Number(forwardMb)
    if (!Number.isInteger(size) || size < 16 || size > 1_048_576)
      throw new InvalidSettingError('LYRA_FORWARD_MB must be a whole number from 16 to 1,048,576')
    eventLogKeep ??= { bytes: size * 1024 * 1024 }
    warn(
      `LYRA_FORWARD_MB: the event log keeps ${size} MiB; say so with LYRA_EVENT_LOG_KEEP=${size}MiB instead`,
    )
  }
  return { ...options, eventLog: eventLogPath(eventLog), eventLogKeep, buffer }
}

function parseNetworks(text: string, known: string[]): string[] {
  const networks = partsOf(text)
  try {
    createAllowList(networks)
  } catch (error) {
    throw new InvalidArgumentError(
      `"${(error as Error).message}" is not an address or network such as 10.0.0.7, 10.0.0.0/8 or fd00::/8.`,
    )
  }
  return [...known, ...networks]
}

function parseChain(text: string): string {
  if (text === '' || text.length > 256 || text.includes('\0')) {
    throw new InvalidArgumentError('It must be a chain id of 1 to 256 characters.')
  }
  return text
}

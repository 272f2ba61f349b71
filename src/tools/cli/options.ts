import { tmpdir } from 'node:os'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { UsageError } from '#core/domain/plain-error'
import { LOG_LEVELS } from '#service/log'

/** Settings of every command. */
export type CommonOptions = { store: string; logLevel: string }

/**
 * A setting that an environment variable can also make: for `--log-level` it is `LYRA_LOG_LEVEL`.
 *
 * @param prefix the beginning of the variable's name. It is the command's name if another command has a setting with the
 *   same name
 */
export function setting(flags: string, description: string, prefix?: string): Option {
  return new Option(flags, description).env(variableOf(flags, prefix))
}

function variableOf(flags: string, prefix = 'lyra'): string {
  return `${prefix} ${new Option(flags).name()}`.replaceAll(/[ -]/g, '_').toUpperCase()
}

/** `--store`, of most commands. */
export const storeOption = () =>
  setting('--store <store>', 'path of a SQLite file, or postgres://user@host/database').default('./lyra.db')

/** `--url`, of commands that read a store or ask a service. */
export const urlOption = () =>
  setting('--url <address>', 'query a running service instead of a store').argParser(parseUrl)

function parseUrl(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) {
    throw new InvalidArgumentError('It must be an address such as http://127.0.0.1:3008.')
  }
  return text
}

/**
 * Whether a command asks a service instead of a store. Options of the command line take precedence over the environment.
 *
 * @throws {InvalidSettingError} if the command line gives both.
 */
export function isOfService({ url }: { url: string | undefined }, command: Command): boolean {
  if (command.getOptionValueSource('store') !== 'cli') return url !== undefined
  if (command.getOptionValueSource('url') !== 'cli') return false
  throw new InvalidSettingError('--store and --url cannot be combined; give one of them')
}

/** `--log-level`, of every command. */
export const logLevelOption = () =>
  setting('--log-level <level>', 'least severe level to log').choices(LOG_LEVELS).default('info')

/** `--temp`; `use` is its description. */
export const tempOption = (use: string) =>
  setting('--temp <folder>', use).default(tmpdir(), 'that of the system')

/** `--allow-gap`, of commands that ingest or import. */
export const allowGapOption = () => flagOption('--allow-gap', 'record missing blocks as a gap and continue')

/** `--strict`, of commands that read event files. */
export const strictOption = () => flagOption('--strict', 'stop at an invalid event instead of skipping it')

/** `--json`, of commands that have one result. */
export const jsonOption = () => flagOption('--json', 'print the result as JSON')

/** `--json`, of commands that also report progress. */
export const jsonLinesOption = () => flagOption('--json', 'print progress and result as JSON lines')

const YES = /^(?:1|t|true|yes|on)$/i
const NO = /^(?:|0|f|false|no|off)$/i

/**
 * A setting that is on or off. Its environment variable accepts 1, true, yes, on and their opposites. Commander by itself
 * would take any value, even `0`, for on.
 */
export function flagOption(flags: string, description: string, prefix?: string): Option {
  const variable = variableOf(flags, prefix)
  const option = new Option(flags, `${description} (env: ${variable})`).default(false, 'off')
  const value = process.env[variable]
  if (value === undefined || NO.test(value)) return option
  if (!YES.test(value)) throw new InvalidSettingError(`${variable} must be true or false, not "${value}"`)
  return option.default(true, 'on')
}

/** An option or environment variable with an invalid value. The message says which, and what is allowed. */
export class InvalidSettingError extends UsageError {
  override name = 'InvalidSettingError'
}

/** Parses an address and a port; `example` is part of the error message. An IPv6 address is in brackets. */
export function addressLike(example: string): (text: string) => { host: string; port: number } {
  return (text) => {
    const match = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(text)
    if (match === null || Number(match[2]) > 65_535) {
      throw new InvalidArgumentError(`It must be an address and a port, such as ${example}.`)
    }
    return { host: match[1]!.replace(/^\[|\]$/g, ''), port: Number(match[2]) }
  }
}

/** Parses a whole number between two limits, both included. */
export function integerBetween(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
    }
    return value
  }
}

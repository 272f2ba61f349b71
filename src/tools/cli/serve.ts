import { Command, InvalidArgumentError } from 'commander'
import { findEventFiles } from '#core/records/event-paths'
import { PRUNED_ROWS } from '#core/store/schema/tables'
import { createAllowList } from '#service/live/allow-list'
import { createLogger } from '#service/log'
import type { RunningService } from '#service/serve/service'
import type { ServeSettings } from '#service/serve/settings'
import { parseAge } from './bound.ts'
import {
  addressLike,
  allowGapOption,
  flagOption,
  InvalidSettingError,
  integerBetween,
  logLevelOption,
  setting,
  storeOption,
  strictOption,
} from './options.ts'
import { unusedSettings } from './unused-settings.ts'

const NOTES = `
With paths it ingests these event files in the background while it serves. Without paths, --listen and --keep it only
reads: any number of such readers may serve one store. A reader waits until the store can be read.
GET /health, /ready and /metrics report on the service; /openapi.json describes the API.`

/** `lyra serve`: answers the API. */
export function command(): Command {
  return new Command('serve')
    .summary('serve the REST API from a store')
    .description(
      'Serves the REST API from a store, and ingests event files at the same time if any are named.',
    )
    .argument('[path...]', 'event files or folders to ingest')
    .addOption(storeOption())
    .addOption(setting('--host <address>', 'address to listen on').default('127.0.0.1'))
    .addOption(
      setting('--port <port>', 'port to listen on; 0 picks a free one')
        .default(3008)
        .argParser(integerBetween(0, 65_535)),
    )
    .addOption(
      setting('--grpc [address]', 'also serve gRPC on this address')
        .preset('127.0.0.1:3007')
        .default(null, 'off')
        .argParser(addressLike('127.0.0.1:3007')),
    )
    .addOption(
      setting(
        '--cors-origin <origins>',
        'comma-separated origins whose scripts may read responses; * for any',
      )
        .default('*')
        .argParser(parseOrigins),
    )
    .addOption(
      setting('--rate-limit <number>', 'requests per second from one address; bursts of five times that')
        .default(null, 'off')
        .argParser(integerBetween(1, 1_000_000)),
    )
    .addOption(flagOption('--trust-proxy', "take the client's address from X-Forwarded-For, set by a proxy"))
    .addOption(
      setting('--cache-mb <size>', 'page cache in MiB; 0 disables')
        .default(32)
        .argParser(integerBetween(0, 16_384)),
    )
    .addOption(
      setting('--listen [address]', 'ingest live from a core that connects to this address')
        .preset('127.0.0.1:3005')
        .default(null, 'off')
        .argParser(addressLike('127.0.0.1:3005')),
    )
    .addOption(
      setting(
        '--listen-from <networks>',
        'comma-separated addresses a core may connect from, such as 10.0.0.7 or 10.0.0.0/8; may be repeated',
      )
        .default([], 'any')
        .argParser(parseNetworks),
    )
    .addOption(
      setting('--chain <id>', 'accept only events of this chain')
        .default(null, 'chain of the store, or of its first block')
        .argParser(parseChain),
    )
    .addOption(
      setting(
        '--buffer <folder>',
        'folder of this service alone, which keeps received events until they are committed',
      ).default('./lyra-buffer'),
    )
    .addOption(flagOption('--keep-buffer', "keep committed events as event files in the buffer's archive"))
    .addOption(
      setting('--forward <address>', "forward the core's events to this address, such as a data node's")
        .default(null, 'off')
        .argParser(addressLike('127.0.0.1:3015')),
    )
    .addOption(
      setting('--forward-mb <size>', 'disk for events to be forwarded, in MiB')
        .default(1_024)
        .argParser(integerBetween(16, 1_048_576)),
    )
    .addOption(
      setting('--max-behind <seconds>', '/ready fails if the last block is older than this; 0 disables')
        .default(null, '60 with --listen, otherwise 0')
        .argParser(integerBetween(0, 1_000_000_000)),
    )
    .addOption(
      setting('--keep <age>', `every hour, delete ${PRUNED_ROWS} older than this, such as 90d or 36h`)
        .default(null, 'keep everything')
        .argParser(parseAge),
    )
    .addOption(allowGapOption())
    .addOption(strictOption())
    .addOption(logLevelOption())
    .addHelpText('after', NOTES)
    .action(async (paths: string[], options: ServeOptions, command: Command) => {
      const log = createLogger(options.logLevel)
      for (const line of unusedSettings(command, { ...options, paths })) log.warn(line)
      await serve(paths, options)
    })
}

function parseOrigins(text: string): '*' | string[] {
  if (text === '*') return '*'
  const origins = text.split(',').map((origin) => origin.trim())
  for (const origin of origins) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      throw new InvalidArgumentError(`"${origin}" is not an origin such as https://example.org.`)
    }
  }
  return origins
}

function parseNetworks(text: string, known: string[]): string[] {
  const networks = text
    .split(',')
    .map((network) => network.trim())
    .filter((network) => network !== '')
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

/** Default maximum age of the last block with `--listen`, seconds. */
const LIVE_MAX_BEHIND = 60

/** The settings as commander returns them; `maxBehind` is 0 for any age, and null if it is not set. */
export type ServeOptions = Omit<ServeSettings, 'paths'>

/** Starts the service with the settings of a command line. */
export async function serve(paths: string[], options: ServeOptions): Promise<RunningService> {
  // A missing path is reported before anything starts.
  if (paths.length > 0) findEventFiles(paths)
  const { forward, listen } = options
  if (forward !== null && listen === null) {
    throw new InvalidSettingError("--forward forwards a core's events: it needs --listen")
  }
  if (forward !== null && forward.host === listen?.host && forward.port === listen.port) {
    throw new InvalidSettingError(
      '--forward and --listen name the same address; give --forward the address of the receiver',
    )
  }
  const { startService } = await import('#service/serve/service')
  const maxBehind = options.maxBehind ?? (listen === null ? 0 : LIVE_MAX_BEHIND)
  return startService({ ...options, maxBehind: maxBehind === 0 ? null : maxBehind, paths })
}

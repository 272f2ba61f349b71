import { Command, InvalidArgumentError } from 'commander'
import { findEventInput } from '#core/log/event-input'
import { PRUNED_ROWS } from '#core/store/schema/tables'
import { createLogger } from '#service/log'
import type { RunningService } from '#service/serve/service'
import type { ServeSettings } from '#service/serve/settings'
import { parseAge } from './bound.ts'
import {
  chainOption,
  eventLogKeepOption,
  eventLogModeOption,
  eventLogOption,
  followOption,
  type GivenOptions,
  listenFromOption,
  parseReader,
  refuseForwardedUrls,
  withEventLog,
} from './event-log-options.ts'
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
With paths it ingests these event files in the background while it serves. Without paths, --listen, --follow and --keep it
only reads: any number of such readers may serve one store. A reader waits until the store can be read.
GET /health, /ready and /metrics report on the service; /openapi.json describes the API.`

/** `lyra serve`: answers the API. */
export function command(): Command {
  return new Command('serve')
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
    .addOption(flagOption('--market-metrics', 'serve figures of markets to Prometheus at /metrics/markets'))
    .addOption(
      setting('--listen [address]', 'ingest live from a core that connects to this address')
        .preset('127.0.0.1:3005')
        .default(null, 'off')
        .argParser(addressLike('127.0.0.1:3005')),
    )
    .addOption(listenFromOption())
    .addOption(chainOption('chain of the store, or of its first block'))
    .addOption(eventLogOption())
    .addOption(eventLogKeepOption())
    .addOption(eventLogModeOption())
    .addOption(followOption())
    .addOption(
      setting('--reader <name>', "the store's name in event logs")
        .argParser(parseReader)
        .default(null, "made from the store's address"),
    )
    .addOption(
      setting(
        '--buffer <folder>',
        'folder of a version before 0.3, whose events are moved to the event log',
      ).default(null, './lyra-buffer'),
    )
    .addOption(flagOption('--keep-buffer', 'see --event-log-keep').hideHelp())
    .addOption(
      setting('--forward <address>', "forward the core's events to this address, such as a data node's")
        .default(null, 'off')
        .argParser(addressLike('127.0.0.1:3015')),
    )
    .addOption(setting('--forward-mb <size>', 'see --event-log-keep').default(null).hideHelp())
    .addOption(
      setting('--max-behind <seconds>', '/ready fails if the last block is older than this; 0 disables')
        .default(null, '60 with --listen or --follow, otherwise 0')
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
    .action(async (paths: string[], given: GivenOptions, command: Command) => {
      const logger = createLogger(given.logLevel)
      const options = withEventLog(given, command, (line) => logger.warn(line))
      for (const line of unusedSettings(command, { ...options, paths })) logger.warn(line)
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

/** Default maximum age of the last block with `--listen` or `--follow`, seconds. */
const LIVE_MAX_BEHIND = 60

/** The settings; `maxBehind` is 0 for any age, and null if it is not set. */
export type ServeOptions = Omit<ServeSettings, 'paths'>

/** Starts the service with the settings of a command line. */
export async function serve(paths: string[], options: ServeOptions): Promise<RunningService> {
  // A missing path is reported before anything starts.
  if (paths.length > 0) findEventInput(paths)
  const { forward, listen, follow } = options
  if (forward !== null && listen === null && follow.length === 0) {
    throw new InvalidSettingError("--forward forwards a core's events: it needs --listen or --follow")
  }
  if (forward !== null && forward.host === listen?.host && forward.port === listen.port) {
    throw new InvalidSettingError(
      '--forward and --listen name the same address; give --forward the address of the receiver',
    )
  }
  if (forward !== null) refuseForwardedUrls(follow)
  const { startService } = await import('#service/serve/service')
  const isLive = listen !== null || follow.length > 0
  const maxBehind = options.maxBehind ?? (isLive ? LIVE_MAX_BEHIND : 0)
  return startService({ ...options, maxBehind: maxBehind === 0 ? null : maxBehind, paths })
}

// `npm start`: serves, with the sample in ./lyra.db if no store and no path is named. `npm run demo`: serves the sample live,
// its last week arriving at a quarter of an hour a second, in a store that goes with it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLogger } from '#service/log'
import { collectEarly, restartWithAllocatorLimit } from '#service/serve/memory'
import { openNoDebugger } from '#service/stop-signals'
import { type GivenOptions, withEventLog } from '#tools/cli/event-log-options'
import { stopOnSignals } from '#tools/cli/interrupt'
import { InvalidSettingError } from '#tools/cli/options'
import { runCommand } from '#tools/cli/program'
import { type ServeOptions, serve, command as serveCommand } from '#tools/cli/serve'
import { replay } from '#tools/generate/replay'
import { sendTo } from '#tools/generate/send-to'
import { ensureWebBuilt } from './build-web.ts'
import { SAMPLE, SAMPLE_MARKET, SAMPLE_PARTY } from './sample.ts'

openNoDebugger()
restartWithAllocatorLimit()
collectEarly()

/** The first block of the sample's last week, and how fast time passes from there on. */
const LIVE = { start: 2_305, speed: 900 }

const VIEWS = [
  '/',
  `/?view=funding&market=${SAMPLE_MARKET}&span=7d`,
  `/?view=party&party=${SAMPLE_PARTY}`,
  '/docs',
]
const REQUESTS = [
  `/api/v2/funding-payments?partyId=${SAMPLE_PARTY}&pagination.first=10&pretty`,
  `/api/v2/funding-periods/${SAMPLE_MARKET}?pagination.first=3&pretty`,
  `/api/v2/funding-periods/data-points/${SAMPLE_MARKET}?pagination.first=10&pretty`,
  `/api/v2/liquidity/providers?marketId=${SAMPLE_MARKET}&pretty`,
  '/api/v2/checkpoints?pagination.first=10&pretty',
]

const command = serveCommand()
  .option('--demo', 'show the sample live')
  .action(async (paths: string[], { demo, ...given }: GivenOptions & { demo?: true }) => {
    if (demo && (paths.length > 0 || command.getOptionValueSource('store') === 'cli'))
      throw new InvalidSettingError(
        '--demo shows the sample, in a store of its own: give no files and no --store',
      )
    const options = withEventLog(given, command, (line) => console.warn(line))
    await ensureWebBuilt()
    if (demo) return showLive(options)
    const bare = paths.length === 0 && command.getOptionValueSource('store') === 'default'
    const service = await serve(bare ? [SAMPLE] : paths, options)
    if (bare && !(await service.ingested)) return
    print(
      service.url,
      bare
        ? [...VIEWS, ...REQUESTS]
        : ['/', '/docs', '/api/v2/checkpoints?pagination.first=10&pretty', '/ready', '/openapi.json?pretty'],
    )
  })

async function showLive(options: ServeOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'lyra-demo-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const listen = options.listen ?? { host: '127.0.0.1', port: 3005 }
  const service = await serve([], {
    ...options,
    listen,
    store: join(folder, 'lyra.db'),
    eventLog: join(folder, 'log'),
    maxBehind: 0,
  })
  print(service.url, VIEWS)
  const signal = stopOnSignals()
  const logger = createLogger(options.logLevel)
  await sendTo(listen, LIVE, signal, (send) =>
    replay([{ path: SAMPLE, bytes: null }], { logger, signal, send }),
  )
  if (!signal.aborted) console.log('The sample has ended; the service keeps running.')
}

function print(url: string, paths: readonly string[]): void {
  console.log(`\nOpen one of these, and stop with Ctrl-C:\n`)
  for (const path of paths) console.log(`  ${url}${path}`)
  console.log()
}

await runCommand(command, process.argv.slice(2))

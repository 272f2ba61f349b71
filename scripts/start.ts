// `npm start`: serves, with the sample in ./lyra.db if no store and no path is named.
import { join } from 'node:path'
import { collectEarly, restartWithAllocatorLimit } from '#service/serve/memory'
import { openNoDebugger } from '#service/stop-signals'
import { runCommand } from '#tools/cli/program'
import { type ServeOptions, serve, command as serveCommand } from '#tools/cli/serve'
import { ensureWebBuilt } from './build-web.ts'

openNoDebugger()
restartWithAllocatorLimit()
collectEarly()

const SAMPLE = join(import.meta.dirname, '../sample/perps-calm-named.evts.gz')

/** A perpetual market of the sample. */
const SAMPLE_MARKET = '669608f2ba72421efa379b5272a55095ee2803ba2c885cc95bd5acf37d7bd08c'

const command = serveCommand().action(async (paths: string[], options: ServeOptions) => {
  await ensureWebBuilt()
  const bare = paths.length === 0 && command.getOptionValueSource('store') === 'default'
  const service = await serve(bare ? [SAMPLE] : paths, options)
  if (bare && !(await service.ingested)) return
  const examples = bare
    ? [
        '/',
        `/?view=funding&market=${SAMPLE_MARKET}`,
        '/docs',
        `/api/v2/funding-periods/${SAMPLE_MARKET}?pagination.first=3&pretty`,
        `/api/v2/funding-estimates/${SAMPLE_MARKET}?pretty`,
        `/api/v2/funding-periods/data-points/${SAMPLE_MARKET}?pagination.first=10&pretty`,
        '/api/v2/instruments?pretty',
        `/api/v2/liquidity/providers?marketId=${SAMPLE_MARKET}&pretty`,
        '/api/v2/checkpoints?pagination.first=10&pretty',
      ]
    : ['/', '/docs', '/api/v2/checkpoints?pagination.first=10&pretty', '/ready', '/openapi.json?pretty']
  console.log(`\nOpen one of these, and stop with Ctrl-C:\n`)
  for (const path of examples) console.log(`  ${service.url}${path}`)
  console.log()
})

await runCommand(command, process.argv.slice(2))

// `npm run bench`: figures of intake and pages beside their limits, measured in the same run.
// `npm run bench -- --peer URL --paths FILE [--url URL]`: the same requests to another server, side by side.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Figure, figure, formatFigures } from './figures.ts'
import { generatedFile, recording, WORK } from './files.ts'
import { measureBytesPerPoint, measureIntake, removeStore } from './intake.ts'
import { comparePeers, measurePage, type PageLoad } from './pages.ts'
import { measurePostgres } from './postgres.ts'
import { MAIN, ROOT, runForJson, serveStore } from './processes.ts'

const { values } = parseArgs({
  options: {
    peer: { type: 'string' },
    paths: { type: 'string' },
    url: { type: 'string', default: 'http://127.0.0.1:3008' },
  },
})

if (values.peer === undefined) await benchAgainstLimits()
else await benchAgainstPeer(values.peer, values.paths)

async function benchAgainstPeer(peer: string, paths: string | undefined): Promise<void> {
  if (paths === undefined || !existsSync(paths)) {
    console.error('bench: --peer goes with --paths FILE, a file of request targets, one a line')
    process.exitCode = 2
    return
  }
  const targets = readFileSync(paths, 'utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('/'))
  console.log(formatFigures(await comparePeers(values.url, peer, targets)))
}

async function benchAgainstLimits(): Promise<void> {
  const figures: Figure[] = []
  const add = (added: Figure[]) => {
    console.log(formatFigures(added))
    figures.push(...added)
  }
  // About 2,000,000 events of every kind, 800 bytes each.
  const mixed = await generatedFile({ blocks: 150_000 })
  // 1,000,000 points and little else.
  const points = await generatedFile({ blocks: 100_000, markets: 10, points: 10, events: 0 })

  for (const name of ['smoke', 'perps-long']) {
    const path = recording(`${name}.evts.gz`)
    if (path === null) console.log(`${name}: not there, left out`)
    else add(await measureIntake(name, path, null))
  }
  add(await measureIntake('2,000,000 generated events', mixed, null))
  add([await measureBytesPerPoint('1,000,000 generated points', points, null)])

  const store = join(WORK, 'pages.db')
  removeStore(store)
  await runForJson(MAIN, ['ingest', '--json', '--log-level', 'silent', '--store', store, points])
  const service = await serveStore(store)
  try {
    for (const page of await pagesOf()) add(await measurePage(service, page))
    add([figure('memory of the service, peak', service.peakMemory() / 1e6, 'MB')])
  } finally {
    await service.stop()
  }

  add(await measurePostgres(points))

  console.log(`\n${formatFigures(figures)}`)
  const result = { date: new Date().toISOString(), node: process.version, cpus: cpus().length, figures }
  writeFileSync(join(ROOT, 'bench/results.json'), `${JSON.stringify(result, null, 2)}\n`)
}

/** The pages to measure: 100 and 1,000 rows of each resource, as far as it has so many. */
async function pagesOf(): Promise<PageLoad[]> {
  const { markets } = await runForJson<{ markets: string[] }>(join(ROOT, 'bench/list-markets.ts'), [
    join(WORK, 'pages.db'),
  ])
  const [market] = markets
  const paths = {
    'data points': `/api/v2/funding-periods/data-points/${market}`,
    checkpoints: '/api/v2/checkpoints',
    providers: `/api/v2/liquidity/providers?marketId=${market}`,
  }
  return Object.entries(paths).flatMap(([name, path]) =>
    [100, 1000].map((first): PageLoad => {
      const sample = `${path}${path.includes('?') ? '&' : '?'}pagination.first=${first}`
      return { name: `${name}, first=${first}`, sample }
    }),
  )
}

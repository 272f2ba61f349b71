// `npm run bench`: every figure beside its limit, measured in the same run, and its target.
// `npm run bench -- --only PART,PART`: some of the parts in `PARTS`.
// `npm run bench -- --against REVISION [--only PART,PART]`: in turns with another commit, figures side by side.
// `npm run bench -- --peer URL --paths FILE [--url URL]`: the same requests to another server, side by side.
import { copyFileSync, createReadStream, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ensureWebBuilt } from '../scripts/build-web.ts'
import { recorded, recordingPath } from '../test/fixtures/shared.ts'
import { benchAgainst } from './against.ts'
import { type Figure, figure, formatFigures, meetsTarget } from './figures.ts'
import { measureBesideIntake, measureCompany } from './parts/company.ts'
import { measureDatabasePages } from './parts/database-pages.ts'
import { measureExplorer } from './parts/explorer.ts'
import { measureExport } from './parts/export.ts'
import { measureGrowth } from './parts/growth.ts'
import { grpcTurns, measureGrpc } from './parts/grpc.ts'
import { measureImports } from './parts/import.ts'
import { measureIntake } from './parts/intake.ts'
import { measureMarketFollowers } from './parts/market-followers.ts'
import { POINTS_PATH, pageTargets } from './parts/page-targets.ts'
import {
  coldLists,
  coldPoints,
  measureCold,
  measureDepthAndFilters,
  measureHot,
  measurePage,
} from './parts/pages.ts'
import { comparePeers } from './parts/peer.ts'
import { measurePostgres, postgresTurns } from './parts/postgres.ts'
import { measureProviderStream } from './parts/provider-stream.ts'
import { measureSeries } from './parts/series.ts'
import { measureTurns } from './parts/turns.ts'
import { measureVisibility } from './parts/visibility.ts'
import { ingest, serveStore, timeToFirstAnswer } from './processes.ts'
import { generatedFile, marketsOf, PERPS_LIKE, removeStore, SMOKE_LIKE, WORK } from './stores/files.ts'
import { largeLists } from './stores/large-lists.ts'
import { bytesPerPoint, LARGE_MARKET, largeStore } from './stores/large-store.ts'
import { makeYearOfPeriods } from './stores/year-of-periods.ts'

/** Points of the store that pages are read from. */
const POINTS = 10_000_000

/** Points of the store whose pages are compared by processor time. */
const TURNS_POINTS = 2_000_000

/** Pages that are asked for again and again over gRPC. */
const HOT_OVER_GRPC = [1, 100].map((first) => `${POINTS_PATH}?pagination.first=${first}`)

/** Bytes of a page of 1,000 points of perps-calm as the reference answers it. */
const REFERENCE_PAGE_BYTES = 424_459

const { values } = parseArgs({
  options: {
    peer: { type: 'string' },
    paths: { type: 'string' },
    url: { type: 'string', default: 'http://127.0.0.1:3008' },
    only: { type: 'string' },
    against: { type: 'string' },
  },
})

type Add = (...figures: Figure[]) => void

/** The parts of the benchmark, in their order. */
const PARTS: Record<string, (add: Add) => Promise<void>> = {
  pages: benchPages,
  turns: benchTurns,
  lists: benchLists,
  series: benchSeries,
  export: benchExport,
  company: benchCompany,
  live: benchLive,
  explorer: benchExplorer,
  grpc: benchGrpc,
  intake: benchIntake,
  import: benchImport,
  postgres: benchPostgres,
}

const chosen = values.only?.split(',') ?? Object.keys(PARTS)
const unknown = chosen.filter((name) => !Object.hasOwn(PARTS, name))
if (unknown.length > 0) {
  console.error(
    `bench: there is no part ${unknown.join(', ')}; --only takes some of ${Object.keys(PARTS).join(', ')}`,
  )
  process.exitCode = 2
} else if (values.peer !== undefined) await benchAgainstPeer(values.peer, values.paths)
else if (values.against !== undefined) await benchAgainst(values.against, chosen)
else await benchAgainstLimits()

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
  const add = (...added: Figure[]) => {
    console.log(formatFigures(added))
    figures.push(...added)
  }
  mkdirSync(WORK, { recursive: true })
  for (const name of chosen) await PARTS[name]!(add)
  console.log(`\n${formatFigures(figures)}`)
  const short = figures.filter((entry) => meetsTarget(entry) === false)
  console.log(`\n${figures.length} figures, ${short.length} short of their target`)
}

async function benchPages(add: Add): Promise<void> {
  await benchLargeStore(add)
  await benchRecordings(add)
}

async function benchLargeStore(add: Add): Promise<void> {
  const store = await largeStore(POINTS)
  await keepInMemory(store)
  const first = `/api/v2/funding-periods/data-points/${LARGE_MARKET}?pagination.first=10`
  await timeToFirstAnswer(store, first)
  add(
    figure('start to first answer, 10,000,000 points', await timeToFirstAnswer(store, first), 's', {
      target: { most: 0.6 },
    }),
    figure(
      'bytes of store per data point but for its series, 11 digits',
      bytesPerPoint(store, POINTS),
      'bytes',
      {
        target: { most: 52 },
      },
    ),
    figure(
      'bytes of store per data point but for its series, 20 digits',
      bytesPerPoint(await largeStore(1_000_000, 20), 1_000_000),
      'bytes',
      { target: { most: 80 } },
    ),
  )
  const targets = pageTargets(POINTS)
  await using service = await serveStore(store)
  add(...(await measureHot(service)))
  add(...(await measureCold(service, coldPoints(targets))))
  add(...(await measureDepthAndFilters(service, targets)))
  add(...(await measureDatabasePages(store, targets)))
}

async function benchTurns(add: Add): Promise<void> {
  const points = await largeStore(TURNS_POINTS)
  const lists = await largeLists()
  await keepInMemory(points)
  await keepInMemory(lists.store)
  const ofLists = coldLists(lists.targets).filter(({ name }) => name.startsWith('100 '))
  add(...(await measureTurns(TURNS_POINTS)))
  add(
    ...(await grpcTurns([
      { store: points, hot: HOT_OVER_GRPC, cold: coldPoints(pageTargets(TURNS_POINTS)) },
      { store: lists.store, hot: [], cold: ofLists },
    ])),
  )
  add(...(await postgresTurns()))
}

async function benchLists(add: Add): Promise<void> {
  const { store, targets } = await largeLists()
  await keepInMemory(store)
  await using service = await serveStore(store)
  add(...(await measureCold(service, coldLists(targets))))
}

async function benchSeries(add: Add): Promise<void> {
  const store = await largeStore(POINTS)
  await using service = await serveStore(store)
  add(...(await measureSeries(service, store, POINTS)))
}

async function benchExport(add: Add): Promise<void> {
  const store = await largeStore(POINTS)
  await keepInMemory(store)
  await using service = await serveStore(store)
  add(...(await measureExport(service, store, POINTS)))
}

/** Makes the system cache a file, so that the figures are the program's, not the disk's. */
async function keepInMemory(path: string): Promise<void> {
  for await (const _ of createReadStream(path, { highWaterMark: 1024 * 1024 }));
}

/** Pages of real recordings, as clients ask for them. */
async function benchRecordings(add: Add): Promise<void> {
  const store = join(WORK, 'calm.db')
  removeStore(store)
  await ingest(store, recorded('perps-calm'))
  const market = marketsOf(store)[0]!
  await using service = await serveStore(store)
  const points = `/api/v2/funding-periods/data-points/${market}?pagination.first=1000`
  const page = await (await fetch(`${service.base}${points}`)).arrayBuffer()
  add(
    figure("bytes of a page of 1,000 points of perps-calm's", page.byteLength, 'bytes', {
      limit: { name: 'the reference', value: REFERENCE_PAGE_BYTES },
      target: { most: 0.6 },
    }),
    ...(await measurePage(service, 'checkpoints, first=100', '/api/v2/checkpoints?pagination.first=100')),
    ...(await measurePage(
      service,
      'providers of a market, first=100',
      `/api/v2/liquidity/providers?marketId=${market}&pagination.first=100`,
    )),
  )
}

async function benchCompany(add: Add): Promise<void> {
  const store = await largeStore(POINTS)
  await benchReaders(store, add)
  const beside = join(WORK, 'beside.db')
  removeStore(beside)
  copyFileSync(store, beside)
  const file = await generatedFile({ blocks: 250_000, start: POINTS + 1, chain: 'lyra-bench' })
  add(await measureBesideIntake(beside, pageTargets(POINTS).anywhere(100), file))
  removeStore(beside)
}

async function benchReaders(store: string, add: Add): Promise<void> {
  await using service = await serveStore(store)
  add(...(await measureCompany(service, POINTS)))
  add(
    figure('memory of the service under all of it', service.peakMemory() / 1e6, 'MB', {
      target: { most: 512 },
    }),
  )
}

async function benchLive(add: Add): Promise<void> {
  add(...(await measureVisibility()))
  add(...(await measureProviderStream()))
  add(...(await measureMarketFollowers()))
}

async function benchGrpc(add: Add): Promise<void> {
  const store = await largeStore(POINTS)
  await keepInMemory(store)
  add(...(await measureGrpc(store, HOT_OVER_GRPC)))
}

async function benchExplorer(add: Add): Promise<void> {
  await ensureWebBuilt()
  await benchExplorerOfRecording(add)
  await benchExplorerOfYear(add)
}

async function benchExplorerOfRecording(add: Add): Promise<void> {
  const store = join(WORK, 'long-named.db')
  removeStore(store)
  await ingest(store, recorded('perps-long-named'))
  await using service = await serveStore(store)
  add(...(await measureExplorer(service.base)))
}

async function benchExplorerOfYear(add: Add): Promise<void> {
  const store = join(WORK, 'year-of-periods.db')
  removeStore(store)
  await makeYearOfPeriods(store)
  await using service = await serveStore(store)
  add(...(await measureExplorer(service.base, ['markets', 'funding'], ', a year of 40 markets,')))
}

async function benchIntake(add: Add): Promise<void> {
  const smoke = recordingPath('smoke.evts.gz')
  if (smoke === null)
    console.log(
      'smoke: left out, since it is not in the repository; LYRA_SHARED names the folder of events/smoke.evts.gz',
    )
  else add(...(await measureIntake('smoke', smoke, null)))
  add(...(await measureIntake('perps-long', recorded('perps-long'), null)))
  for (const [name, options, most] of [
    ['600,000 events like smoke', SMOKE_LIKE, 1.25],
    ['600,000 events like perps-long', PERPS_LIKE, 2],
  ] as const) {
    add(...(await measureIntake(name, await generatedFile(options), { most })))
  }
  add(...(await measureGrowth()))
}

async function benchImport(add: Add): Promise<void> {
  add(...(await measureImports()))
}

async function benchPostgres(add: Add): Promise<void> {
  // 1,000,000 points and little else.
  const points = await generatedFile({ blocks: 100_000, markets: 10, points: 10, events: 0 })
  add(...(await measurePostgres(points)))
}

import { execFile } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makeDatabase } from '../../test/fixtures/imports/made-database.ts'
import { writeMadeSegment } from '../../test/fixtures/imports/made-segment.ts'
import {
  type PostgresServer,
  postgresProgram,
  startPostgresServer,
} from '../../test/fixtures/stores/postgres-server.ts'
import { type Figure, figure, median } from '../figures.ts'
import { ingest, MAIN, ROOT, runForJson } from '../processes.ts'
import { generatedFile, removeStore, WORK } from '../stores/files.ts'

const run = promisify(execFile)

const ROUNDS = 3

/** About 2,000,000 points in one segment, as in the database; and a tenth of that, as in the event file. */
const LARGE = { blocks: 40_000, markets: 50 }
const SMALL = { blocks: 20_000, markets: 10 }

/** Megabytes that an import may take, whatever the size of the source. */
const MOST_MEMORY = 400

/** Points a second. */
const LEAST_FROM_SEGMENTS = 40_000
const LEAST_FROM_DATABASE = 50_000

const INFLATE_ONLY = join(import.meta.dirname, '../peers/inflate-only.ts')
const PEAK_MEMORY = join(ROOT, 'test/fixtures/programs/report-peak-memory.ts')

type Imported = { points: number; seconds: number; peakMegabytes: number }

/** Imports from segments and from a database, into both stores, each beside its limit. */
export async function measureImports(): Promise<Figure[]> {
  const large = await madeSegment(LARGE)
  const segments = await measureSegments(large)
  const server = await startPostgresServer()
  if (server === null) {
    console.log('PostgreSQL is not installed: its figures are left out')
    return segments
  }
  try {
    return [...segments, ...(await measureDatabase(server)), ...(await measureIntoPostgres(server))]
  } finally {
    server.remove()
  }
}

async function madeSegment({ blocks, markets }: typeof LARGE): Promise<string> {
  const folder = join(WORK, `segment-${blocks}-${markets}`)
  mkdirSync(folder, { recursive: true })
  const made = join(folder, `made-chain-123-1-${blocks}.zip`)
  return existsSync(made) ? made : writeMadeSegment(folder, { from: 1, to: blocks, markets })
}

/** The rate beside its target, and the time beside the limit. */
function ratesOf(
  what: string,
  imports: readonly Imported[],
  limit: { name: string; value: number },
  least: number,
): Figure[] {
  const seconds = median(imports.map((one) => one.seconds))
  const most = Math.max(...imports.map(({ peakMegabytes }) => peakMegabytes))
  return [
    figure(`import of ${what}: time`, seconds, 's', { limit }),
    figure(`import of ${what}: rate`, imports[0]!.points / seconds, 'points/s', { target: { least } }),
    figure(`import of ${what}: memory`, most, 'MB', { target: { most: MOST_MEMORY } }),
  ]
}

async function measureSegments(path: string): Promise<Figure[]> {
  const limits: number[] = []
  const imports: Imported[] = []
  for (let round = 0; round < ROUNDS; round++) {
    limits.push((await runForJson<{ seconds: number }>(INFLATE_ONLY, [path])).seconds)
    imports.push(await importIntoFile(path))
  }
  const limit = { name: 'inflate and check alone', value: median(limits) }
  return ratesOf('a segment of 2,000,000 points', imports, limit, LEAST_FROM_SEGMENTS)
}

async function measureDatabase(server: PostgresServer): Promise<Figure[]> {
  const address = await madeDatabase(server, LARGE)
  const limits: number[] = []
  const imports: Imported[] = []
  for (let round = 0; round < ROUNDS; round++) {
    limits.push(await timeCopy(address))
    imports.push(await importIntoFile(address))
  }
  const limit = { name: 'psql \\copy of the points by block', value: median(limits) }
  return ratesOf('a database of 2,000,000 points', imports, limit, LEAST_FROM_DATABASE)
}

/** Into PostgreSQL at least the rate at which events are ingested. */
async function measureIntoPostgres(server: PostgresServer): Promise<Figure[]> {
  const events = await generatedFile({ blocks: 20_000, markets: 10, points: 10, events: 0 })
  const ingested = await ingest(`${server.url}?schema=ingested`, events)
  const imported = await importInto(`${server.url}?schema=imported`, await madeSegment(SMALL))
  const rate = ingested.rows.fundingPeriodDataPoints / ingested.seconds
  return [
    figure('import of a segment into PostgreSQL: rate', imported.points / imported.seconds, 'points/s', {
      limit: { name: 'ingestion of points', value: rate },
      target: { least: 1 },
    }),
  ]
}

async function importIntoFile(source: string): Promise<Imported> {
  const store = join(WORK, 'imported.db')
  removeStore(store)
  const imported = await importInto(store, source)
  removeStore(store)
  return imported
}

async function importInto(store: string, source: string): Promise<Imported> {
  const { stdout, stderr } = await run(
    process.execPath,
    ['--import', PEAK_MEMORY, MAIN, 'import', source, '--json', '--log-level', 'silent', '--store', store],
    { maxBuffer: 64 * 1024 * 1024 },
  )
  const report = JSON.parse(stdout.trimEnd().split('\n').at(-1)!) as {
    seconds: number
    rows: { fundingPeriodDataPoints: number }
  }
  const peakMegabytes = Number(/^peak memory (\d+) kB$/m.exec(stderr)![1]) / 1_000
  return { points: report.rows.fundingPeriodDataPoints, seconds: report.seconds, peakMegabytes }
}

/** Creates a data node's database, which goes with the server; returns its address. */
function madeDatabase(server: PostgresServer, size: typeof LARGE): Promise<string> {
  return makeDatabase({ after: () => {} }, server.url, size)
}

/** Seconds that psql takes to copy the points out, in the order of their blocks. */
async function timeCopy(address: string): Promise<number> {
  const startedAt = performance.now()
  await run(postgresProgram('psql')!, [
    address,
    '-qc',
    `\\copy (select b.height, p.* from funding_period_data_points p join blocks b using (vega_time) order by b.height) to '/dev/null' csv`,
  ])
  return (performance.now() - startedAt) / 1000
}

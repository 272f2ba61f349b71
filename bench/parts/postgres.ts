import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { encodeCursor } from '#core/resources/cursor'
import { fundingPeriodDataPoints } from '#core/resources/funding-period-data-points/description'
import {
  type PostgresServer,
  postgresProgram,
  startPostgresServer,
} from '../../test/fixtures/stores/postgres-server.ts'
import { type Figure, figure, median } from '../figures.ts'
import { inTurns } from '../in-turns.ts'
import { measureLoad } from '../load.ts'
import { loadsInTurns } from '../loads-in-turns.ts'
import { checkpointsSelect, POINTS_BEFORE, pointsSelect, providersSelect } from '../peers/selects-before.ts'
import { ingest, MAIN, type ServerProcess, serveStore, startServer, usageOf } from '../processes.ts'
import { WORK } from '../stores/files.ts'
import { largeLists } from '../stores/large-lists.ts'
import { largeStore } from '../stores/large-store.ts'
import { pageTargets, plainTargets } from './page-targets.ts'

const run = promisify(execFile)
const CONNECTIONS = 16
const ROUNDS = 5
const PLAIN_POINTS = 1_000_000
const PLAIN_SERVER = join(import.meta.dirname, '../peers/plain-postgres-server.ts')
const TABLE = 'lyra.funding_period_data_points'

/**
 * PostgreSQL's figures beside the database's own: ingestion of points beside `\copy` of the same rows, pages beside
 * pgbench of the select of version 0.1.0 (peers/selects-before.ts). None where PostgreSQL is not installed.
 */
export function measurePostgres(points: string): Promise<Figure[]> {
  return onPostgres(async (server) => {
    const store = `${server.url}?schema=lyra`
    const { seconds } = await ingest(store, points)
    const copySeconds = await timeCopy(server)
    await psql(server, 'vacuum analyze')
    return [
      figure('PostgreSQL, intake of 1,000,000 points: time', seconds, 's', {
        limit: { name: 'psql \\copy of the points', value: copySeconds },
        target: { most: 3 },
      }),
      ...(await measurePages(server, store)),
      ...(await measureLists(server)),
    ]
  })
}

/**
 * Cold pages beside a plain server on the same database, by processor time of the server and the database together. None where
 * PostgreSQL is not installed.
 */
export function postgresTurns(): Promise<Figure[]> {
  return onPostgres(besidePlainServer)
}

async function onPostgres(measure: (server: PostgresServer) => Promise<Figure[]>): Promise<Figure[]> {
  const server = await startPostgresServer()
  if (server === null) {
    console.log('PostgreSQL is not installed: its figures are left out')
    return []
  }
  try {
    return await measure(server)
  } finally {
    server.remove()
  }
}

function psql(server: PostgresServer, ...commands: string[]) {
  return run(
    postgresProgram('psql')!,
    [server.url, '-qAt', ...commands.flatMap((command) => ['-c', command])],
    {
      maxBuffer: 64 * 1024 * 1024,
    },
  )
}

/** Seconds that psql takes to copy the points from a file into a table with the same key. */
async function timeCopy(server: PostgresServer): Promise<number> {
  const file = join(WORK, 'points.csv')
  await psql(
    server,
    `\\copy ${TABLE} to '${file}' csv`,
    `create table lyra.copy_limit (like ${TABLE} including all)`,
  )
  const startedAt = performance.now()
  await psql(server, `\\copy lyra.copy_limit from '${file}' csv`)
  const seconds = (performance.now() - startedAt) / 1000
  await psql(server, 'drop table lyra.copy_limit')
  return seconds
}

/** Pages of points: from memory, and each from another place. */
async function measurePages(server: PostgresServer, store: string): Promise<Figure[]> {
  await psql(server, ...POINTS_BEFORE)
  const { stdout } = await psql(
    server,
    `select market_id, min(timestamp), max(timestamp) from lyra.markets join ${TABLE} using (market)
      where market = 1 group by market_id`,
  )
  const [marketId, oldest, newest] = stdout.trim().split('|') as [string, string, string]
  // The oldest rows are left out: a page that begins among them would not be whole.
  const [from, to] = [BigInt(oldest) + (BigInt(newest) - BigInt(oldest)) / 50n, BigInt(newest)]
  const path = `/api/v2/funding-periods/data-points/${marketId}`
  const anyTime = () => from + BigInt(Math.floor(Math.random() * Number(to - from)))
  await using service = await serveStore(store)
  const figures: Figure[] = []
  for (const [first, least] of [
    [100, 0.5],
    [1000, 0.9],
  ] as const) {
    const hot = () => `${path}?pagination.first=${first}`
    const cold = () => {
      const cursor = encodeCursor(fundingPeriodDataPoints, { marketId }, [anyTime(), 1n, 2n])
      return `${path}?pagination.first=${first}&pagination.after=${cursor}`
    }
    const select = pointsSelect(marketId, first, from, to)
    figures.push(
      await besideSelect(server, service, {
        name: `hot pages of ${first} points`,
        nextTarget: hot,
        select,
        schema: 'before',
        least: 1,
      }),
      await besideSelect(server, service, {
        name: `cold pages of ${first} points`,
        nextTarget: cold,
        select,
        schema: 'before',
        least,
      }),
    )
  }
  return figures
}

/** Cold pages of the other lists. */
async function measureLists(server: PostgresServer): Promise<Figure[]> {
  const { store: source, targets, marketId, heights } = await largeLists()
  const store = `${server.url}?schema=lists`
  await run(process.execPath, [MAIN, 'copy', '--from', source, '--to', store, '--log-level', 'warn'])
  await psql(server, 'vacuum analyze')
  await using service = await serveStore(store)
  return [
    await besideSelect(server, service, {
      name: 'cold pages of 100 checkpoints',
      nextTarget: targets.checkpoints(100),
      select: checkpointsSelect(100, heights.first, heights.last),
      schema: 'lists',
      least: 0.5,
    }),
    await besideSelect(server, service, {
      name: 'cold pages of 100 providers',
      nextTarget: targets.providers(100),
      select: providersSelect(marketId, 100),
      schema: 'lists',
      least: 0.5,
    }),
  ]
}

async function besidePlainServer(server: PostgresServer): Promise<Figure[]> {
  const store = `${server.url}?schema=large`
  const source = await largeStore(PLAIN_POINTS)
  await run(process.execPath, [MAIN, 'copy', '--from', source, '--to', store, '--log-level', 'warn'])
  await psql(server, 'vacuum analyze')
  const database = usageOf(
    Number(readFileSync(join(server.folder, 'data/postmaster.pid'), 'utf8').split('\n')[0]),
  )
  const withDatabase = ({ base, processorSeconds }: ServerProcess) => ({
    base,
    processorSeconds: () => processorSeconds() + database.processorSeconds(),
  })
  await using service = await serveStore(store)
  await using plain = await startServer(PLAIN_SERVER, [server.url])
  const name = 'a plain server'
  const figures: Figure[] = []
  for (const [first, connections] of [
    [20, CONNECTIONS],
    [100, CONNECTIONS],
    [1000, CONNECTIONS],
    [100, 1],
  ] as const) {
    const [ours, peer] = await loadsInTurns(connections, [
      { server: withDatabase(service), nextTarget: pageTargets(PLAIN_POINTS).anywhere(first) },
      { server: withDatabase(plain), nextTarget: plainTargets(PLAIN_POINTS, first) },
    ])
    const what = `PostgreSQL, cold pages of ${first} points, connections: ${connections}`
    figures.push(
      figure(what, ours!.rate, 'requests/s', { limit: { name, value: peer!.rate } }),
      figure(`processor time of ${what}`, ours!.micros, 'us', {
        limit: { name, value: peer!.micros },
        target: { most: 1.1 },
      }),
    )
  }
  return figures
}

type Compared = { name: string; nextTarget: () => string; select: string; schema: string; least: number }

/** Requests a second beside what pgbench gets by a select, in turns. */
async function besideSelect(
  server: PostgresServer,
  service: ServerProcess,
  { name, nextTarget, select, schema, least }: Compared,
): Promise<Figure> {
  const [limit, ours] = await inTurns(ROUNDS, [
    () => pgbenchRate(server, select, schema),
    () => rateOf(service, nextTarget),
  ])
  return figure(`PostgreSQL, ${name}`, median(ours!), 'requests/s', {
    limit: { name: "pgbench of 0.1.0's select", value: median(limit!) },
    target: { least },
  })
}

async function rateOf(service: ServerProcess, nextTarget: () => string): Promise<number> {
  const { rate } = await measureLoad(service.base, { connections: CONNECTIONS, seconds: 3, nextTarget })
  return rate
}

/** Times a second that pgbench gets the rows of a select. */
async function pgbenchRate(server: PostgresServer, select: string, schema: string): Promise<number> {
  const script = join(WORK, 'page.sql')
  const [setting, ...text] = select.split('\n')
  writeFileSync(script, `${setting}\n${text.join(' ')}\n`)
  const { stdout } = await run(
    postgresProgram('pgbench')!,
    ['-n', '-M', 'prepared', '-c', String(CONNECTIONS), '-j', '1', '-T', '3', '-f', script, server.url],
    {
      env: {
        ...process.env,
        PGOPTIONS: `-c search_path=${schema} -c jit=off -c enable_bitmapscan=off -c enable_seqscan=off -c plan_cache_mode=force_generic_plan`,
      },
    },
  )
  return Number(/tps = ([\d.]+)/.exec(stdout)?.[1])
}

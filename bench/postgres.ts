import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { fundingPeriodDataPoints } from '../src/resources/funding-period-data-points.ts'
import { READ_STATE } from '../src/store/changes.ts'
import { columnsStatement } from '../src/store/page-statement.ts'
import { pageScans } from '../src/store/scan.ts'
import {
  type PostgresServer,
  postgresProgram,
  startPostgresServer,
} from '../test/fixtures/postgres-server.ts'
import { type Figure, figure, median } from './figures.ts'
import { WORK } from './files.ts'
import { measureLoad } from './load.ts'
import { ingest, serveStore } from './processes.ts'

const run = promisify(execFile)
const CONNECTIONS = 16
const TABLE = 'lyra.funding_period_data_points'

/**
 * PostgreSQL's figures beside the database's own: taking points in beside `\copy` of the same rows, pages beside
 * pgbench with the page's own prepared statement. None where PostgreSQL is not installed.
 */
export async function measurePostgres(points: string): Promise<Figure[]> {
  const server = await startPostgresServer()
  if (server === null) {
    console.log('PostgreSQL is not installed: its figures are left out')
    return []
  }
  try {
    const store = `${server.url}?schema=lyra`
    const taken = await ingest(store, points)
    const copySeconds = await timeCopy(server)
    await psql(server, 'vacuum analyze')
    return [
      figure('PostgreSQL, intake of 1,000,000 points: time', taken.seconds, 's', {
        limit: { name: 'psql \\copy of the points', value: copySeconds },
      }),
      ...(await measurePages(server, store)),
    ]
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

async function measurePages(server: PostgresServer, store: string): Promise<Figure[]> {
  const { stdout } = await psql(server, 'select market_id from lyra.markets where market = 1')
  const marketId = stdout.trim()
  const service = await serveStore(store)
  const figures: Figure[] = []
  try {
    for (const limit of [100, 1000]) {
      const target = `/api/v2/funding-periods/data-points/${marketId}?pagination.first=${limit}`
      const ours: number[] = []
      const limits: number[] = []
      for (let round = 0; round < 3; round++) {
        limits.push(await pgbenchRate(server, marketId, limit))
        const load = await measureLoad(service.base, {
          connections: CONNECTIONS,
          seconds: 3,
          nextTarget: () => target,
        })
        ours.push(load.rate)
      }
      figures.push(
        figure(`PostgreSQL, data points, first=${limit}: rate`, median(ours), 'requests/s', {
          limit: { name: 'pgbench of the select', value: median(limits) },
        }),
      )
    }
  } finally {
    await service.stop()
  }
  return figures
}

/** Times a second that pgbench gets the rows of the page, by the page's own statement. */
async function pgbenchRate(server: PostgresServer, marketId: string, limit: number): Promise<number> {
  const scans = pageScans(
    {
      resource: fundingPeriodDataPoints,
      selection: { marketId },
      descending: true,
      cursor: null,
      limit,
    },
    null,
    1n,
  )
  const { text, values } = columnsStatement(scans, limit + 1, READ_STATE)
  const script = join(WORK, 'page.sql')
  const filled = text.replaceAll(/\$(\d+)/g, (_, position: string) => {
    const value = values[Number(position) - 1]!
    return typeof value === 'bigint' ? value.toString() : `'${value}'`
  })
  writeFileSync(script, `${filled.replaceAll(/\s+/g, ' ')};\n`)
  const { stdout } = await run(
    postgresProgram('pgbench')!,
    ['-n', '-M', 'prepared', '-c', String(CONNECTIONS), '-j', '1', '-T', '3', '-f', script, server.url],
    { env: { ...process.env, PGOPTIONS: '-c search_path=lyra -c jit=off' } },
  )
  return Number(/tps = ([\d.]+)/.exec(stdout)?.[1])
}

// `npm test`: every test file, or those named. `--long` asks for the full numbers (npm run test:long).
// LYRA_TEST_STORE chooses the stores to test on: sqlite (the default), postgres, or all. PostgreSQL is started
// here unless LYRA_TEST_POSTGRES names a server. `citus` is a cluster, whose coordinator LYRA_TEST_CITUS names.
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { compileCacheFolder } from '../src/service/compile-cache.ts'
import { type PostgresServer, startPostgresServer } from '../test/fixtures/postgres-server.ts'
import { ensureWebBuilt } from './build-web.ts'
import { describeSkipped } from './skipped-tests.ts'

/** Test files at a time, on two processors: many wait for clocks, kills and browsers. */
const LANES = 6

/** With a larger young generation, collecting garbage takes a twentieth less of the processors. */
const EXEC_ARGV = ['--max-semi-space-size=64']

/** The files that take longest, waiting most of the time: they start first, and the others fill the processors. */
const FIRST = [
  ...['forward', 'explorer-live', 'explorer-layout', 'hostile-requests', 'tutorial', 'store-file'],
  ...['explorer', 'stream-clients', 'summary-streams', 'long-reads', 'write-ahead-log'],
]

/** A file system in memory, and the room that it must have: making and removing files is a twentieth of the work. */
const IN_MEMORY = '/dev/shm'
const LEAST_ROOM_BYTES = 8e9

const root = join(import.meta.dirname, '..')
const args = process.argv.slice(2)
const long = args.includes('--long')
const named = args.filter((arg) => arg !== '--long')
const others = globSync('test/*.test.ts', { cwd: root })
const first = FIRST.map((name) => `test/${name}.test.ts`)
const files = named.length > 0 ? named : [...new Set([...first, ...others.sort()])]

await ensureWebBuilt()
// As the program itself does: a test file starts in half the time.
const compiled = compileCacheFolder()
if (compiled !== null) process.env.NODE_COMPILE_CACHE ??= compiled
if (process.env.TMPDIR === undefined && roomIn(IN_MEMORY) > LEAST_ROOM_BYTES) process.env.TMPDIR = IN_MEMORY
/** Reasons for skipped tests, and what test files make once for all: stores of recordings, data of a server. */
const folder = mkdtempSync(join(tmpdir(), 'lyra-tests-'))
process.env.LYRA_TEST_MADE = folder
const env = { ...process.env }
if (long) env.LYRA_TEST_LONG = '1'
env.LYRA_TEST_SKIPPED = join(folder, 'reasons')
let server: PostgresServer | null = null
if (['postgres', 'all'].includes(env.LYRA_TEST_STORE ?? '') && !env.LYRA_TEST_POSTGRES) {
  // Rows of a test need not survive a power cut.
  server = await startPostgresServer(['fsync=off'])
  if (server !== null) env.LYRA_TEST_POSTGRES = server.url
  else if (env.CI === 'true') throw new Error('PostgreSQL is not installed, and in CI it must be')
  else console.log('PostgreSQL is not installed: the tests of its store are skipped')
}
try {
  const results = run({ files, cwd: root, concurrency: LANES, env, execArgv: EXEC_ARGV })
  results.on('test:fail', () => {
    process.exitCode = 1
  })
  await pipeline(results, spec(), process.stdout, { end: false })
  const reasons = existsSync(env.LYRA_TEST_SKIPPED)
    ? readFileSync(env.LYRA_TEST_SKIPPED, 'utf8').trimEnd().split('\n')
    : []
  const summary = describeSkipped(reasons, env.LYRA_TEST_POSTGRES !== undefined)
  if (summary !== '') console.log(`\n${summary}`)
} finally {
  server?.remove()
  rmSync(folder, { recursive: true })
}

function roomIn(folder: string): number {
  if (!existsSync(folder)) return 0
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

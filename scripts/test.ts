// `npm test`: every test file, or those named: by their path, or by their name alone (`npm test -- paging`). `--only PATTERN` runs
// only the tests whose names match it, a regular expression. `--long` asks for the full numbers (npm run test:long).
// LYRA_TEST_STORE chooses the stores to test on: sqlite, postgres, or all. By default files that are named run on SQLite, and
// all files together on PostgreSQL, too, if it is installed. It is started here unless LYRA_TEST_POSTGRES names a
// server. `citus` is a cluster, whose coordinator LYRA_TEST_CITUS names.
// LYRA_TEST_PROGRAM is the entry of the program that tests start; by default a bundle of the sources, built here.
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statfsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, relative, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { inspect, parseArgs } from 'node:util'
import { compileCacheFolder } from '../bin/compile-cache.js'
import { type PostgresServer, startPostgresServer } from '../test/fixtures/stores/postgres-server.ts'
import { BUNDLED_PROGRAM, ensureProgramBuilt } from './build-program.ts'
import { ensureWebBuilt } from './build-web.ts'
import { describeSkipped } from './skipped-tests.ts'

/** Test files at a time, on two processors: many wait for clocks, kills and browsers. */
const FILES_AT_A_TIME = 6

/** With a larger young generation, collecting garbage takes a twentieth less of the processors. */
const EXEC_ARGV = ['--max-semi-space-size=64']

/** The files that take longest, waiting most of the time: they start first, and the others fill the processors. */
const FIRST = [
  'forward',
  'explorer-live',
  'explorer-layout',
  'hostile-requests',
  'tutorial',
  'store-file',
  'explorer',
  'stream-clients',
  'summary-streams',
  'long-reads',
  'write-ahead-log',
]

/** A file system in memory, and the room that it must have: making and removing files is a twentieth of the work. */
const IN_MEMORY = '/dev/shm'
const LEAST_ROOM_BYTES = 8e9

const root = join(import.meta.dirname, '..')
const {
  values: { long, only },
  positionals: named,
} = parseArgs({
  options: { long: { type: 'boolean', default: false }, only: { type: 'string' } },
  allowPositionals: true,
})
/** Every test file; those of fixtures are run by other files. */
const suites = globSync('test/**/*.test.ts', { cwd: root, exclude: ['test/fixtures/**'] }).sort()
const unknown = named.filter((one) => fileNamed(one) === null)
if (unknown.length > 0) {
  console.error(
    `test: there is no test file ${unknown.join(', ')}; name one by its path, or as paging or cli`,
  )
  process.exit(2)
}
const files = named.length > 0 ? named.map((one) => fileNamed(one)!) : inOrder()

await Promise.all([ensureWebBuilt(), ensureProgramBuilt()])
process.env.LYRA_TEST_PROGRAM ??= BUNDLED_PROGRAM
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
env.LYRA_TEST_STORE ||= named.length > 0 ? 'sqlite' : 'all'
let server: PostgresServer | null = null
if (['postgres', 'all'].includes(env.LYRA_TEST_STORE) && !env.LYRA_TEST_POSTGRES) {
  // Rows of a test need not survive a power cut.
  server = await startPostgresServer(['fsync=off'])
  if (server !== null) env.LYRA_TEST_POSTGRES = server.url
  else if (env.CI === 'true') throw new Error('PostgreSQL is not installed, and in CI it must be')
  else console.log('PostgreSQL is not installed: the tests of its store are skipped')
}
try {
  const results = run({
    files,
    cwd: root,
    concurrency: FILES_AT_A_TIME,
    env,
    execArgv: EXEC_ARGV,
    ...(only !== undefined && { testNamePatterns: new RegExp(only) }),
  })
  results.on('test:fail', ({ name, file, details: { error } }) => {
    process.exitCode = 1
    // A run that is stopped has said why tests failed; the report of a file comes at its end, and that of all at the end.
    const { failureType, cause } = error as Error & { failureType?: string }
    if (failureType === 'subtestsFailed') return
    console.log(
      `\nFAILED ${file === undefined ? '' : `${relative(root, file)}: `}${name}\n${textOf(cause ?? error)}\n`,
    )
  })
  await pipeline(results, spec(), process.stdout, { end: false })
  const reasons = existsSync(env.LYRA_TEST_SKIPPED)
    ? readFileSync(env.LYRA_TEST_SKIPPED, 'utf8').trimEnd().split('\n')
    : []
  const summary = describeSkipped(reasons, {
    isOnPostgres: env.LYRA_TEST_POSTGRES !== undefined,
    areNamed: named.length > 0,
  })
  if (summary !== '') console.log(`\n${summary}`)
} finally {
  server?.remove()
  rmSync(folder, { recursive: true })
}

/** The name by which people call a test file: `paging`. */
function nameOf(path: string): string {
  return basename(path, '.test.ts')
}

/** The file of a path or a name, also if the path is that of another folder; null if there is none. */
function fileNamed(text: string): string | null {
  const isFile = statSync(resolve(root, text), { throwIfNoEntry: false })?.isFile() === true
  return isFile ? text : (suites.find((path) => nameOf(path) === nameOf(text)) ?? null)
}

/** All files, the longest first. */
function inOrder(): string[] {
  return [...new Set([...FIRST.map((name) => fileNamed(name)!), ...suites])]
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : inspect(error)
}

function roomIn(folder: string): number {
  if (!existsSync(folder)) return 0
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

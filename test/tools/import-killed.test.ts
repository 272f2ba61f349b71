import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import type { ImportedRange } from '#core/domain/coverage'
import { readCoverage } from '#core/store/queries/coverage'
import { assertSays } from '../fixtures/assert-says.ts'
import { killOften } from '../fixtures/faults/kill-often.ts'
import { OF_STATE } from '../fixtures/imports/import.ts'
import { makeDatabase } from '../fixtures/imports/made-database.ts'
import { writeMadeSegment } from '../fixtures/imports/made-segment.ts'
import { createRandom } from '../fixtures/random.ts'
import { inTurns, runsOf, scaled } from '../fixtures/sampling.ts'
import type { Scope } from '../fixtures/scope.ts'
import { ended, runLyra, runWell, startLyra } from '../fixtures/services/program.ts'
import { skip } from '../fixtures/shared.ts'
import { assertSameDump, dumpStore, type StoreDump } from '../fixtures/stores/dump-store.ts'
import { type PostgresServer, startPostgresServer } from '../fixtures/stores/postgres-server.ts'
import { describeOn, openStore, STORE_KINDS } from '../fixtures/stores/stores.ts'

/** How often an import is killed on one store before it may finish. */
const KILLS_EACH = scaled(2, 3)

const BLOCKS = scaled(2_400, 6_000)
const SEGMENT_BLOCKS = BLOCKS / 3
const MARKETS = 10

const EPOCH = 100

/** Tables whose rows are written with their blocks: the column of the height. */
const OF_BLOCKS = {
  checkpoints: 4,
  funding_period_data_points: 6,
  liquidity_provisions: 4,
  liquidity_provider_history: 10,
  paid_liquidity_fees: 2,
}

/** Fails unless the store has all rows of its blocks, none of others, and reports incomplete resources. */
async function assertWhole(store: string, expected: StoreDump, where: string): Promise<void> {
  const reader = await openStore(store).openReader()
  const coverage = await reader.read(readCoverage).finally(() => reader.close())
  const found = await dumpStore(store)
  const height = coverage?.height ?? 0n
  for (const [table, column] of Object.entries(OF_BLOCKS)) {
    const heightOf = (row: string) => BigInt(JSON.parse(row)[column]!)
    if (table === 'liquidity_provisions') {
      assert.deepEqual(
        found[table]!.filter((row) => heightOf(row) > height),
        [],
        `${where}: ${table}`,
      )
    } else {
      const held = expected[table]!.filter((row) => heightOf(row) <= height)
      assert.ok(expected[table]!.length > 0, table)
      assert.deepEqual(found[table], held, `${where}: ${table} up to ${height}`)
    }
  }
  if (coverage === null) return
  const [{ lacks, ...range }] = coverage.imported as [ImportedRange]
  assert.deepEqual([range, coverage.imported.length], [{ from: 1n, to: height }, 1], where)
  if (lacks.includes('fundingPeriods')) assert.equal(lacks, ['fundingPayments', ...OF_STATE].join(' '), where)
  else assertSameDump(found, expected, where)
}

// The sources, for every kind of store.
const folder = mkdtempSync(join(tmpdir(), 'lyra-import-killed-'))
let server: PostgresServer | null = null
let database: string | null = null
const hooks: (() => unknown)[] = []

before(async () => {
  for (let from = 1; from <= BLOCKS; from += SEGMENT_BLOCKS) {
    await writeMadeSegment(folder, { from, to: from + SEGMENT_BLOCKS - 1, markets: MARKETS, epoch: EPOCH })
  }
  server = await startPostgresServer(['fsync=off'])
  const scope: Scope = { after: (hook) => hooks.push(hook) }
  if (server !== null)
    database = await makeDatabase(scope, server.url, { blocks: BLOCKS, markets: MARKETS, epoch: EPOCH })
})
after(async () => {
  for (const hook of hooks) await hook()
  server?.remove()
  rmSync(folder, { recursive: true, force: true })
})

describeOn(STORE_KINDS, 'an interrupted import', (kind) => {
  const argumentsOf = (store: string, source: string) => `import ${source} --store ${store}`

  for (const path of inTurns(STORE_KINDS.indexOf(kind), ['segments', 'a database'] as const)) {
    test(`from ${path}, killed at random moments, continues, and results in the same tables`, async (t) => {
      const source = path === 'segments' ? folder : database
      if (source === null) return skip(t, 'PostgreSQL is not installed')
      const whole = kind.create(t)
      const startedAt = performance.now()
      await ended(startLyra(t, argumentsOf(whole, source)))
      const wholeMs = performance.now() - startedAt
      const expected = await dumpStore(whole)
      await killOften(t, {
        kind,
        wholeMs,
        expected,
        from: 0.3,
        kills: runsOf('seconds', kind),
        killsEach: KILLS_EACH,
        argumentsOf: (store) => argumentsOf(store, source),
        random: createRandom(path.length),
        check: (store, where) => assertWhole(store, expected, where),
        finish: runWell,
      })
    })
  }

  for (const signal of inTurns(STORE_KINDS.indexOf(kind), ['SIGINT', 'SIGTERM'] as const)) {
    test(`${signal} ends it with exit status 130 after committing the batch in progress`, async (t) => {
      if (database === null) return skip(t, 'PostgreSQL is not installed')
      const store = kind.create(t)
      // The import blocks on the last table, so it is certainly still running.
      const locking = new Client({ connectionString: database })
      await locking.connect()
      await locking.query('begin; lock table current_market_data')
      const run = startLyra(t, argumentsOf(store, database))
      const isWaiting = async () => {
        const { rows } = await locking.query('select from pg_locks where not granted')
        return rows.length > 0
      }
      while (!(await isWaiting())) await delay(20)
      run.child.kill(signal)
      const { stdout, stderr } = await ended(run, 130)
      assertSays(stderr, 'stopping after committing the current batch')
      assert.match(
        stdout,
        /^ {2}fundingPeriods: not imported in blocks 1 to \d+: .* interrupted; then run it again/m,
      )
      await locking.end()
      await runWell(t, argumentsOf(store, database))
      const whole = kind.create(t)
      await runLyra(t, argumentsOf(whole, database))
      assertSameDump(await dumpStore(store), await dumpStore(whole), signal)
    })
  }
})

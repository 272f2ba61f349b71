import assert from 'node:assert/strict'
import { createReadStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { StoreError, StoreUnavailableError } from '#core/store/errors'
import { readCoverage } from '#core/store/queries/coverage'
import { assertSays } from '../../fixtures/assert-says.ts'
import { writeLargeStream } from '../../fixtures/events/large-stream.ts'
import { killOften } from '../../fixtures/faults/kill-often.ts'
import { createRandom } from '../../fixtures/random.ts'
import { inTurns, runsOf, scaled } from '../../fixtures/sampling.ts'
import { inScope, type Scope } from '../../fixtures/scope.ts'
import { end, ended, startLyra } from '../../fixtures/services/program.ts'
import { assertSameDump, DUMPED_TABLES, dumpStore, type StoreDump } from '../../fixtures/stores/dump-store.ts'
import { describeOn, readFrom, STORE_KINDS } from '../../fixtures/stores/stores.ts'

const BLOCKS = scaled(1_500, 15_000)

/** How often one store's ingestion is killed before it may finish. */
const KILLS_EACH = scaled(2, 4)

/** The arguments with which each command ingests a file. */
const COMMANDS = {
  ingest: (store: string, file: string) => `ingest --log-level info --store ${store} ${file}`,
  serve: (store: string, file: string) => `serve --port 0 --store ${store} ${file}`,
} as const

type CommandName = keyof typeof COMMANDS

/** Lets a command ingest the whole file. */
async function finish(test: Scope, command: CommandName, args: string): Promise<void> {
  if (command === 'ingest') {
    await ended(startLyra(test, args))
    return
  }
  const service = startLyra(test, args)
  await service.printed('ingestion ended')
  await end(service)
}

/** Fails if the store has rows above its position, or an unreadable table. */
function assertWholeUpToPosition(dump: StoreDump, where: string): void {
  const [position] = dump.stream!
  const height = position === undefined ? 0n : BigInt(JSON.parse(position)[3]!)
  for (const { name, columns } of DUMPED_TABLES) {
    const at = columns.findIndex((column) => column.name === 'height')
    for (const row of at < 0 || name === 'stream' ? [] : dump[name]!) {
      const own = JSON.parse(row)[at]
      assert.ok(BigInt(own ?? 0) <= height, `${where}: ${name} has ${row}`)
    }
  }
}

/** The store head; null if it is empty or does not exist yet. */
async function heightOf(store: string): Promise<bigint | null> {
  try {
    return (await readFrom(store, readCoverage))?.height ?? null
  } catch (error) {
    if (error instanceof StoreError || error instanceof StoreUnavailableError) return null
    throw error
  }
}

describeOn(STORE_KINDS, 'an interrupted process', (kind) => {
  const folder = mkdtempSync(join(tmpdir(), 'lyra-killed-'))
  let file: string
  let expected: StoreDump
  /** The duration of the whole run, including the program's start. */
  let wholeMs: number

  before(async () => {
    file = writeLargeStream(folder, BLOCKS)
    await inScope(async (scope) => {
      const store = kind.create(scope)
      const startedAt = performance.now()
      await finish(scope, 'ingest', COMMANDS.ingest(store, file))
      wholeMs = performance.now() - startedAt
      expected = await dumpStore(store)
    })
    assert.ok(expected.funding_period_data_points!.length > 1000)
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  for (const command of inTurns(STORE_KINDS.indexOf(kind), ['ingest', 'serve'] as const)) {
    test(`${command} killed at random moments resumes, and results in the same tables`, (t) =>
      killOften(t, {
        kind,
        wholeMs,
        expected,
        from: 0.2,
        kills: runsOf('process', kind),
        killsEach: KILLS_EACH,
        argumentsOf: (store) => COMMANDS[command](store, file),
        random: createRandom(command === 'ingest' ? 11 : 12),
        check: async (store, where) => assertWholeUpToPosition(await dumpStore(store), where),
        finish: (scope, args) => finish(scope, command, args),
      }))
  }

  for (const signal of inTurns(STORE_KINDS.indexOf(kind), ['SIGTERM', 'SIGINT'] as const)) {
    test(`${signal} ends ingest with exit status 130 after committing the batch in progress`, async () => {
      for (let run = 0; run < runsOf('seconds', kind); run++) {
        await inScope(async (scope) => {
          const store = kind.create(scope)
          const args = COMMANDS.ingest(store, '-')
          const { child, outcome } = startLyra(scope, args, { stdio: ['pipe', 'pipe', 'pipe'] })
          // Written slowly, so that it is certainly still running; the pipe breaks when it ends.
          child.stdin!.on('error', () => {})
          const slowly = createReadStream(file, { highWaterMark: 16 * 1024 })
          slowly.on('data', () => {
            slowly.pause()
            setTimeout(() => slowly.resume(), 2)
          })
          slowly.pipe(child.stdin!)
          scope.after(() => slowly.destroy())
          while ((await heightOf(store)) === null) await delay(20)
          child.kill(signal)
          const { code, stdout, stderr } = await outcome
          assert.equal(code, 130, stderr)
          assertSays(stderr, 'stopping after committing the current batch')
          const [, height] = /^The store contains blocks up to (\d+)\.$/m.exec(stdout)!
          assert.equal(await heightOf(store), BigInt(height!))
          await finish(scope, 'ingest', COMMANDS.ingest(store, file))
          assertSameDump(await dumpStore(store), expected, `run ${run}`)
        })
      }
    })
  }

  test('of two writers at once, one waits for the other', async (t) => {
    const store = kind.create(t)
    const runs = [1, 2].map(() => startLyra(t, COMMANDS.ingest(store, file)))
    for (const { code, stderr } of await Promise.all(runs.map(({ outcome }) => outcome)))
      assert.equal(code, 0, stderr)
    assertSameDump(await dumpStore(store), expected, 'two writers')
  })
})

import assert from 'node:assert/strict'
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { pino } from 'pino'
import { readPosition } from '#core/store/readings/coverage'
import type { Reader } from '#core/store/store'
import { makerOf } from '#service/api/maker'
import { COVERAGE_SCHEMA } from '#service/api/questions/coverage'
import type { CoverageBody } from '#service/api/questions/coverage-body'
import { statusOfService } from '#tools/status/service-status'
import { statusOfStore } from '#tools/status/status'
import {
  checkpoint,
  dataPoint,
  fileOf,
  type MadeBlock,
  marketData,
  provision,
} from './fixtures/event-stream.ts'
import { metricsOf, query, send, statusOf } from './fixtures/http.ts'
import { ingestBytes } from './fixtures/ingest-bytes.ts'
import { startLive, stop } from './fixtures/live.ts'
import { runWell, startService } from './fixtures/program.ts'
import { ask } from './fixtures/raw-http.ts'
import { ingestWhole, serve, serveFile, storeOf } from './fixtures/service.ts'
import { SAMPLE } from './fixtures/shared.ts'
import {
  ANY_STORE_KIND,
  openReader,
  openStore,
  STORE_KINDS,
  sqlite,
  temporaryFolder,
} from './fixtures/stores.ts'
import { until } from './fixtures/until.ts'

const PATH = '/api/v2/coverage'
const MARKETS = 2_300
const BLOCKS = 2_600

const marketOf = (index: number) => index.toString(16).padStart(64, '0')

/** Markets with points, every third also with providers; every second block is missing. */
function stream(): Buffer {
  const markets = Array.from({ length: MARKETS }, (_, index) => marketOf(index * 7))
  const first = markets.flatMap((marketId, index) => [
    dataPoint({ marketId }),
    ...(index % 3 === 0 ? [provision({ marketId, provisionId: marketId }), marketData({ marketId })] : []),
  ])
  const blocks = Array.from({ length: BLOCKS }, (_, index): MadeBlock => {
    return { height: 10 + 2 * index, events: index === 0 ? first : [checkpoint({ atBlock: 10 + 2 * index })] }
  })
  return fileOf(...blocks)
}

const isDocumented = new Ajv2020({ strict: true }).compile(COVERAGE_SCHEMA)

async function part(base: string, params: [string, string][]): Promise<CoverageBody['coverage']> {
  const answer = await send(base, `${PATH}${query(params)}`)
  assert.equal(answer.status, 200, answer.text)
  assert.ok(answer.body.length < 1024 * 1024, `${answer.body.length} bytes`)
  const body = JSON.parse(answer.text) as CoverageBody
  assert.ok(isDocumented(body), JSON.stringify(isDocumented.errors))
  return body.coverage
}

for (const kind of STORE_KINDS) {
  describe(`Answers about a store with many gaps and markets (${kind.name})`, () => {
    test('coverage comes in parts that together contain every row once', async (t) => {
      const store = kind.create(t)
      const { failure } = await ingestBytes(t, store, stream(), { allowGap: true })
      assert.equal(failure, null)
      const base = await serve(t, store, { inThreads: true })
      const parts = [await part(base, [])]
      while (parts.at(-1)!.next !== null) parts.push(await part(base, [['after', parts.at(-1)!.next!]]))
      assert.equal(parts.length, 3)
      for (const { blocks, fundingPeriodDataPoints, liquidityProviders } of parts) {
        for (const list of [blocks.gaps, blocks.ranges, fundingPeriodDataPoints, liquidityProviders]) {
          assert.ok(list.length <= 1_000)
        }
      }
      const points = parts.flatMap((each) => each.fundingPeriodDataPoints.map(({ marketId }) => marketId))
      assert.deepEqual(
        points,
        Array.from({ length: MARKETS }, (_, index) => marketOf(index * 7)),
      )
      const providers = parts.flatMap((each) =>
        each.liquidityProviders.map(({ marketId, count }) => [marketId, count]),
      )
      assert.deepEqual(
        providers,
        Array.from({ length: Math.ceil(MARKETS / 3) }, (_, index) => [marketOf(index * 21), '1']),
      )
      const heights = parts
        .flatMap(({ blocks }) => [...blocks.ranges, ...blocks.gaps])
        .map(({ from, to }) => [Number(from), Number(to)] as const)
        .toSorted(([a], [b]) => a - b)
      for (const [index, [from]] of heights.entries()) {
        assert.equal(from, index === 0 ? 10 : heights[index - 1]![1] + 1)
      }
      assert.equal(heights.at(-1)![1], 10 + 2 * (BLOCKS - 1))
      // The commands print every entry, for a store and for a service.
      const ofStore = await statusOfStore(openStore(store))
      const ofService = await statusOfService(base)
      assert.equal(ofStore.coverage!.fundingPeriodDataPoints.length, MARKETS)
      assert.deepEqual(ofService.coverage, ofStore.coverage)
      // Recorded gaps do not count against readiness.
      assert.equal((await send(base, '/ready')).status, 200)
      assert.match(await metricsOf(base), /^lyra_missing_blocks 2599$/m)
    })
  })
}

test('Coverage of a SQLite file is not generated by the thread that answers requests', async (t) => {
  const store = await storeOf(t, sqlite, SAMPLE)
  const reader = await openReader(t, store)
  let read = 0
  const watched: Reader = {
    ...reader,
    read: (reading) =>
      reading === (readPosition as unknown) ? reader.read(reading) : assert.fail(`read ${++read} times here`),
  }
  const base = await serve(t, store, {
    reader: watched,
    maker: { ...makerOf(reader), make: async () => null },
  })
  assert.equal(await statusOf(base, PATH), 503)
  assert.equal(read, 0)
})

test("Readiness says that the store is unreachable; only the service's log names it", async (t) => {
  const store = await storeOf(t, sqlite, SAMPLE)
  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
  await openReader(t, store)
  const base = await serve(t, store, { log, inThreads: true })
  rmSync(store)
  for (let count = 0; count < 3; count++) {
    const { status, body } = await ask(base, 'GET /ready')
    assert.equal(status, 503)
    assert.deepEqual(JSON.parse(body), {
      status: 'not ready',
      reasons: [
        {
          reason: 'store unreachable',
          message: 'no such file; lyra migrate, lyra ingest and lyra serve --listen create it',
        },
      ],
    })
  }
  assert.equal(lines.filter((line) => line.includes(`store unreachable: ${store}`)).length, 1, lines.join(''))
})

test("Readiness reports failed writes without the store's location", async (t) => {
  const folder = temporaryFolder(t)
  const store = join(folder, 'private-name.db')
  const file = join(folder, 'first.evts')
  writeFileSync(file, fileOf({ height: 5 }, { height: 6 }))
  await ingestWhole(store, file)
  // From now on commits of blocks fail, as on a faulty disk.
  const raw = new DatabaseSync(store)
  raw.exec(`create trigger harm before update on stream begin select raise(abort, 'harmed'); end`)
  raw.close()
  const next = join(folder, 'next.evts')
  writeFileSync(next, fileOf({ height: 7 }, { height: 8 }))
  const { service: program, base } = await startService(t, ['--store', store, next])
  await program.printed(/ingestion stopped: .*private-name\.db: /)
  const { text } = await send(base, '/ready')
  assert.match(text, /"intake stopped","message":"the store: [^"]*harmed/)
  assert.doesNotMatch(text, /private-name/)
})

test('Only the owner can read stores, their WAL files, backups and buffers', async (t) => {
  const folder = temporaryFolder(t)
  const path = (name: string) => join(folder, name)
  const modeOf = (name: string) => (statSync(path(name)).mode & 0o777).toString(8)
  const service = await startLive(t, path('lyra.db'), path('buffer'), ['--keep-buffer'])
  await until(() => existsSync(path('buffer/archive')), 'the buffer is created')
  for (const [name, mode] of [
    ['lyra.db', '600'],
    ['buffer', '700'],
    ['buffer/archive', '700'],
  ] as const) {
    assert.equal(modeOf(name), mode, name)
  }
  await stop(service)
  await ingestWhole(path('other.db'), SAMPLE)
  const writer = await openStore(path('other.db')).openWriter()
  const reader = await openStore(path('other.db')).openReader()
  await reader.read(readPosition)
  for (const name of ['other.db', 'other.db-wal', 'other.db-shm']) assert.equal(modeOf(name), '600', name)
  await reader.close()
  await writer.close()
  await runWell(t, ['backup', '--store', path('other.db'), path('backup.db')])
  assert.equal(modeOf('backup.db'), '600')
})

for (const kind of ANY_STORE_KIND) {
  describe(`Answers about one of several markets (${kind.name})`, () => {
    test('coverage of one market, and errors for invalid cursors', async () => {
      const base = await serveFile(kind, SAMPLE)
      const all = await part(base, [])
      const { marketId } = all.fundingPeriodDataPoints[1]!
      for (const id of [marketId, marketId.toUpperCase()]) {
        const one = await part(base, [['marketId', id]])
        assert.deepEqual(one, {
          ...all,
          fundingPeriodDataPoints: [all.fundingPeriodDataPoints[1]],
          fundingPeriods: all.fundingPeriods.filter((row) => row.marketId === marketId),
          liquidityProviders: all.liquidityProviders.filter((row) => row.marketId === marketId),
        })
      }
      const none = await part(base, [['market_id', 'f'.repeat(64)]])
      assert.deepEqual([none.fundingPeriodDataPoints, none.liquidityProviders], [[], []])
      const cursor = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
      for (const value of [
        ...[null, [], [1, null], ['1', null, null], ['-1', null], ['9223372036854775808', null]],
        ...[5, 'a\0b', '\ud800', 'x'.repeat(1_025)].map((market) => [null, market]),
      ]) {
        const { status, text } = await send(base, `${PATH}?after=${cursor(value)}`)
        assert.equal(status, 400, `${JSON.stringify(value)}: ${text}`)
      }
      const nothing = await part(base, [['after', cursor([null, null])]])
      assert.deepEqual([nothing.blocks.ranges, nothing.fundingPeriodDataPoints, nothing.next], [[], [], null])
    })
  })
}

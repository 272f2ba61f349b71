import assert from 'node:assert/strict'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { readPosition } from '#core/store/readings/coverage'
import type { Reader } from '#core/store/store'
import { makerOf } from '#service/api/maker'
import { statusOfService } from '#tools/status/service-status'
import { statusOfStore } from '#tools/status/status'
import { coverageOf } from './fixtures/coverage.ts'
import {
  checkpoint,
  dataPoint,
  fileOf,
  type MadeBlock,
  marketData,
  provision,
} from './fixtures/event-stream.ts'
import { metricsOf, send, statusOf } from './fixtures/http.ts'
import { blocksOf, importBlocks } from './fixtures/import-blocks.ts'
import { startLive, stop } from './fixtures/live.ts'
import { runWell, startService } from './fixtures/program.ts'
import { ingestWell, ingestWhole, serve, serveFile, storeOf } from './fixtures/service.ts'
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

/** Heights of a store: of three one comes from events; the others are missing below the middle, imported above. */
const HEIGHTS = Array.from({ length: 6_600 }, (_, index) => 12 + index)
const MIDDLE = HEIGHTS[3_300]!
const HELD = {
  ranges: (height: number) => height % 3 === 0,
  gaps: (height: number) => height % 3 > 0 && height < MIDDLE,
  imported: (height: number) => height % 3 > 0 && height >= MIDDLE,
}

const marketOf = (index: number) => index.toString(16).padStart(64, '0')

/** Blocks at some heights; the first has markets with points, every third also with providers. */
function stream(isIn: (height: number) => boolean): Buffer {
  const markets = Array.from({ length: MARKETS }, (_, index) => marketOf(index * 7))
  const first = markets.flatMap((marketId, index) => [
    dataPoint({ marketId }),
    ...(index % 3 === 0 ? [provision({ marketId, provisionId: marketId }), marketData({ marketId })] : []),
  ])
  const blocks = HEIGHTS.filter(isIn).map((height): MadeBlock => {
    return { height, events: height === HEIGHTS[0] ? first : [checkpoint({ atBlock: height })] }
  })
  return fileOf(...blocks)
}

for (const kind of STORE_KINDS) {
  describe(`Answers about a store with many gaps, imported blocks and markets (${kind.name})`, () => {
    test('coverage comes in parts that together contain every row once', async (t) => {
      const store = kind.create(t)
      await ingestWell(t, store, stream(HELD.ranges), { allowGap: true })
      const made = blocksOf(stream((height) => !HELD.gaps(height)))
      await importBlocks(store, made, { from: BigInt(HEIGHTS[0]!), to: BigInt(HEIGHTS.at(-1)!) })
      const base = await serve(t, store, { inThreads: true })
      const parts = [await coverageOf(base)]
      while (parts.at(-1)!.next !== null) parts.push(await coverageOf(base, [['after', parts.at(-1)!.next!]]))
      assert.equal(parts.length, 3)
      assert.ok((await send(base, PATH)).body.length < 1024 * 1024)
      for (const { blocks, fundingPeriodDataPoints, liquidityProviders } of parts) {
        const { gaps, imported, ranges } = blocks
        for (const list of [gaps, imported, fundingPeriodDataPoints, liquidityProviders])
          assert.ok(list.length <= 1_000)
        // They lie between the others.
        assert.ok(ranges.length <= gaps.length + imported.length + 1)
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
      for (const [name, isIn] of Object.entries(HELD)) {
        const found = parts.flatMap(({ blocks }) =>
          blocks[name as keyof typeof HELD].flatMap(({ from, to }) =>
            HEIGHTS.filter((height) => height >= Number(from) && height <= Number(to)),
          ),
        )
        assert.deepEqual(found, HEIGHTS.filter(isIn), name)
      }
      // The commands print every entry, for a store and for a service.
      const ofStore = await statusOfStore(openStore(store))
      const ofService = await statusOfService(base)
      assert.equal(ofStore.coverage!.fundingPeriodDataPoints.length, MARKETS)
      assert.deepEqual(ofService.coverage, ofStore.coverage)
      // Recorded gaps do not count against readiness.
      assert.equal((await send(base, '/ready')).status, 200)
      assert.match(await metricsOf(base), /^lyra_missing_blocks 2200$/m)
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
  const { service: program, base } = await startService(t, `--store ${store} ${next}`)
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
      const all = await coverageOf(base)
      const { marketId } = all.fundingPeriodDataPoints[1]!
      for (const id of [marketId, marketId.toUpperCase()]) {
        const one = await coverageOf(base, [['marketId', id]])
        assert.deepEqual(one, {
          ...all,
          fundingPeriodDataPoints: [all.fundingPeriodDataPoints[1]],
          fundingPeriods: all.fundingPeriods.filter((row) => row.marketId === marketId),
          liquidityProviders: all.liquidityProviders.filter((row) => row.marketId === marketId),
        })
      }
      const none = await coverageOf(base, [['market_id', 'f'.repeat(64)]])
      assert.deepEqual([none.fundingPeriodDataPoints, none.liquidityProviders], [[], []])
      const cursor = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
      for (const value of [
        ...[null, [], [1, null], ['1', null, null], ['-1', null], ['9223372036854775808', null]],
        ...[5, 'a\0b', '\ud800', 'x'.repeat(1_025)].map((market) => [null, market]),
      ]) {
        const { status, text } = await send(base, `${PATH}?after=${cursor(value)}`)
        assert.equal(status, 400, `${JSON.stringify(value)}: ${text}`)
      }
      const nothing = await coverageOf(base, [['after', cursor([null, null])]])
      assert.deepEqual([nothing.blocks.ranges, nothing.fundingPeriodDataPoints, nothing.next], [[], [], null])
    })
  })
}

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { Block } from '../src/blocks/block.ts'
import { checkAgainstFiles } from '../src/check/check-against-files.ts'
import { checkStore } from '../src/check/check-store.ts'
import type { Coverage } from '../src/domain/coverage.ts'
import { readInstruments, writeInstruments } from '../src/ingest/write-instruments.ts'
import { findEventFiles } from '../src/records/event-paths.ts'
import { RESOURCES } from '../src/resources/resources.ts'
import { readCoverage } from '../src/store/coverage-rows.ts'
import { assertSameDump, dumpStore, type StoreDump } from './fixtures/dump-store.ts'
import {
  asset,
  auction,
  type Content,
  checkpoint,
  dataPoint,
  fileOf,
  fundingPeriod,
  idOf,
  joinRecords,
  MARKET,
  type MadeBlock,
  marketData,
  perpetual,
  provision,
  readRecording,
  recordsOf,
} from './fixtures/event-stream.ts'
import { StreamFollower } from './fixtures/follow-store.ts'
import { blocksOf, importBlocks } from './fixtures/import-blocks.ts'
import { ingestBytes, ingestWell } from './fixtures/ingest-bytes.ts'
import { runsOf } from './fixtures/sampling.ts'
import { inScope } from './fixtures/scope.ts'
import { SILENT } from './fixtures/service.ts'
import { recordingPath } from './fixtures/shared.ts'
import { openStore, STORE_KINDS, type StoreKind, temporaryFolder } from './fixtures/stores.ts'
import { StreamModel } from './fixtures/stream-model.ts'

type Made = { chainId: string; blocks: Block[] }

async function coverageOf(store: string): Promise<Coverage> {
  const reader = await openStore(store).openReader()
  try {
    return (await reader.read(readCoverage))!
  } finally {
    await reader.close()
  }
}

/** What differs between a store and the blocks of a file. */
async function differencesOf(scope: TestContext, store: string, bytes: Buffer): Promise<unknown[]> {
  const path = join(temporaryFolder(scope), 'whole.evts')
  writeFileSync(path, bytes)
  const check = await checkStore(openStore(store))
  const options = { log: SILENT, signal: new AbortController().signal }
  await checkAgainstFiles(openStore(store), findEventFiles([path]), check, options)
  return check.problems.reported.filter(({ what }) => !what.startsWith('nothing to compare'))
}

async function problemsOf(store: string): Promise<unknown[]> {
  return (await checkStore(openStore(store))).problems.reported
}

/** The records of some blocks of a file. */
function pieceOf(bytes: Buffer, from: number, to: number): Buffer {
  return joinRecords(recordsOf(bytes).filter(({ height }) => height >= from && height <= to))
}

async function wholeDump(scope: TestContext, kind: StoreKind, bytes: Buffer): Promise<StoreDump> {
  const store = kind.create(scope)
  await ingestWell(scope, store, bytes)
  return dumpStore(store)
}

const lastOf = ({ blocks }: Made): bigint => blocks.at(-1)!.height

/** Heights of a made-up stream: some of two runs of 64 blocks. */
const FIRST = 58
const LAST = 69

const markets = fc.constantFrom(MARKET, idOf('9'))
const parties = fc.constantFrom(idOf('b'), idOf('d'))
const seqs = fc.constantFrom(1, 2)
const prices = fc.constantFrom('1', '2', '3')
/** Some within one microsecond, some in other buckets of series. */
const times = fc.constantFrom(
  ...[-1_500, -1_001, 1_000, 1_001, 1_999, 2_000, 2_500, 40_000_000_000, 40_000_000_300, 400_000_000_000],
)

/**
 * An event of few values, so that rows fall together; `isFollowed`: none changes a row of a later event, which streams do
 * not send again for it (the start of a period, the asset of an instrument).
 */
const contentsOf = (isFollowed: boolean): fc.Arbitrary<Content> =>
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc
        .record({
          ...{ marketId: markets, seq: seqs, source: fc.constantFrom(0, 1, 2) },
          ...{ price: prices, twap: prices, timestamp: times },
        })
        .map(dataPoint),
    },
    {
      weight: 3,
      arbitrary: fc
        .record({ marketId: markets, seq: seqs, start: times, end: fc.option(times), twap: prices })
        .map((fields) => fundingPeriod(isFollowed ? { ...fields, start: fields.seq * 1_000 } : fields)),
    },
    fc
      .record({
        provisionId: fc.constantFrom(idOf('c'), idOf('e')),
        ...{ partyId: parties, marketId: markets, status: fc.constantFrom(1, 2, 6) },
      })
      .map(provision),
    fc
      .record({ marketId: markets, parties: fc.uniqueArray(parties, { maxLength: 2 }), share: prices })
      .map(marketData),
    fc.record({ marketId: markets, code: fc.constantFrom('A', 'B') }).map((fields) => perpetual(fields)),
    fc
      .record({
        assetId: fc.constantFrom(isFollowed ? 'XYZ' : 'VOTE', 'XYZ'),
        symbol: fc.constantFrom('A', 'B'),
      })
      .map(asset),
    fc.record({ hash: fc.constantFrom('aa', 'bb'), atBlock: fc.constantFrom(5, 6) }).map(checkpoint),
    fc.record({ marketId: markets }).map(auction),
  )

const streamOf = (contents: fc.Arbitrary<Content>): fc.Arbitrary<MadeBlock[]> =>
  fc
    .array(fc.array(contents, { maxLength: 5 }), { minLength: LAST - FIRST + 1, maxLength: LAST - FIRST + 1 })
    .map((blocks) => blocks.map((events, index) => ({ height: FIRST + index, events })))

const heights = fc.integer({ min: FIRST, max: LAST })
const range = fc.tuple(heights, heights).map(([a, b]) => ({ from: Math.min(a, b), to: Math.max(a, b) }))

/** What is done with a store before all events come. */
type Step =
  | { do: 'import'; from: number; to: number; rowsFrom: number; blocksOfCommit: number; commits: number }
  | { do: 'ingest'; from: number; to: number }
  | { do: 'ingest incomplete'; height: number }

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.tuple(range, heights, fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 6 })).map(
      ([{ from, to }, below, blocksOfCommit, commits]): Step => ({
        ...{ do: 'import', from, to, rowsFrom: Math.min(from, below), blocksOfCommit, commits },
      }),
    ),
    range.map(({ from, to }): Step => ({ do: 'ingest', from, to })),
    heights.map((height): Step => ({ do: 'ingest incomplete', height })),
  ),
  { minLength: 1, maxLength: 6 },
)

async function take(
  scope: TestContext,
  store: string,
  blocks: MadeBlock[],
  step: Step,
  model?: StreamModel,
): Promise<void> {
  if (step.do === 'import') {
    const { from, to, rowsFrom, blocksOfCommit, commits } = step
    const committed = await importBlocks(store, blocksOf(fileOf(...blocks)), {
      ...{ from: BigInt(from), to: BigInt(to), rowsFrom: BigInt(rowsFrom), blocksOfCommit, commits },
    })
    for (const commit of committed) model?.import(commit)
    return
  }
  const some =
    step.do === 'ingest'
      ? blocks.filter(({ height }) => height >= step.from && height <= step.to)
      : blocks
          .filter(({ height }) => height === step.height)
          .map((block) => ({ ...block, without: [2 + Math.floor((block.events?.length ?? 0) / 2)] }))
  await ingestBytes(scope, store, fileOf(...some), { allowGap: true })
  model?.ingest(fileOf(...some), { allowGap: true })
}

for (const kind of STORE_KINDS) {
  describe(`imported history (${kind.name})`, () => {
    for (const name of ['perps-calm', 'synthetic', 'virtual-stake', 'four-providers']) {
      test(`of ${name} goes block by block as its events come`, async (t) => {
        const bytes = readRecording(recordingPath(`${name}.evts.gz`)!)
        const made = blocksOf(bytes)
        const expected = await wholeDump(t, kind, bytes)
        const store = kind.create(t)
        await importBlocks(store, made, { from: 1n, to: lastOf(made), blocksOfCommit: 100 })
        assert.deepEqual(await problemsOf(store), [])
        const before = await coverageOf(store)
        assert.deepEqual(before.imported, [{ from: made.blocks[0]!.height, to: lastOf(made) }])
        assert.deepEqual(await differencesOf(t, store, bytes), [])
        const middle = Number(lastOf(made)) / 2
        const later = pieceOf(bytes, Math.floor(middle) + 1, Number(lastOf(made)))
        const half = await ingestWell(t, store, later)
        assert.ok(half.blocks > 0)
        assert.equal(half.replacedBlocks, half.blocks)
        assert.deepEqual(await problemsOf(store), [])
        const rest = await ingestWell(t, store, bytes)
        assert.equal(half.replacedBlocks + rest.replacedBlocks, made.blocks.length)
        assert.deepEqual((await coverageOf(store)).imported, [])
        assert.deepEqual(await problemsOf(store), [])
        assertSameDump(await dumpStore(store), expected, name)
      })
    }

    describe('of times that only nanoseconds tell apart', () => {
      const point = (height: number, timestamp: number): MadeBlock => ({
        height,
        events: [dataPoint({ timestamp, price: String(height) })],
      })
      const [first, second] = [point(60, 1_000), point(62, 1_300)]
      const bytes = fileOf(first, { height: 61 }, second)
      const made = blocksOf(bytes)
      const points = async (store: string) =>
        (await dumpStore(store)).funding_period_data_points!.map((row) => {
          const [, , timestamp, , price, , height] = JSON.parse(row) as string[]
          return `${timestamp} ${price} ${height}`
        })

      test('keeps the points of events that it falls together with', async (t) => {
        const store = kind.create(t)
        await ingestWell(t, store, fileOf(first, { height: 61 }))
        await importBlocks(store, made, { from: 62n, to: 62n })
        assert.deepEqual(await points(store), ['1000 60 60'])
        await ingestWell(t, store, bytes)
        assert.deepEqual(await points(store), ['1000 60 60', '1300 62 62'])
      })

      test('gives way to points of events from before it', async (t) => {
        const store = kind.create(t)
        await importBlocks(store, made, { from: 62n, to: 62n })
        assert.deepEqual(await points(store), ['1000 62 62'])
        await ingestWell(t, store, fileOf(first, { height: 61 }))
        assert.deepEqual(await points(store), ['1000 60 60'])
        await ingestWell(t, store, bytes)
        assert.deepEqual(await points(store), ['1000 60 60', '1300 62 62'])
      })

      test('has no copy of a point whose event is held, where an import does not know its block', async (t) => {
        const store = kind.create(t)
        await ingestWell(t, store, fileOf(second))
        await importBlocks(store, blocksOf(fileOf(second, { height: 63 })), {
          from: 63n,
          to: 63n,
          rowsFrom: 62n,
        })
        assert.deepEqual(await points(store), ['1300 62 62'])
      })

      test('takes events of any time into the blocks before it', async (t) => {
        const ends = [-(2n ** 63n), 2n ** 63n - 1n]
        const events = ends.map((timestamp) => dataPoint({ timestamp }))
        const store = kind.create(t)
        await importBlocks(store, made, { from: 62n, to: 62n })
        await ingestWell(t, store, fileOf({ height: 60, events }, { height: 61 }))
        assert.deepEqual(
          (await points(store)).map((row) => row.split(' ')[0]!).toSorted(),
          ['1000', ...ends.map(String)].toSorted(),
        )
        assert.deepEqual(await problemsOf(store), [])
      })

      test('of a block that is not known stays until its event comes', async (t) => {
        const store = kind.create(t)
        const known = blocksOf(fileOf(second, { height: 63 }))
        await importBlocks(store, known, { from: 63n, to: 63n, rowsFrom: 62n })
        assert.deepEqual(await points(store), ['1000 62 0'])
        assert.deepEqual(await problemsOf(store), [])
        await ingestWell(t, store, fileOf({ height: 63 }))
        assert.deepEqual(await points(store), ['1000 62 0'])
        assert.deepEqual(await problemsOf(store), [])
        await ingestWell(t, store, fileOf(second))
        assert.deepEqual(await points(store), ['1300 62 62'])
      })
    })

    test('of block 1 gives way to its two parts, in whatever pieces they come', async (t) => {
      const part = (hash: string, ...events: Content[]): MadeBlock => ({ height: 1, hash, events })
      const [genesis, one] = [
        part('g', asset(), provision()),
        part('1', dataPoint({ timestamp: 1_300 }), marketData()),
      ]
      const others: MadeBlock[] = [2, 3, 4].map((height) => ({
        height,
        events: [checkpoint({ atBlock: height })],
      }))
      const bytes = fileOf(genesis, one, ...others)
      const expected = await wholeDump(t, kind, bytes)
      const made = blocksOf(bytes)
      for (const pieces of [
        [[genesis, one, ...others]],
        [[genesis, one, others[0]!]],
        [[others[1]!], [genesis, one, others[0]!]],
        [[others[0]!], [genesis, one]],
        [[genesis, others[0]!]],
        [[genesis, one]],
      ]) {
        await inScope(async (scope) => {
          const store = kind.create(scope)
          await importBlocks(store, made, { from: 1n, to: 4n })
          for (const piece of pieces) {
            await ingestWell(scope, store, fileOf(...piece))
            assert.deepEqual(await problemsOf(store), [])
          }
          await ingestWell(scope, store, bytes)
          assertSameDump(
            await dumpStore(store),
            expected,
            JSON.stringify(pieces.flat().map(({ hash }) => hash)),
          )
        })
      }
    })

    test('of unknown blocks gives way to a file of instruments, and does not replace it', async (t) => {
      const store = kind.create(t)
      const made = blocksOf(
        fileOf({ height: 5, events: [perpetual({ code: 'IMPORTED' }), asset()] }, { height: 6 }),
      )
      const codes = async () =>
        (await dumpStore(store)).instruments!.map((row) => {
          const [, code, ...others] = JSON.parse(row) as string[]
          return [code, ...others.slice(-2)].join(' ')
        })
      const importAll = () => importBlocks(store, made, { from: 6n, to: 6n, rowsFrom: 5n })
      await importAll()
      assert.deepEqual(await codes(), ['IMPORTED 0 0'])
      const path = join(temporaryFolder(t), 'instruments.json')
      const asset0 = { id: 'VOTE', symbol: 'V', name: 'Votes', decimals: '5' }
      const node = {
        ...{ marketId: MARKET, code: 'FILE', name: 'n', product: 'PRODUCT_FUTURE', quoteName: 'USD' },
        ...{ decimalPlaces: '2', positionDecimalPlaces: '0', state: 'STATE_ACTIVE' },
        ...{ tradingMode: 'TRADING_MODE_CONTINUOUS', settlementAsset: asset0, funding: null },
      }
      writeFileSync(path, JSON.stringify({ instruments: { edges: [{ node }] } }))
      const writer = await openStore(store).openWriter()
      await writeInstruments(writer, readInstruments(path))
      await writer.close()
      assert.match((await codes())[0]!, /^FILE 0 [1-9]/)
      await importAll()
      assert.match((await codes())[0]!, /^FILE 0 [1-9]/)
      assert.deepEqual(await problemsOf(store), [])
    })

    test('leaves nothing behind once all events have come, in whatever order imports and files came', async () => {
      await fc.assert(
        fc.asyncProperty(streamOf(contentsOf(false)), steps, (blocks, list) =>
          inScope(async (scope) => {
            const bytes = fileOf(...blocks)
            const store = kind.create(scope)
            const model = new StreamModel()
            for (const step of list) {
              await take(scope, store, blocks, step, model)
              assert.deepEqual(await problemsOf(store), [], step.do)
              assertSameDump(await dumpStore(store), model.dump(), step.do)
            }
            assert.deepEqual(await differencesOf(scope, store, bytes), [])
            await ingestWell(scope, store, bytes, { allowGap: true })
            assert.deepEqual(await problemsOf(store), [])
            assertSameDump(await dumpStore(store), await wholeDump(scope, kind, bytes), 'all events')
          }),
        ),
        { numRuns: runsOf('change', kind), seed: 1 },
      )
    })

    test('reaches those who follow, and its events do once they come, wherever they are cut', async () => {
      const cuts = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 6, maxLength: 6 })
      await fc.assert(
        fc.asyncProperty(streamOf(contentsOf(true)), steps, cuts, (blocks, list, lengths) =>
          inScope(async (scope) => {
            const store = kind.create(scope)
            const followers = RESOURCES.flatMap((resource) => {
              const isByMarket = resource.scope !== null || resource.needsFilter
              const selections = isByMarket ? [MARKET, idOf('9')].map((marketId) => ({ marketId })) : [{}]
              return selections.map((selection) => new StreamFollower(store, resource, selection))
            })
            const look = async (most?: number) => {
              for (const follower of followers) await follower.look(most)
            }
            for (const [index, step] of list.entries()) {
              await take(scope, store, blocks, step)
              await look(lengths[index])
              if (lengths[index]! % 2 === 0) continue
              await look()
              for (const follower of followers) assert.deepEqual(await follower.missing(), [], step.do)
            }
            await ingestWell(scope, store, fileOf(...blocks), { allowGap: true })
            await look(3)
            await look()
            for (const follower of followers) assert.deepEqual(await follower.missing(), [])
          }),
        ),
        { numRuns: runsOf('store', kind), seed: 1 },
      )
    })
  })
}

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Coverage } from '#core/domain/coverage'
import { advance, type Unseen } from '#core/domain/unseen'
import type { Resource, Selection } from '#core/model/resource'
import { checkpoints } from '#core/resources/checkpoints/description'
import { fundingPeriodDataPoints } from '#core/resources/funding-period-data-points/description'
import { liquidityProviders } from '#core/resources/liquidity-providers/description'
import type { Pass } from '#core/store/queries/unseen/points-pass'
import { MAX_READ_ROWS, type PositionedRow } from '#core/store/queries/unseen/positioned-rows'
import { readUnseenRows } from '#core/store/queries/unseen/unseen-rows'
import type { Reader } from '#core/store/store'
import { idOf } from '../../fixtures/events/event-stream.ts'
import { createRandom } from '../../fixtures/random.ts'
import { scaled } from '../../fixtures/sampling.ts'
import {
  checkpointAt,
  createLiveStore,
  LIVE_MARKET,
  type LiveBlock,
  pointAt,
  providedBy,
  timeOf,
} from '../../fixtures/stores/live-store.ts'
import { ANY_STORE_KIND, describeOn, openReader, STORE_KINDS } from '../../fixtures/stores/stores.ts'

const LIMIT = 500
const RARE = 999_999n
const ALL: Unseen = { first: 0n, gaps: [], tail: { height: 0n, index: 0 } }

test('unseen events may be in any number of gaps of a store', () => {
  const gaps = Array.from({ length: 200_000 }, (_, index) => {
    const height = BigInt(2 * index + 2)
    return { from: height, to: height, kind: 'missing' as const, start: null, end: null }
  })
  const coverage: Coverage = {
    chainId: 'chain',
    first: 1n,
    firstTimestamp: null,
    began: 1n,
    blockOne: null,
    height: 400_001n,
    timestamp: 0n,
    gaps,
    since: [],
    imported: [],
  }
  const unseen = advance(ALL, coverage, null)
  assert.deepEqual(unseen.tail, { height: 400_002n, index: 0 })
  assert.equal(unseen.gaps.at(-1)!.height, 400_000n)
})

/** Reads all rows, call after call. */
async function readAll(
  reader: Reader,
  resource: Resource,
  selection: Selection,
  limit = LIMIT,
): Promise<{ rows: PositionedRow[]; calls: number }> {
  const rows: PositionedRow[] = []
  let unseen = ALL
  let pass: Pass | null = null
  let asOf: Coverage | null = null
  for (let calls = 1; ; calls++) {
    const unseenRows = await reader.read(() =>
      readUnseenRows({ resource, selection, unseen, asOf, limit, pass }),
    )
    assert.ok(unseenRows !== null && unseenRows.rows.length <= limit)
    rows.push(...unseenRows.rows)
    asOf = unseenRows.coverage
    if (unseenRows.reached === null) return { rows, calls }
    unseen = advance(unseen, asOf, unseenRows.reached)
    pass = unseenRows.pass
    assert.ok((pass?.firstRows.length ?? 0) <= limit + 1)
    assert.ok(calls < 2_000)
  }
}

/** Fails unless the rows are in the order of their events, each once. */
function assertInOrder(rows: readonly PositionedRow[]): void {
  for (const [index, { position }] of rows.entries()) {
    const before = rows[index - 1]?.position ?? { height: -1n, index: 0 }
    assert.ok(
      position.height > before.height || (position.height === before.height && position.index > before.index),
      `${index}: ${position.height} ${position.index} after ${before.height} ${before.index}`,
    )
  }
}

describeOn(STORE_KINDS, 'reading rows in the order of the stream', (kind) => {
  async function openPoints(t: TestContext, blocks: number, pointsOfBlock: number): Promise<Reader> {
    const { store, live } = await createLiveStore(t, kind)
    const random = createRandom(3)
    const all: LiveBlock[] = []
    for (let height = 1; height <= blocks; height++) {
      // Times are random over the range of blocks, so that the order of keys is not that of the stream.
      const points = Array.from({ length: pointsOfBlock }, (_, n) => ({
        ...pointAt(height, { source: n % 60 === 0 ? 1 : 2 }),
        timestamp: timeOf(random.integer(blocks)) + BigInt(height * pointsOfBlock + n),
      }))
      // A period with two points, as far apart as the first and last of all others.
      const isEnd = height === 1 || height === blocks
      const rare = {
        ...pointAt(height),
        seq: RARE,
        timestamp: timeOf(isEnd && height > 1 ? blocks + 1 : -1),
      }
      all.push({ height, events: isEnd ? [...points, rare] : points })
    }
    // In one commit: one commit per block would rewrite the series of all these times.
    await live.commitAll(all)
    return openReader(t, store)
  }

  for (const [blocks, pointsOfBlock, calls] of [
    [scaled(30, 40), 800, (scaled(30, 40) * 800) / MAX_READ_ROWS - 1],
    ...(ANY_STORE_KIND.includes(kind) ? [[scaled(320, 640), 50, 3] as const] : []),
  ] as const) {
    test(`reads a limited number of rows per call, even if few match: of ${blocks} blocks of ${pointsOfBlock}`, async (t) => {
      const reader = await openPoints(t, blocks, pointsOfBlock)
      const read = (selection: Selection) =>
        readAll(reader, fundingPeriodDataPoints, { marketId: LIVE_MARKET, ...selection })
      const sparse = await read({ seq: RARE })
      assert.equal(sparse.rows.length, 2)
      assert.ok(sparse.calls >= calls, `${sparse.calls} calls`)
      for (const [selection, count] of [
        [{ source: 1n }, blocks * Math.ceil(pointsOfBlock / 60)],
        [{ seq: 1n }, Math.min(49, blocks) * pointsOfBlock],
        [{}, blocks * pointsOfBlock + 2],
      ] as const) {
        const { rows } = await read(selection)
        assert.equal(rows.length, count)
        assertInOrder(rows)
      }
      const none = await read({ seq: 12_345n })
      assert.deepEqual([none.rows.length, none.calls], [0, 1])
    })
  }

  test('returns the rows of all markets by event, however many markets and rows the blocks have', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    const random = createRandom(5)
    // The first market alone has more points than are read at a time; those of the others are read together.
    const markets = Array.from({ length: 150 }, (_, index) => idOf(`${index}`))
    const all: LiveBlock[] = []
    const expected: [string, bigint][] = []
    for (let height = 58; height <= 65; height++) {
      const points = Array.from({ length: 6_800 }, (_, n) => ({
        ...pointAt(height, { source: n % 5 === 0 ? 1 : 2 }),
        marketId: n < 2_100 ? markets[0]! : markets[n % 150]!,
        timestamp: timeOf(random.integer(100)) + BigInt(height * 6_800 + n),
      }))
      all.push({ height, events: points })
      for (const { marketId, timestamp } of points) expected.push([marketId, timestamp])
    }
    await live.commitAll(all)
    const reader = await openReader(t, store)
    const many = 5_000
    const { rows, calls } = await readAll(reader, fundingPeriodDataPoints, {}, many)
    assert.equal(rows.length, 8 * 6_800)
    assertInOrder(rows)
    assert.deepEqual(
      rows.map(({ row, marketId }) => [marketId, BigInt(row[0]!)]),
      expected,
    )
    assert.ok(calls > (4 * expected.length) / many, `${calls} calls`)
    const external = await readAll(reader, fundingPeriodDataPoints, { source: 1n }, many)
    assert.equal(external.rows.length, (8 * 6_800) / 5)
    assertInOrder(external.rows)
    const of = await readAll(reader, fundingPeriodDataPoints, { seq: 2n }, many)
    assert.deepEqual(
      of.rows.map(({ row }) => row[1]),
      of.rows.map(() => '2'),
    )
    assert.equal(of.rows.length, rows.filter(({ row }) => row[1] === '2').length)
  })

  test('returns all rows of a block whose large market comes after more markets than are read together', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    const markets = Array.from({ length: 200 }, (_, index) => idOf(`${index}`))
    const events = markets.flatMap((marketId, index) =>
      Array.from({ length: index === 190 ? 41_000 : 5 }, (_, n) => ({
        ...pointAt(64),
        marketId,
        timestamp: timeOf(0) + BigInt(n),
      })),
    )
    await live.commit(64, events)
    const { rows } = await readAll(await openReader(t, store), fundingPeriodDataPoints, {}, 5_000)
    assert.equal(rows.length, events.length)
  })

  test('returns all rows of a market with few points in many blocks', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    await live.commitAll(
      Array.from({ length: 2_000 }, (_, index) => index + 1).map((height) => ({
        height,
        events: height % 50 === 0 ? [pointAt(height)] : [],
      })),
    )
    const { rows } = await readAll(await openReader(t, store), fundingPeriodDataPoints, {
      marketId: LIVE_MARKET,
    })
    assert.equal(rows.length, 40)
    assertInOrder(rows)
  })

  test('returns rows up to the limit, also of one event', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    const parties = Array.from({ length: 40 }, (_, index) => (7 * index).toString(16).padStart(64, '0'))
    await live.commit(1, providedBy(LIVE_MARKET, [...parties, 'network']))
    const reader = await openReader(t, store)
    for (const limit of [1, 3, 39, 40, 41, 42]) {
      const { rows } = await readAll(reader, liquidityProviders, { marketId: LIVE_MARKET }, limit)
      assert.deepEqual(
        rows.map(({ row }) => row[1]),
        [...parties, 'network'],
        `${limit} at a time`,
      )
    }
  })

  test('returns checkpoints up to the limit, also within one block', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    for (let height = 1; height <= 3; height++) {
      const checkpoints = Array.from({ length: 700 }, (_, n) => ({
        ...checkpointAt(height),
        hash: `${height}-${n}`,
      }))
      await live.commit(height, checkpoints)
    }
    const reader = await openReader(t, store)
    const { rows, calls } = await readAll(reader, checkpoints, {})
    assert.equal(rows.length, 2_100)
    assert.equal(calls, 5)
    assertInOrder(rows)
  })
})

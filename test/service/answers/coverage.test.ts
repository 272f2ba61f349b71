import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CoverageForm } from '#core/model/resource'
import { RESOURCES } from '#core/resources/resources'
import { checkpoint, dataPoint, fileOf } from '../../fixtures/events/event-stream.ts'
import { coverageOf } from '../../fixtures/requests/coverage.ts'
import { send } from '../../fixtures/requests/http.ts'
import { ingest, pruneBefore, serve, serveFile, storeOf } from '../../fixtures/services/service.ts'
import { HEIGHT, SAMPLE, TIMESTAMP } from '../../fixtures/shared.ts'
import { describeOn, STORE_KINDS } from '../../fixtures/stores/stores.ts'

const PATH = '/api/v2/coverage'

const MARKETS = [
  '669608f2ba72421efa379b5272a55095ee2803ba2c885cc95bd5acf37d7bd08c',
  'a9f41f34c253b9c565f673ebb51ec82a2667c6a2dd467ed47dd8736fc5b3eb35',
  'c447dcd931b95f4190b90fd3ceb7dd93ace30f8031b7be87eddc4c883a61c2a4',
]
const TIMES = { firstTimestamp: '1696500003000000000', lastTimestamp: '1696500903000000000' }

/** A list of the sample's markets, each with its count. */
const ofMarkets = (counts: string[], rest: object) =>
  MARKETS.map((marketId, at) => ({ marketId, count: counts[at], ...rest }))

/** What a store reports of a resource without rows. */
const NO_ROWS: Record<CoverageForm, object> = {
  count: { count: '0' },
  'count and block times': { count: '0', firstTimestamp: null, lastTimestamp: null },
  'times by market': [],
  'blocks by market': [],
}

/** The contents of perps-calm (test/recordings/README.md). */
const SAMPLE_COVERAGE = {
  chainId: 'core-scenarios',
  blocks: { ranges: [{ from: '1', to: HEIGHT }], gaps: [], imported: [], lastTimestamp: TIMESTAMP },
  since: [],
  ...Object.fromEntries(RESOURCES.map(({ name, coverage }) => [name, NO_ROWS[coverage]])),
  auctions: { count: '3' },
  checkpoints: { count: '36', firstTimestamp: '1696500024000000000', lastTimestamp: '1696500899000000000' },
  fundingPeriodDataPoints: ofMarkets(['921', '931', '446'], TIMES),
  fundingPeriods: ofMarkets(['11', '16', '21'], TIMES),
  liquidityProviders: ofMarkets(['3', '4', '2'], { atBlock: HEIGHT }),
  prunedBefore: null,
  next: null,
}

describeOn(STORE_KINDS, `GET ${PATH}`, (kind) => {
  test('names gaps of any heights, also those that no JavaScript number names', async (t) => {
    const store = kind.create(t)
    const height = 2 ** 53
    const first = { height, time: 1n, events: [checkpoint()] }
    const bytes = fileOf(first, { ...first, height: height + 8, time: 2n })
    await ingest(store, bytes, { allowGap: true })
    const gap = { from: `${BigInt(height) + 1n}`, to: `${BigInt(height) + 7n}`, start: '1', end: '2' }
    const { blocks } = await coverageOf(await serve(t, store))
    assert.deepEqual(blocks.gaps, [{ ...gap, kind: 'missing' }])
  })

  test('reports blocks, rows and times by market, all of the snapshot named in its headers', async () => {
    const base = await serveFile(kind, SAMPLE)
    assert.deepEqual(await coverageOf(base), SAMPLE_COVERAGE)
    const answer = await send(base, PATH)
    assert.equal(answer.headers['x-block-height'], HEIGHT)
    assert.equal(answer.headers['x-block-timestamp'], TIMESTAMP)
    assert.equal(answer.headers['content-type'], 'application/json')
  })

  test('blocks that are missing or incomplete are gaps, and every other height lies in a range', async (t) => {
    const store = kind.create(t)
    const block = (height: number) => ({ height, events: [dataPoint({ timestamp: height })] })
    const some = fileOf(block(5), block(6), block(9), { ...block(10), without: [2] }, block(11))
    await ingest(store, some, { allowGap: true })
    const base = await serve(t, store)
    const { blocks, fundingPeriodDataPoints } = await coverageOf(base)
    assert.deepEqual(blocks, {
      ranges: [
        { from: '5', to: '6' },
        { from: '9', to: '9' },
        { from: '11', to: '11' },
      ],
      gaps: [
        { from: '7', to: '8', kind: 'missing', start: '6000000000', end: '9000000000' },
        { from: '10', to: '10', kind: 'incomplete', start: '9000000000', end: '11000000000' },
      ],
      imported: [],
      lastTimestamp: '11000000000',
    })
    assert.equal(fundingPeriodDataPoints[0]!.count, '4')
    await ingest(store, fileOf(block(7), block(8), block(10)))
    const filled = await coverageOf(base)
    assert.deepEqual(filled.blocks.ranges, [{ from: '5', to: '11' }])
    assert.deepEqual(filled.blocks.gaps, [])
    assert.equal(filled.fundingPeriodDataPoints[0]!.count, '7')
  })

  test('pruned rows are reported, and no longer counted', async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    await pruneBefore(store, 900n)
    const base = await serve(t, store)
    const byHeight = await coverageOf(base)
    assert.deepEqual(byHeight.prunedBefore, { timestamp: null, height: '900' })
    assert.equal(byHeight.checkpoints.count, '1')
    const all = BigInt(TIMESTAMP)
    await pruneBefore(store, all, 'time')
    const byTime = await coverageOf(base)
    assert.deepEqual(byTime.prunedBefore, { timestamp: TIMESTAMP, height: '900' })
    assert.deepEqual(byTime.checkpoints, { count: '0', firstTimestamp: null, lastTimestamp: null })
    assert.deepEqual(byTime.fundingPeriodDataPoints, [])
    assert.deepEqual(byTime.liquidityProviders, SAMPLE_COVERAGE.liquidityProviders)
  })
})

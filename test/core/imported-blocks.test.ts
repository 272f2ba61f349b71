import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { fundingPeriodDataPoints } from '#core/resources/funding-period-data-points/description'
import { fundingPeriods } from '#core/resources/funding-periods/description'
import { liquidityProviders } from '#core/resources/liquidity-providers/description'
import { RESOURCES } from '#core/resources/resources'
import type { CoverageBody } from '#service/questions/coverage-body'
import { decodeStreamCursor } from '#service/streams/stream-cursor'
import { describeStatus } from '#tools/cli/describe-status'
import { describeVerification } from '#tools/cli/describe-verification'
import { statusOfService } from '#tools/status/service-status'
import { statusOfStore } from '#tools/status/status'
import { assertProperty } from '../fixtures/assert-property.ts'
import {
  dataPoint,
  fileOf,
  idOf,
  MARKET,
  type MadeBlock,
  marketData,
  partOf,
  provision,
  readRecording,
} from '../fixtures/events/event-stream.ts'
import {
  contentsOf,
  heights,
  imports,
  range,
  streamOf,
  withoutAnEvent,
} from '../fixtures/events/random-streams.ts'
import { blocksOf, importBlocks } from '../fixtures/imports/import-blocks.ts'
import { getJson, statusOf } from '../fixtures/requests/http.ts'
import { listen } from '../fixtures/requests/listen.ts'
import { runsOf } from '../fixtures/sampling.ts'
import { inScope } from '../fixtures/scope.ts'
import { copied, ingest, serve, tryIngest } from '../fixtures/services/service.ts'
import { ETH, recorded, SAMPLE } from '../fixtures/shared.ts'
import { checkWithFiles, problemsOf } from '../fixtures/stores/check.ts'
import { StreamFollower } from '../fixtures/stores/follow-store.ts'
import {
  ANY_STORE_KIND,
  describeOn,
  openStore,
  runSql,
  STORE_KINDS,
  type StoreKind,
} from '../fixtures/stores/stores.ts'
import { verifyStored } from '../fixtures/stores/verify.ts'
import { until } from '../fixtures/until.ts'

/** The steps on a store before all events are ingested. */
type Step =
  | { do: 'import'; from: number; to: number; blocksOfCommit: number; commits: number }
  | { do: 'ingest'; from: number; to: number }
  | { do: 'ingest incomplete'; height: number }

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    imports.map((options): Step => ({ do: 'import', ...options })),
    range.map(({ from, to }): Step => ({ do: 'ingest', from, to })),
    heights.map((height): Step => ({ do: 'ingest incomplete', height })),
  ),
  { minLength: 1, maxLength: 6 },
)

async function take(store: string, blocks: MadeBlock[], step: Step): Promise<void> {
  if (step.do === 'import') {
    const { from, to, blocksOfCommit, commits } = step
    await importBlocks(store, blocksOf(fileOf(...blocks)), {
      from: BigInt(from),
      to: BigInt(to),
      blocksOfCommit,
      commits,
    })
    return
  }
  const some =
    step.do === 'ingest'
      ? blocks.filter(({ height }) => height >= step.from && height <= step.to)
      : blocks.filter(({ height }) => height === step.height).map(withoutAnEvent)
  await tryIngest(store, fileOf(...some), { allowGap: true })
}

describeOn(STORE_KINDS, 'imported history', (kind) => {
  test('is streamed with ids that lie outside of its blocks, which are whole for every store', async (t) => {
    const base = await serve(t, await halfImported(t, kind))
    const path = `/api/v2/stream/funding-period-data-points?marketId=${ETH}&afterBlock=0`
    const listener = await listen(base, path)
    t.after(listener.cut)
    const tailOf = (id: string) => decodeStreamCursor(fundingPeriodDataPoints, { marketId: ETH }, id)!.tail
    await until(() => listener.id !== '' && tailOf(listener.id).height === 906n, 'the end')
    const tails = listener.events.flatMap(({ id }) => (id === '' ? [] : [tailOf(id)]))
    assert.ok(new Set(tails.map(({ height, index }) => `${height}-${index}`)).size > 400)
    assert.ok(tails.some(({ index }) => index > 0))
    for (const { height, index } of tails) if (height <= 450n) assert.equal(index, 0)
  })

  test('reaches followers, as do the events of other blocks, wherever reads are cut off', async () => {
    const cuts = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 6, maxLength: 6 })
    await assertProperty(
      fc.asyncProperty(streamOf(contentsOf(true)), steps, cuts, (blocks, list, lengths) =>
        inScope(async (scope) => {
          const store = kind.create(scope)
          const followers = RESOURCES.flatMap((resource) => {
            const ofMarkets = [MARKET, idOf('9')].map((marketId) => ({ marketId }))
            const selections = [
              ...(resource.required.stream === undefined ? [{}] : []),
              ...(resource.scope === null && resource.required.stream === undefined ? [] : ofMarkets),
            ]
            return selections.map((selection) => new StreamFollower(store, resource, selection))
          })
          const look = async (most?: number) => {
            for (const follower of followers) await follower.look(most)
          }
          for (const [index, step] of list.entries()) {
            await take(store, blocks, step)
            await look(lengths[index])
            if (lengths[index]! % 2 === 0) continue
            await look()
            for (const follower of followers) assert.deepEqual(await follower.missing(), [], step.do)
          }
          await ingest(store, fileOf(...blocks), { allowGap: true })
          await look(3)
          await look()
          for (const follower of followers) assert.deepEqual(await follower.missing(), [])
        }),
      ),
      { numRuns: runsOf('store', kind), seed: 1 },
    )
  })

  test('reaches followers that were cut off within an incomplete block, once it is complete', async (t) => {
    const store = kind.create(t)
    const follower = new StreamFollower(store, fundingPeriodDataPoints, { marketId: MARKET })
    const [first, corrected, second, third] = [
      dataPoint({ timestamp: 1, twap: '1' }),
      dataPoint({ timestamp: 1, twap: '2' }),
      dataPoint({ timestamp: 2 }),
      dataPoint({ timestamp: 3 }),
    ]
    const blocks: MadeBlock[] = [
      { height: 59, events: [first!, corrected!, second!] },
      { height: 60, events: [third!] },
    ]
    await tryIngest(store, fileOf(withoutAnEvent(blocks[0]!), blocks[1]!), { allowGap: true })
    await follower.look(2)
    assert.equal(follower.sent.size, 2)
    await ingest(store, fileOf(...blocks))
    await follower.look()
    assert.deepEqual(await follower.missing(), [])
  })

  test('and a provider whose provision was imported from before all blocks, once its event is stored', async (t) => {
    const store = kind.create(t)
    const follower = new StreamFollower(store, liquidityProviders, { marketId: MARKET })
    const [provided, ...rest] = [
      { height: 62, events: [provision()] },
      { height: 63, events: [marketData()] },
      { height: 64 },
    ]
    await ingest(store, fileOf(rest[0]!))
    await follower.look()
    await importBlocks(store, blocksOf(fileOf(provided!, ...rest)), { from: 63n, to: 64n })
    await follower.look()
    assert.equal(follower.sent.size, 0)
    await ingest(store, fileOf(provided!, ...rest))
    await follower.look()
    assert.equal(follower.sent.size, 1)
    assert.deepEqual(await follower.missing(), [])
  })
})

/** A store of the sample whose first blocks are imported, the others ingested from events. */
function halfImported(test: TestContext, kind: StoreKind, path = SAMPLE, to = 450): Promise<string> {
  return copied(test, kind, `${path} ${to}`, async (scope) => {
    const store = kind.create(scope)
    await importBlocks(store, blocksOf(readRecording(path)), { from: 1n, to: BigInt(to) })
    await ingest(
      store,
      partOf(path, (height) => height > to),
    )
    return store
  })
}

describeOn(STORE_KINDS, 'a store with imported blocks', (kind) => {
  test('reports them in coverage and status, and is ready', async (t) => {
    const store = await halfImported(t, kind)
    const base = await serve(t, store)
    const { coverage } = await getJson<CoverageBody>(base, '/api/v2/coverage')
    assert.deepEqual(coverage.blocks.ranges, [{ from: '451', to: '905' }])
    assert.deepEqual(coverage.blocks.imported, [{ from: '1', to: '450' }])
    assert.deepEqual(coverage.blocks.gaps, [])
    assert.equal(await statusOf(base, '/ready'), 200)
    const [ofStore, ofService] = [await statusOfStore(openStore(store)), await statusOfService(base)]
    assert.deepEqual(ofService.coverage, ofStore.coverage)
    for (const report of [ofStore, ofService]) {
      assert.match(describeStatus(report), /imported blocks +1 to 450\n.*import the other blocks\n/)
    }
  })

  test('names what an import has not brought; followers get it once it has', async (t) => {
    const store = await halfImported(t, kind)
    await runSql(store, "update imported set lacks = 'fundingPeriods marketData'")
    const base = await serve(t, store)
    const { coverage } = await getJson<CoverageBody>(base, '/api/v2/coverage')
    assert.deepEqual(coverage.blocks.imported, [
      { from: '1', to: '450', lacks: ['fundingPeriods', 'marketData'] },
    ])
    for (const report of [await statusOfStore(openStore(store)), await statusOfService(base)])
      assert.match(describeStatus(report), /^marketData +not imported in blocks 1 to 450: .* run it again$/m)
    const follower = new StreamFollower(store, fundingPeriods, { marketId: ETH })
    await follower.look()
    const missing = await follower.missing()
    assert.ok(missing.length > 0 && follower.sent.size > 0, `${missing.length} of ${follower.sent.size}`)
    await runSql(store, "update imported set lacks = ''")
    await follower.look()
    assert.deepEqual(await follower.missing(), [])
    assert.deepEqual(
      [...follower.sent.values()],
      Array.from(follower.sent, () => 1),
    )
  })

  test('has unknown TWAPs and payments, and none that differ', async (t) => {
    const report = await verifyStored(await halfImported(t, kind, recorded('perps-long-named'), 800))
    assert.equal(report.dataPoints.differ + report.closingTwaps.differ + report.openingTwaps.differ, 0)
    assert.equal(report.funding.paidPeriods.differ, 0)
    assert.ok(report.unknownReasons.imported! > 500, JSON.stringify(report.unknownReasons))
    assert.ok(report.dataPoints.agree > 1_000)
    assert.ok(report.funding.unknownReasons.imported! > 10)
    assert.match(
      describeVerification(report, 'running-sum'),
      /unknown: [\d,]+, cannot be checked: .*imported/,
    )
  })
})

const damages: [what: string, sql: string, found: RegExp][] = [
  [
    'ranges that overlap',
    "insert into imported values (400, 420, '')",
    /imported \(400\): it begins at or before|imported/,
  ],
  [
    'a range above the last block',
    "insert into imported values (900, 910, '')",
    /beyond the last block, 905/,
  ],
  ['a range below the first block', 'update imported set from_height = 0', /before the first block, 1/],
  ['a range that ends before it begins', "insert into imported values (600, 599, '')", /before it begins/],
  [
    'a range within a gap',
    "insert into gaps values (10, 12, 'missing', null, null)",
    /blocks, 10 to 12, are recorded as a gap/,
  ],
  [
    'a row of block 0 with an index',
    'update funding_periods set height = 0, event_index = 3 where height = 450 or height = 449 or height < 300',
    /it comes from block 0/,
  ],
]
const changes: [what: string, sql: string, found: RegExp][] = [
  [
    'another price',
    "update funding_period_data_points set price = '1' where height = 300",
    /price is "1" in the store and/,
  ],
  [
    'a time that is no rounded time of an event',
    `update funding_period_data_points set timestamp = timestamp - 1000 where height = 300`,
    /only in the store \(block 300, /,
  ],
  [
    'another status',
    'update liquidity_provisions set status = 3 where height <= 450',
    /status is "3" in the store and/,
  ],
]
for (const kind of ANY_STORE_KIND) {
  test(`damage to imported blocks is found by the check, with event files or without (${kind.name})`, async (t) => {
    const told = (problems: readonly { where: string; what: string }[]) =>
      problems.map(({ where, what }) => `${where}: ${what}`).join('\n')
    for (const [what, sql, found] of damages) {
      const store = await halfImported(t, kind)
      await runSql(store, sql)
      assert.match(told(await problemsOf(store)), found, what)
    }
    for (const [what, sql, found] of changes) {
      const store = await halfImported(t, kind)
      await runSql(store, sql)
      assert.match(told((await checkWithFiles(store, SAMPLE)).told), found, what)
    }
  })
}

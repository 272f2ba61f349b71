import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import type { MarketEvent } from '#core/events/event'
import { liquidityProviders } from '#core/resources/liquidity-providers/description'
import { assertProperty } from '../fixtures/assert-property.ts'
import { partOf, recordsOf } from '../fixtures/events/event-stream.ts'
import { isEarlier, positionsAfter } from '../fixtures/models/provider-model.ts'
import { restoreOldStore } from '../fixtures/old-stores/old-store.ts'
import { runsOf } from '../fixtures/sampling.ts'
import { inScope } from '../fixtures/scope.ts'
import { startLyra } from '../fixtures/services/program.ts'
import { ingest } from '../fixtures/services/service.ts'
import { recorded } from '../fixtures/shared.ts'
import { checkWithFiles } from '../fixtures/stores/check.ts'
import { dumpStore } from '../fixtures/stores/dump-store.ts'
import { StreamFollower } from '../fixtures/stores/follow-store.ts'
import {
  createLiveStore,
  LIVE_MARKET,
  type LiveBlock,
  marketData,
  openLiveStore,
  provision,
} from '../fixtures/stores/live-store.ts'
import { describeOn, fileWith, openStore, runSql, STORE_KINDS, settle } from '../fixtures/stores/stores.ts'

const PROVIDERS = recorded('four-providers')
const NO_FIGURES = {
  timestamp: 0n,
  markPrice: '',
  openInterest: 0n,
  state: 0,
  tradingMode: 0,
  isMalformed: false,
}
const NO_PERPETUAL = {
  fundingPayment: null,
  fundingRate: null,
  internalTwap: null,
  externalTwap: null,
  start: 0n,
}
const SELECTION = { marketId: LIVE_MARKET }

type PartyProvision = [id: string, party: string]

/** Provisions of parties, which they stay with; one party has several. */
const PROVISIONS: PartyProvision[] = [
  ['b', 'b'],
  ['c', 'b'],
  ['e', 'b'],
  ['f', 'b'],
  ['d', 'd'],
]

/** As no core sends them: two go from one party to another. */
const MOVING_PROVISIONS: PartyProvision[] = [...PROVISIONS, ['c', 'd'], ['d', 'b']]

const provisionEvent = (provisions: PartyProvision[]) =>
  fc.tuple(fc.constantFrom(...provisions), fc.constantFrom(1, 1, 2, 3) as fc.Arbitrary<1>).map(
    ([[id, party], status]): MarketEvent => ({
      kind: 'liquidity-provision',
      provisionId: id.repeat(64),
      marketId: LIVE_MARKET,
      partyId: party.repeat(64),
      status,
    }),
  )

const listEvent = fc
  .dictionary(fc.constantFrom('b', 'd'), fc.constantFrom('0.1', '0.2'))
  .map((shares): MarketEvent => marketData(LIVE_MARKET, shares))

/** The first block's height: the next ones have more digits. */
const FIRST = 7

/** Few blocks with few different values, so that rows often become again what they were. */
const stream = (provisions = PROVISIONS) =>
  fc
    .array(fc.array(fc.oneof(provisionEvent(provisions), listEvent, listEvent), { maxLength: 3 }), {
      minLength: 3,
      maxLength: 8,
    })
    .map((blocks) => blocks.map((events, at): LiveBlock => ({ height: at + FIRST, events })))

/** Market data with an estimate for the period of this seq. */
function estimating(event: ReturnType<typeof marketData>, seq: bigint): MarketEvent {
  const perpetual = { ...NO_PERPETUAL, seq }
  return { ...event, figures: { ...NO_FIGURES, perpetual } }
}

/** The positions of a store's providers, by market and party. */
async function positionsIn(store: string): Promise<Map<string, readonly [number, number]>> {
  const { liquidity_providers: rows } = await dumpStore(store, true)
  return new Map(
    rows!.map((row) => {
      const cells = JSON.parse(row) as string[]
      return [`${cells[0]} ${cells[1]}`, [Number(cells.at(-2)), Number(cells.at(-1))] as const]
    }),
  )
}

const sorted = <Value>(map: ReadonlyMap<string, Value>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1))

describeOn(STORE_KINDS, 'positions of providers', (kind) => {
  test('are those of the latest event that changed what is shown, whatever blocks are committed together', async () => {
    const cuts = fc.array(fc.integer({ min: FIRST, max: FIRST + 7 }), { maxLength: 4 })
    await assertProperty(
      fc.asyncProperty(stream(), cuts, (blocks, ends) =>
        inScope(async (scope) => {
          const expected = sorted(positionsAfter(blocks))
          for (const edges of [[], blocks.map(({ height }) => height), ends]) {
            const store = kind.create(scope)
            let part: LiveBlock[] = []
            for (const block of blocks) {
              part.push(block)
              if (!edges.includes(block.height) && block !== blocks.at(-1)) continue
              // A new writer, as after a kill: it knows only what the store has.
              await inScope(async (one) => (await openLiveStore(one, store)).commitAll(part))
              part = []
            }
            assert.deepEqual(sorted(await positionsIn(store)), expected, `commits end at ${edges}`)
          }
        }),
      ),
      { numRuns: 2 * runsOf('change', kind), seed: 1 },
    )
  })

  test('are the same if hundreds of data of a market are committed together, and so is the highest seq', async () => {
    const shares = fc.dictionary(fc.constantFrom('b', 'd', 'e'), fc.constantFrom('0.1', '0.2', '0.3'))
    const phase = fc.record({
      data: fc.array(fc.tuple(shares, fc.bigInt({ min: 1n, max: 5n })), { minLength: 1, maxLength: 3 }),
      times: fc.integer({ min: 1, max: 60 }),
    })
    await assertProperty(
      fc.asyncProperty(fc.array(phase, { minLength: 4, maxLength: 8 }), (phases) =>
        inScope(async (scope) => {
          const data = phases.flatMap((phase) => Array.from({ length: phase.times }, () => phase.data).flat())
          const events = data.map(([shares, seq]) => estimating(marketData(LIVE_MARKET, shares), seq))
          const blocks = events.map((event, at): LiveBlock => ({ height: at + FIRST, events: [event] }))
          const [together, apart] = [await createLiveStore(scope, kind), await createLiveStore(scope, kind)]
          await together.live.commitAll(blocks)
          for (let at = 0; at < blocks.length; at += 20) await apart.live.commitAll(blocks.slice(at, at + 20))
          assert.deepEqual(sorted(await positionsIn(together.store)), sorted(positionsAfter(blocks)))
          const [of, other] = [await dumpStore(together.store, true), await dumpStore(apart.store, true)]
          assert.deepEqual(of.market_data, other.market_data)
        }),
      ),
      { numRuns: runsOf('change', kind), seed: 1 },
    )
  })

  test('never go back and are never too early in whatever order blocks arrive, and no follower misses a row, at any store', async () => {
    const order = fc.array(fc.nat(), { minLength: 8, maxLength: 8 })
    const looks = fc.array(fc.boolean(), { minLength: 8, maxLength: 8 })
    await assertProperty(
      fc.asyncProperty(
        stream(MOVING_PROVISIONS),
        order,
        looks,
        fc.nat({ max: 7 }),
        (blocks, by, isLooking, change) =>
          inScope(async (scope) => {
            const [{ store, live }, inOrder] = [
              await createLiveStore(scope, kind),
              await createLiveStore(scope, kind),
            ]
            for (const block of blocks) await inOrder.live.commitAll([block])
            const arriving = blocks.toSorted(
              (a, b) => by[a.height - FIRST]! - by[b.height - FIRST]! || a.height - b.height,
            )
            const follower = new StreamFollower(store, liquidityProviders, SELECTION)
            const leaving = new StreamFollower(store, liquidityProviders, SELECTION)
            let before = await positionsIn(store)
            for (const [at, block] of arriving.entries()) {
              await live.commitAll([block])
              const now = await positionsIn(store)
              for (const [key, position] of now) {
                const known = before.get(key)
                assert.ok(
                  known === undefined || !isEarlier(position, known),
                  `block ${block.height}: ${position}`,
                )
              }
              before = now
              if (isLooking[at]) await follower.look()
              if (isLooking[at] && at <= change) await leaving.look()
            }
            for (const [key, position] of positionsAfter(blocks))
              assert.ok(!isEarlier(before.get(key)!, position), `${before.get(key)} is before ${position}`)
            await follower.look()
            assert.deepEqual(await follower.missing(), [], 'at its own store')
            leaving.goTo(inOrder.store)
            await leaving.look()
            assert.deepEqual(await leaving.missing(), [], 'at a store made in order')
          }),
      ),
      { numRuns: 4 * runsOf('change', kind), seed: 1 },
    )
  })

  test('depend on all provisions of a party, however many are over', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    const ended = (id: string): MarketEvent => ({
      ...provision(LIVE_MARKET, 'b'),
      provisionId: id.repeat(64),
      status: 3,
    })
    const commit = async (height: number, ...events: MarketEvent[]) => {
      await live.commitAll([{ height, events }])
      return [...(await positionsIn(store)).values()]
    }
    await commit(7, provision(LIVE_MARKET, 'b'), marketData(LIVE_MARKET, { b: '0.1' }))
    for (const [at, id] of ['c', 'd', 'e'].entries()) await commit(8 + at, ended(id))
    assert.deepEqual(
      await commit(20, { ...provision(LIVE_MARKET, 'b'), provisionId: 'f'.repeat(64) }),
      [[7, 3]],
      'shown already',
    )
    await commit(30, ended('b'))
    await commit(31, ended('f'))
    // Nobody knows whether it showed the party at that time.
    assert.deepEqual(await commit(29, ended('a')), [[31, 2]])
  })

  test('are the same after an ingestion that was killed again and again', async (t) => {
    const whole = kind.create(t)
    await ingest(
      whole,
      partOf(PROVIDERS, () => true),
    )
    const expected = sorted(await positionsIn(whole))
    for (let run = 0; run < runsOf('process', kind); run++) {
      const store = kind.create(t)
      for (let kill = 0; kill < 3; kill++) {
        const { child, outcome } = startLyra(t, ['ingest', '--store', store, PROVIDERS])
        await Promise.race([outcome, sleep(350 + 60 * kill + 37 * run)])
        child.kill('SIGKILL')
        await outcome
        await settle(kind, store)
      }
      await ingest(
        store,
        partOf(PROVIDERS, () => true),
      )
      assert.deepEqual(sorted(await positionsIn(store)), expected)
    }
  })

  test('of an older version that are too early are a note of the check with files, and those of today a problem', async (t) => {
    const old = await restoreOldStore(t, kind, 'store-providers')
    await openStore(old).migrate()
    const before = await checkWithFiles(old, PROVIDERS)
    assert.deepEqual(before.told, [])
    assert.match(
      before.notes.join('\n'),
      /4 liquidity providers have positions of an earlier version of Lyra, .* ingest the event files into a new store/,
    )
    await runSql(old, 'update old_positions set height = 201')
    const { told, notes } = await checkWithFiles(old, PROVIDERS)
    assert.deepEqual([told.length, notes.join('\n').includes('earlier version')], [4, false])
    assert.match(
      told[0]!.what,
      /^its position, block 1, event \d+, is before that of its last change in the files, block 202, event \d+$/,
    )
  })

  test('that are later than the files give are no problem, and those of stores of today are right', async (t) => {
    const store = kind.create(t)
    const [early, late] = [
      partOf(PROVIDERS, (height) => height < 100),
      partOf(PROVIDERS, (height) => height >= 100),
    ]
    for (const part of [late, early]) await ingest(store, part, { allowGap: true })
    assert.deepEqual((await checkWithFiles(store, PROVIDERS)).told, [])
    const last = recordsOf(late).at(-1)!.height
    await runSql(store, `update liquidity_providers set height = ${last}, event_index = 1000`)
    const { told, notes } = await checkWithFiles(store, PROVIDERS)
    assert.deepEqual([told, notes.filter((note) => note.includes('position'))], [[], []])
  })

  test('are compared only where both have all blocks before', async (t) => {
    const store = kind.create(t)
    await ingest(
      store,
      partOf(PROVIDERS, () => true),
    )
    await runSql(store, 'update liquidity_providers set height = 1')
    const part = fileWith(
      t,
      partOf(PROVIDERS, (height) => height > 1),
    )
    assert.deepEqual((await checkWithFiles(store, part)).told, [])
    assert.equal((await checkWithFiles(store, PROVIDERS)).told.length, 4)
  })
})

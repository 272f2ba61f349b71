import assert from 'node:assert/strict'
import { copyFileSync, readFile, renameSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { fundingPeriodDataPoints } from '#core/resources/funding-period-data-points/description'
import type { Freshness, PageQuery } from '#core/store/pages/page'
import type { Reader } from '#core/store/store'
import { send } from '../../fixtures/requests/http.ts'
import {
  createLiveStore,
  LIVE_MARKET,
  type LiveStore,
  pointAt,
  serveLive,
} from '../../fixtures/stores/live-store.ts'
import { openReader, runSql, SQLITE } from '../../fixtures/stores/stores.ts'

const EDIT = "update funding_period_data_points set price = '7'"

/** A store with a point, and the reader that asks. */
type Asked = { store: string; live: LiveStore; reader: Reader }

const NEWEST: PageQuery = {
  resource: fundingPeriodDataPoints,
  selection: { marketId: LIVE_MARKET },
  descending: true,
  cursor: null,
  limit: 1,
}

/** Waits for another round of the event loop, in which nothing is known of the one before. */
const nextRound = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

type Case = { change(asked: Asked): Promise<unknown>; changed: Freshness['changed'] }

const CASES: Record<string, Case> = {
  'are none if nothing was written': { change: async () => {}, changed: [] },
  'are those that a commit notes': {
    change: ({ live }) => live.commit(2, [{ kind: 'checkpoint', hash: 'a', blockHash: 'b', atBlock: 2n }]),
    changed: [{ resource: 'checkpoints', scope: null }],
  },
  'are none after series were built': {
    change: ({ live }) => live.buildSeries(),
    changed: [],
  },
  'are unknown after another program has written': {
    change: ({ store }) => runSql(store, EDIT),
    changed: null,
  },
  'are unknown then also if somebody else has asked since': {
    change: async ({ store, reader }) => {
      await runSql(store, EDIT)
      await reader.freshness(null)
    },
    changed: null,
  },
}

describe("whether anything has changed since a reader's last answer, on SQLite", () => {
  for (const [name, { change }] of Object.entries(CASES)) {
    test(`changes ${name}: this is known at once`, async (t) => {
      const { store, live } = await createLiveStore(t, SQLITE)
      await live.commit(1, [pointAt(1)])
      const reader = await openReader(t, store)
      const freshness = await reader.freshness(null)
      await nextRound()
      await change({ store, live, reader })
      await nextRound()
      const isUnchanged = name === 'are none if nothing was written'
      assert.equal(reader.unchangedFreshness!(freshness.version) !== null, isUnchanged)
      // A version that the reader has not returned says nothing.
      assert.equal(reader.unchangedFreshness!({ ...freshness.version }), null)
    })
  }

  test('a commit of another process is seen by a request that arrives after it, also if the state was read at the end of a round', async (t) => {
    const { store, live } = await createLiveStore(t, SQLITE)
    await live.commit(1, [pointAt(1)])
    const reader = await openReader(t, store)
    const other = new DatabaseSync(store)
    t.after(() => other.close())
    for (let time = 0; time < 3; time++) {
      // Work of a queue is done in this phase; what arrives is read in the next one.
      await new Promise((resolve) => setImmediate(resolve))
      const { version } = await reader.freshness(null)
      assert.notEqual(reader.unchangedFreshness!(version), null)
      other.exec(`update funding_period_data_points set price = '${time + 10}'`)
      await new Promise((resolve) => readFile(store, resolve))
      assert.equal(reader.unchangedFreshness!(version), null)
    }
  })

  test('a store that was removed or replaced is not taken for unchanged', async (t) => {
    const { store, live } = await createLiveStore(t, SQLITE)
    await live.commit(1, [pointAt(1)])
    const reader = await openReader(t, store)
    const { version } = await reader.freshness(null)
    copyFileSync(store, `${store}.copy`)
    await nextRound()
    assert.notEqual(reader.unchangedFreshness!(version), null)
    rmSync(store)
    await nextRound()
    assert.equal(reader.unchangedFreshness!(version), null)
    renameSync(`${store}.copy`, store)
    assert.equal(reader.unchangedFreshness!(version), null)
  })
})

test('once another connection sees a commit, no answer is from before it, on SQLite', async (t) => {
  const { store, live, base } = await serveLive(t, SQLITE!, [pointAt(1)], { inThreads: true })
  const second = await openReader(t, store)
  const target = `/api/v2/funding-periods/data-points/${LIVE_MARKET}?pagination.first=1`
  const priceIn = async () => /"price":"(\d+)"/.exec((await send(base, target)).text)![1]
  for (let height = 2; height < 60; height++) {
    // Cached twice over: its own commits, and those that record no changes.
    await Promise.all([priceIn(), priceIn()])
    if (height % 3 === 0) await runSql(store, `update funding_period_data_points set price = '${height}'`)
    else await live.commit(height, [{ ...pointAt(height), price: String(height) }])
    const { rows } = await second.page(NEWEST)
    assert.ok(rows[0]!.includes(String(height)))
    assert.equal(await priceIn(), String(height))
  }
})

describe("the changes since a reader's last answer, on SQLite", () => {
  for (const [name, { change, changed }] of Object.entries(CASES)) {
    test(name, async (t) => {
      const { store, live } = await createLiveStore(t, SQLITE)
      await live.commit(1, [pointAt(1), { ...pointAt(1), marketId: LIVE_MARKET, source: 2 }])
      const reader = await openReader(t, store)
      const { version } = await reader.freshness(null)
      await change({ store, live, reader })
      const found = await reader.freshness(version)
      assert.deepEqual(found.changed, changed)
      // What follows is known again.
      assert.deepEqual((await reader.freshness(found.version)).changed, [])
    })
  }
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Freshness } from '#core/store/pages/page'
import type { Reader } from '#core/store/store'
import { createLiveStore, LIVE_MARKET, type LiveStore, pointAt } from './fixtures/live-store.ts'
import { openReader, runSql, SQLITE } from './fixtures/stores.ts'

const EDIT = "update funding_period_data_points set price = '7'"

/** A store with a point, and the reader that asks. */
type Asked = { store: string; live: LiveStore; reader: Reader }

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

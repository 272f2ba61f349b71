import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { MarketEvent, ProvisionStatus } from '#core/events/event'
import { getPage } from './fixtures/http.ts'
import { type Listener, listen } from './fixtures/listen.ts'
import { createLiveStore } from './fixtures/live-store.ts'
import { serve } from './fixtures/service.ts'
import { STORE_KINDS } from './fixtures/stores.ts'
import { until } from './fixtures/until.ts'

const MARKET = 'a'.repeat(64)
const PARTY = 'b'.repeat(64)

const share = (equityLikeShare: string): MarketEvent => ({
  kind: 'market-data',
  figures: null,
  marketId: MARKET,
  feeShares: [
    { party: PARTY, equityLikeShare, averageEntryValuation: '', averageScore: '', virtualStake: '' },
  ],
  slas: [],
})

const provision = (status: ProvisionStatus): MarketEvent => ({
  kind: 'liquidity-provision',
  provisionId: 'c'.repeat(64),
  marketId: MARKET,
  partyId: PARTY,
  status,
})

const sharesOf = (listener: Listener) =>
  listener.events.map(
    ({ data }) => (JSON.parse(data) as { feeShare: { equityLikeShare: string } }).feeShare.equityLikeShare,
  )

for (const kind of STORE_KINDS) {
  describe(`a provider's row (${kind.name})`, () => {
    const cases: [what: string, blocks: [height: number, events: MarketEvent[]][]][] = [
      [
        'in the same block, before a provision that shows the party again',
        [
          [1, [share('0.1')]],
          [2, [share('0.2'), provision(1)]],
        ],
      ],
      [
        'in a block that arrives after a later one, which shows the party again',
        [
          [1, [share('0.1')]],
          [3, [provision(1)]],
          [2, [share('0.2')]],
        ],
      ],
      [
        'in a block before the one that shows the party, which arrives later',
        [
          [1, [share('0.1')]],
          [3, [share('0.2')]],
          [2, [provision(1)]],
        ],
      ],
    ]
    for (const [what, blocks] of cases) {
      test(`has the figures of the latest list ${what}, and is sent to followers`, async (t) => {
        const { store, live } = await createLiveStore(t, kind)
        const [[first, events], ...later] = blocks as [(typeof blocks)[number], ...typeof blocks]
        await live.commit(first, events)
        const base = await serve(t, store)
        const listener = await listen(base, `/api/v2/stream/liquidity-providers?marketId=${MARKET}`)
        for (const [height, list] of later) await live.commit(height, list)
        const page = await getPage(base, '/api/v2/liquidity/providers', [['marketId', MARKET]])
        assert.deepEqual(
          page.edges.map(({ node }) => (node.feeShare as { equityLikeShare: string }).equityLikeShare),
          ['0.2'],
        )
        await until(() => sharesOf(listener).at(-1) === '0.2', 'the latest figures')
        listener.cut()
      })
    }
  })
}

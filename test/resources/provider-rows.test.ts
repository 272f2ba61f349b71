import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MarketEvent } from '#core/events/event'
import { liquidityProviders } from '#core/resources/liquidity-providers/description'
import { assertSays } from '../fixtures/assert-says.ts'
import { StreamFollower } from '../fixtures/stores/follow-store.ts'
import { createLiveStore, LIVE_MARKET, marketData, provision } from '../fixtures/stores/live-store.ts'
import { describeOn, STORE_KINDS } from '../fixtures/stores/stores.ts'

/** The market's list, with the party's share. */
const share = (equityLikeShare: string) => marketData(LIVE_MARKET, { b: equityLikeShare })

/** The party's provision. */
const provided = provision(LIVE_MARKET, 'b')

describeOn(STORE_KINDS, "a provider's row", (kind) => {
  const cases: [what: string, blocks: [height: number, events: MarketEvent[]][]][] = [
    [
      'in a block before the one that shows the party',
      [
        [1, [share('0.2')]],
        [2, [provided]],
      ],
    ],
    [
      'in the same block, before a provision that shows the party again',
      [
        [1, [share('0.1')]],
        [2, [share('0.2'), provided]],
      ],
    ],
    [
      'in a block that arrives after a later one, which shows the party again',
      [
        [1, [share('0.1')]],
        [3, [provided]],
        [2, [share('0.2')]],
      ],
    ],
    [
      'in a block before the one that shows the party, which arrives later',
      [
        [1, [share('0.1')]],
        [3, [share('0.2')]],
        [2, [provided]],
      ],
    ],
  ]
  for (const [what, blocks] of cases) {
    test(`has the figures of the latest list ${what}, and is sent to followers`, async (t) => {
      const { store, live } = await createLiveStore(t, kind)
      const follower = new StreamFollower(store, liquidityProviders, { marketId: LIVE_MARKET })
      for (const [height, events] of blocks) {
        await live.commit(height, events)
        await follower.look()
        assert.deepEqual(await follower.missing(), [], `block ${height}`)
      }
      assertSays([...follower.sent.keys()].at(-1)!, '"equityLikeShare":"0.2"')
    })
  }
})

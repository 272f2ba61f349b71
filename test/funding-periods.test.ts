import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { FundingPeriodEvent } from '#core/events/event'
import { getPage } from './fixtures/http.ts'
import { LIVE_MARKET, openLiveStore, periodEvent } from './fixtures/live-store.ts'
import { inScope } from './fixtures/scope.ts'
import { serve } from './fixtures/service.ts'
import { STORE_KINDS, type StoreKind } from './fixtures/stores.ts'

const period = (fields: Partial<FundingPeriodEvent>) => periodEvent({ start: 100n, ...fields })

/** Every order of the given values. */
function ordersOf<T>(values: readonly T[]): T[][] {
  if (values.length <= 1) return [[...values]]
  return values.flatMap((value, index) =>
    ordersOf(values.toSpliced(index, 1)).map((others) => [value, ...others]),
  )
}

/** The periods in a service's answer, oldest first, for every order in which blocks may arrive. */
async function periodsInEveryOrder(
  kind: StoreKind,
  blocks: Record<number, FundingPeriodEvent[]>,
  check: (nodes: Record<string, unknown>[]) => void,
): Promise<void> {
  for (const order of ordersOf(Object.keys(blocks).map(Number))) {
    await inScope(async (scope) => {
      const store = kind.create(scope)
      const live = await openLiveStore(scope, store)
      for (const height of order) await live.commit(height, blocks[height]!)
      const base = await serve(scope, store)
      const page = await getPage(
        base,
        `/api/v2/funding-periods/${LIVE_MARKET}`,
        'pagination.newestFirst=false',
      )
      check(page.edges.map(({ node }) => node))
    })
  }
}

for (const kind of STORE_KINDS) {
  describe(`funding periods (${kind.name}), in any order of their blocks`, () => {
    test('have the start of the earliest event, and all else from the latest', async () => {
      const blocks = {
        5: [period({ start: 100n, internalTwap: '1' })],
        6: [period({ start: 90n, internalTwap: '2', externalTwap: '3' })],
        7: [period({ start: 110n, end: 200n, fundingPayment: '-4', fundingRate: '-0.5', internalTwap: '6' })],
      }
      await periodsInEveryOrder(kind, blocks, (nodes) =>
        assert.deepEqual(nodes, [
          {
            ...{ marketId: LIVE_MARKET, seq: '1', start: '100', end: '200' },
            ...{ fundingPayment: '-4', fundingRate: '-0.5', internalTwap: '6' },
          },
        ]),
      )
    })

    test('have null for fields unset in the latest event, even if an earlier one set them', async () => {
      const blocks = {
        5: [period({ end: 1n, fundingPayment: '1', fundingRate: '1', internalTwap: '1', externalTwap: '1' })],
        9: [period({ start: 3n })],
      }
      await periodsInEveryOrder(kind, blocks, (nodes) =>
        assert.deepEqual(nodes, [{ marketId: LIVE_MARKET, seq: '1', start: '100' }]),
      )
    })

    test('of one block follow its first and its last event', async () => {
      const blocks = {
        5: [
          period({ start: 7n, internalTwap: '1' }),
          period({ start: 8n, internalTwap: '2', externalTwap: '2' }),
          period({ start: 9n, internalTwap: '3' }),
        ],
      }
      await periodsInEveryOrder(kind, blocks, (nodes) =>
        assert.deepEqual(nodes, [{ marketId: LIVE_MARKET, seq: '1', start: '7', internalTwap: '3' }]),
      )
    })

    test('are sorted by start, then by seq', async () => {
      const blocks = {
        5: [period({ seq: 3n, start: 50n }), period({ seq: 2n, start: 60n })],
        6: [
          period({ seq: 10n, start: 50n }),
          period({ seq: 9n, start: 50n }),
          period({ seq: 1n, start: -5n }),
        ],
        // Later events move no period: 2 still starts at 60.
        7: [period({ seq: 2n, start: 10n }), period({ seq: 4n, start: 60n })],
      }
      await periodsInEveryOrder(kind, blocks, (nodes) =>
        assert.deepEqual(
          nodes.map(({ start, seq }) => `${start as string} ${seq as string}`),
          ['-5 1', '50 3', '50 9', '50 10', '60 2', '60 4'],
        ),
      )
    })
  })
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MarketEvent } from '#core/events/event'
import { defineResource } from '#core/model/resource'
import type { Positions } from '#core/model/row-positions'
import { instruments } from '#core/resources/instruments/description'
import { providerTable } from '#core/resources/liquidity-providers/table'
import { StreamFollower } from '../fixtures/stores/follow-store.ts'
import { createLiveStore, LIVE_MARKET, perpetualMarket } from '../fixtures/stores/live-store.ts'
import { describeOn, STORE_KINDS } from '../fixtures/stores/stores.ts'

/** A resource of providers that also shows the status of a provision. */
const withStatus = (from?: (positions: Positions) => string, condition?: string) =>
  defineResource({
    name: 'examples',
    nodeName: 'Example',
    summary: 'List examples',
    meaning: 'An example.',
    path: '/api/v2/examples',
    tag: 99,
    cursor: 't',
    key: [
      { column: 'market_id', type: 'id' },
      { column: 'party_id', type: 'id' },
    ],
    storage: {
      table: providerTable,
      ...(from === undefined ? {} : { from }),
      ...(condition === undefined ? {} : { condition }),
    },
    fields: [
      { name: 'partyId', meaning: 'The party.', form: 'partyId' },
      ...(from === undefined
        ? []
        : [{ name: 'status', meaning: 'A status.', form: 'integer', ifNull: 'null' } as const]),
    ],
    coverage: 'count',
  })

const STATUS = `(select max(status) from liquidity_provisions where party_id = liquidity_providers.party_id) as status`
const JOINED = `join liquidity_provisions as provisions on provisions.party_id = liquidity_providers.party_id`

const refusal =
  /^TypeError: examples: its rows depend on the table liquidity_provisions, and do not move in streams when that changes/

for (const [what, from] of [
  ['in a select of its own', () => `select liquidity_providers.*, ${STATUS} from liquidity_providers`],
  ['that is joined', () => `select liquidity_providers.*, status from liquidity_providers ${JOINED}`],
  [
    'beside the position of its own table',
    ({ latest }) =>
      `select market_id, party_id, ${STATUS}, ${latest('liquidity_providers')} from liquidity_providers`,
  ],
] satisfies [string, (positions: Positions) => string][]) {
  test(`a resource that shows a column of another table, ${what}, without moving with it is refused`, () => {
    assert.throws(() => withStatus(from), refusal)
  })
}

test('a resource whose condition depends on another table is refused, unless the writer of that moves the rows', () => {
  assert.throws(() => withStatus(undefined, 'exists (select 1 from liquidity_provisions)'), refusal)
})

test('a resource of two tables has the position of the later event, and in gaps each of both', () => {
  const { storage } = withStatus(
    ({ latest }) =>
      `select liquidity_providers.party_id, status, ${latest('liquidity_providers', 'provisions')} from liquidity_providers ${JOINED}`,
  )
  assert.match(storage.from!, /then provisions\.height else liquidity_providers\.height end as height/)
  assert.deepEqual(
    storage.fromInGaps!.match(/\w+\.height as height, \w+\.event_index as event_index/g),
    ['liquidity_providers', 'provisions'].map(
      (table) => `${table}.height as height, ${table}.event_index as event_index`,
    ),
  )
})

test('a resource that limits another table to the position of its rows is accepted', () => {
  const { storage } = withStatus(
    ({ notAfter }) => `select market_id, party_id, height, event_index, (
      select status from liquidity_provisions as provisions where ${notAfter('provisions', 'liquidity_providers')}) as status
      from liquidity_providers`,
  )
  assert.equal(storage.fromInGaps, undefined)
})

const assetOf = (symbol: string): MarketEvent => ({
  kind: 'asset',
  assetId: 'XYZ',
  name: 'An asset',
  symbol,
  decimals: 5n,
  status: 4,
})

describeOn(STORE_KINDS, 'followers of instruments', (kind) => {
  test('are sent a market again whose asset arrives in the block of a gap before it', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    const follower = new StreamFollower(store, instruments, {})
    const market = { ...perpetualMarket(LIVE_MARKET), settlementAsset: 'XYZ' } as MarketEvent
    for (const [height, events] of [
      [1, [market]],
      [3, [{ ...market, code: 'B' } as MarketEvent]],
      [2, [assetOf('A')]],
      [4, [assetOf('B')]],
    ] as const) {
      await live.commit(height, events)
      await follower.look()
      assert.deepEqual(await follower.missing(), [], `block ${height}`)
    }
    assert.equal(follower.sent.size, 4)
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { getPage, send } from './fixtures/http.ts'
import { assertFails, runLyra } from './fixtures/program.ts'
import { assertMalformed } from './fixtures/refusals.ts'
import { INSTRUMENTS, MARKET } from './fixtures/sample.ts'
import { serveFile, storeOf } from './fixtures/service.ts'
import { NAMED_SAMPLE as NAMED } from './fixtures/shared.ts'
import { STORE_KINDS } from './fixtures/stores.ts'

const ASSET = '22fbcf3d6cbe6babc287e0808d00ee78dce115c37b3671b0ca4b956ebb64ff15'

const instrument = (marketId: string, code: string, name: string, decimalPlaces: string) => ({
  marketId,
  code: `${code}/PERP`,
  name: `${name} perpetual`,
  product: 'PRODUCT_PERPETUAL',
  quoteName: code,
  decimalPlaces,
  positionDecimalPlaces: '2',
  state: 'STATE_ACTIVE',
  tradingMode: 'TRADING_MODE_CONTINUOUS',
  settlementAsset: { id: ASSET, symbol: 'USD', name: 'US dollar (test)', decimals: '5' },
  funding: {
    interestRate: '0.1',
    clampLowerBound: '-0.0001',
    clampUpperBound: '0.0001',
    scalingFactor: null,
    lowerBound: null,
    upperBound: null,
    schedule: null,
  },
  sla: null,
})

/** The instruments of the recording's events, by market id. */
const EXPECTED = [
  instrument('669608f2ba72421efa379b5272a55095ee2803ba2c885cc95bd5acf37d7bd08c', 'BTC', 'Bitcoin', '2'),
  instrument(MARKET, 'ETH', 'Ether', '2'),
  instrument('c447dcd931b95f4190b90fd3ceb7dd93ace30f8031b7be87eddc4c883a61c2a4', 'SOL', 'Solana', '4'),
]

for (const kind of STORE_KINDS) {
  describe(`Named instruments (${kind.name})`, () => {
    test('instruments match the events of markets and assets', async () => {
      const base = await serveFile(kind, NAMED)
      const oldestFirst: [string, string] = ['pagination.newestFirst', 'false']
      const page = await getPage(base, INSTRUMENTS, [oldestFirst])
      assert.deepEqual(
        page.edges.map(({ node }) => node),
        EXPECTED,
      )
      assert.equal((await send(base, INSTRUMENTS)).headers['x-block-height'], '905')
      const one = await getPage(base, INSTRUMENTS, [['marketId', MARKET.toUpperCase()]])
      assert.deepEqual(
        one.edges.map(({ node }) => node),
        [EXPECTED[1]],
      )
      assert.deepEqual((await getPage(base, INSTRUMENTS, [['marketId', 'f'.repeat(64)]])).edges, [])
      const after: [string, string] = ['pagination.after', page.edges[0]!.cursor]
      const rest = await getPage(base, INSTRUMENTS, [oldestFirst, after])
      assert.deepEqual(rest.edges, page.edges.slice(1))
      assert.equal(rest.pageInfo.hasPreviousPage, true)
      await assertMalformed(base, `${INSTRUMENTS}?marketId=${'f'.repeat(64)}&${after.join('=')}`, 10028)
    })

    test('are exported with the names of assets, by their own filters', async (t) => {
      const store = await storeOf(t, kind, NAMED)
      const exported = await runLyra(t, [
        ...['export', 'instruments', '--store', store, '--format', 'csv', '--oldest-first'],
      ])
      assert.equal(exported.code, 0, exported.stderr)
      const [head, first] = exported.stdout.split('\r\n')
      assert.match(
        head!,
        /,settlementAssetId,settlementAssetSymbol,.*,interestRate,.*,upperBound,scheduleInitial,.*,slaCompetitionFactor,cursor$/,
      )
      assert.match(first!, /,BTC\/PERP,Bitcoin perpetual,.*,USD,US dollar \(test\),5,0\.1,-?/)
      for (const [args, message] of [
        [['funding-periods', '--market', MARKET, '--seq', '1'], /cannot be filtered by seq/],
        [['instruments', '--party', MARKET], /cannot be filtered by party .*allowed: --market/],
        [['instruments', '--market', 'xyz'], /--market xyz must be hex digits: an id, or its first digits/],
      ] as [string[], RegExp][]) {
        await assertFails(t, ['export', ...args, '--store', store], message, 2)
      }
    })
  })
}

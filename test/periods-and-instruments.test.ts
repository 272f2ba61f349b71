import assert from 'node:assert/strict'
import { get } from 'node:http'
import { describe, test } from 'node:test'
import { createEventStreamReader, type ServerEvent } from '../client/src/event-stream.ts'
import { createLyraClient } from '../client/src/index.ts'
import { getPage, send } from './fixtures/http.ts'
import { runLyra } from './fixtures/program.ts'
import { assertMalformed } from './fixtures/refusals.ts'
import { INSTRUMENTS, MARKET, PERIODS } from './fixtures/sample.ts'
import { serve, serveFiles, storeOf } from './fixtures/service.ts'
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
  },
})

/** What the recording's events say, by market id. */
const EXPECTED = [
  instrument('669608f2ba72421efa379b5272a55095ee2803ba2c885cc95bd5acf37d7bd08c', 'BTC', 'Bitcoin', '2'),
  instrument(MARKET, 'ETH', 'Ether', '2'),
  instrument('c447dcd931b95f4190b90fd3ceb7dd93ace30f8031b7be87eddc4c883a61c2a4', 'SOL', 'Solana', '4'),
]

/** The first events of a stream. */
function eventsOf(url: string, count: number): Promise<ServerEvent[]> {
  return new Promise((resolve, reject) => {
    const events: ServerEvent[] = []
    const request = get(url, { agent: false }, (response) => {
      const read = createEventStreamReader({
        onEvent: (event) => {
          events.push(event)
          if (events.length < count) return
          request.destroy()
          resolve(events)
        },
      })
      response.setEncoding('utf8').on('data', read)
      response.on('end', () => reject(new Error(`the stream ended after ${events.length} events`)))
    })
    request.on('error', (error) => {
      if (events.length < count) reject(error)
    })
  })
}

for (const kind of STORE_KINDS) {
  describe(`Instruments and funding periods (${kind.name})`, () => {
    test('instruments are what the events of markets and assets say', async (t) => {
      const base = await serveFiles(t, kind, NAMED)
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
      for (const [target, detail] of [
        [`${INSTRUMENTS}?marketId=`, 10000],
        [`${INSTRUMENTS}?marketId=abc`, 10000],
        [`${INSTRUMENTS}?marketId=${'f'.repeat(64)}&${after.join('=')}`, 10028],
      ] as const) {
        await assertMalformed(base, target, detail)
      }
    })

    test('streams send all rows that pages hold, and need a market where pages do', async (t) => {
      const base = await serveFiles(t, kind, NAMED)
      for (const [name, path, target] of [
        ['fundingPeriods', PERIODS, `/api/v2/stream/funding-periods?marketId=${MARKET}`],
        ['instruments', INSTRUMENTS, '/api/v2/stream/instruments?'],
        ['instruments', `${INSTRUMENTS}?marketId=${MARKET}`, `/api/v2/stream/instruments?marketId=${MARKET}`],
      ] as const) {
        const { text } = await send(base, path)
        const { edges } = (JSON.parse(text) as Record<string, { edges: { node: object }[] }>)[name]!
        assert.ok(edges.length > 0)
        const events = await eventsOf(`${base}${target}&afterBlock=0`, edges.length)
        assert.ok(events.every(({ event }) => event === name))
        assert.deepEqual(
          new Set(events.map(({ data }) => data)),
          new Set(edges.map(({ node }) => JSON.stringify(node))),
        )
      }
      for (const [target, detail] of [
        ['/api/v2/stream/funding-periods', 10003],
        ['/api/v2/stream/funding-periods?marketId=abc', 10000],
        ['/api/v2/stream/instruments?marketId=abc', 10000],
      ] as const) {
        await assertMalformed(base, target, detail)
      }
    })

    test('the client and the program give the same rows as pages', async (t) => {
      const store = await storeOf(t, kind, NAMED)
      const base = await serve(t, store)
      const lyra = createLyraClient({ url: base })
      const periods: object[] = []
      for await (const node of lyra.fundingPeriods({ marketId: MARKET }, { pageSize: 7 })) periods.push(node)
      const page = await getPage(base, PERIODS, 'pagination.first=5000')
      assert.deepEqual(
        periods,
        page.edges.map(({ node }) => node),
      )
      const { count } = (await lyra.coverage({ marketId: MARKET })).fundingPeriods[0]!
      assert.equal(count, String(periods.length))
      assert.equal((await lyra.coverage()).instruments.count, '3')

      const exported = await runLyra(t, [
        ...['export', 'instruments', '--store', store, '--format', 'csv', '--oldest-first'],
      ])
      assert.equal(exported.code, 0, exported.stderr)
      const [head, first] = exported.stdout.split('\r\n')
      assert.match(head!, /,settlementAssetId,settlementAssetSymbol,.*,interestRate,.*,upperBound,cursor$/)
      assert.match(first!, /,BTC\/PERP,Bitcoin perpetual,.*,USD,US dollar \(test\),5,0\.1,-?/)
      for (const [args, message] of [
        [['funding-periods', '--market', MARKET, '--seq', '1'], /cannot be restricted by seq/],
        [['instruments', '--party', MARKET], /cannot be restricted by party .*allowed: --market/],
        [['instruments', '--market', 'xyz'], /is not 64 hex digits/],
      ] as [string[], RegExp][]) {
        const { code, stderr } = await runLyra(t, ['export', ...args, '--store', store])
        assert.equal(code, 2, args.join(' '))
        assert.match(stderr, message)
      }
    })
  })
}

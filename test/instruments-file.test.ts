import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { InstrumentFileError, parseInstruments } from '../src/resources/instruments/nodes.ts'
import { asset, fileOf, idOf, MARKET, perpetual } from './fixtures/event-stream.ts'
import { send } from './fixtures/http.ts'
import { ingestWell, storeOfBytes } from './fixtures/ingest-bytes.ts'
import { assertFails, runWell } from './fixtures/program.ts'
import { serve } from './fixtures/service.ts'
import { STORE_KINDS, temporaryFolder } from './fixtures/stores.ts'

const funding = {
  interestRate: '0.1',
  clampLowerBound: '-0.1',
  clampUpperBound: '0.1',
  scalingFactor: null,
  lowerBound: null,
  upperBound: '1',
  schedule: { initial: '1696500000000000000', every: '28800000000000' },
}

const sla = {
  ...{ priceRange: '0.05', commitmentMinTimeFraction: '0.6' },
  ...{ performanceHysteresisEpochs: '1', slaCompetitionFactor: '0.2' },
}

const node = (fields: object = {}) => ({
  marketId: MARKET,
  code: 'AB/PERP',
  name: 'A perpetual',
  product: 'PRODUCT_PERPETUAL',
  quoteName: 'USD',
  decimalPlaces: '2',
  positionDecimalPlaces: '-1',
  state: 'STATE_ACTIVE',
  tradingMode: 'TRADING_MODE_CONTINUOUS',
  settlementAsset: { id: 'VOTE', symbol: 'VT', name: 'Votes', decimals: '5' },
  funding,
  sla,
  ...fields,
})

const answerOf = (...nodes: unknown[]) => ({ instruments: { edges: nodes.map((each) => ({ node: each })) } })

function fileWith(t: TestContext, content: unknown): string {
  const path = join(temporaryFolder(t), 'instruments.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

describe('a file of instruments', () => {
  test('may be an answer, a list of nodes, a node, or one node a line', () => {
    const other = node({ marketId: idOf('B'), product: 'PRODUCT_SPOT', funding: null, settlementAsset: null })
    const texts = [
      JSON.stringify(answerOf(node(), other)),
      JSON.stringify([node(), other], null, 2),
      `${JSON.stringify(node())}\n\n${JSON.stringify(other)}\n`,
    ]
    for (const text of texts) {
      const { markets, assets } = parseInstruments(text, 'f')
      assert.deepEqual(
        markets.map(({ marketId }) => marketId),
        [MARKET, idOf('b')],
      )
      assert.equal(markets[0]!.positionDecimalPlaces, -1n)
      assert.deepEqual(
        assets.map(({ assetId, decimals }) => [assetId, decimals]),
        [['VOTE', 5n]],
      )
    }
    assert.equal(parseInstruments(JSON.stringify(node()), 'f').markets.length, 1)
    assert.deepEqual(parseInstruments('[]', 'f'), { markets: [], assets: [] })
    const { schedule: _, ...oldFunding } = funding
    const ofOlderVersion = node({ funding: oldFunding, sla: undefined })
    const [market] = parseInstruments(JSON.stringify([ofOlderVersion]), 'f').markets
    assert.deepEqual([market!.schedule, market!.sla], [null, null])
  })

  const unknownAsset = { id: 'VOTE', symbol: null, name: null, decimals: null }
  const refused: [what: string, content: unknown, message: RegExp][] = [
    ['that is not JSON', 'x', /f: is not JSON/],
    ['with a line that is not JSON', `${JSON.stringify(node())}\nx`, /f, line 2: is not JSON/],
    ['of other JSON', { markets: [] }, /neither an answer of GET \/api\/v2\/instruments/],
    ['with an invalid node', [node(), 7], /f, node 2: it is 7, allowed is an object/],
    ['with a malformed id', [node({ marketId: 'ab' })], /node 1: marketId is "ab", allowed is 64 hex digits/],
    [
      'with a number for a text',
      [node({ decimalPlaces: 2 })],
      /decimalPlaces is 2, allowed is a whole number/,
    ],
    [
      'with decimals out of range',
      [node({ decimalPlaces: '-1' })],
      /decimalPlaces is "-1", allowed is a whole/,
    ],
    ['without a field', [node({ code: undefined })], /code is missing, allowed is a text/],
    [
      'of an unknown state',
      [node({ state: 'ACTIVE' })],
      /state is "ACTIVE", allowed is one of STATE_UNSPECIFIED/,
    ],
    ['with a code too long', [node({ code: 'x'.repeat(1_025) })], /text of more than 1,024 characters/],
    ['of a future with funding', [node({ product: 'PRODUCT_FUTURE' })], /funding is .*null otherwise/],
    ['of a perpetual without', [node({ funding: null })], /funding is null, allowed is an object where/],
    [
      'with a rate that is not a text',
      [node({ funding: { ...funding, upperBound: 1 } })],
      /funding.upperBound is 1/,
    ],
    [
      'with a schedule that never triggers',
      [node({ funding: { ...funding, schedule: { initial: null, every: '0' } } })],
      /funding.schedule.every is "0", allowed is a whole number from 1 to/,
    ],
    [
      'with epochs that are not a number',
      [node({ sla: { ...sla, performanceHysteresisEpochs: 'x' } })],
      /sla.performanceHysteresisEpochs is "x"/,
    ],
    ['of an asset without an id', [node({ settlementAsset: { id: '' } })], /settlementAsset.id is ""/],
    [
      'of an asset without decimals',
      [node({ settlementAsset: { ...unknownAsset, symbol: 'V', name: 'N' } })],
      /settlementAsset.decimals is null/,
    ],
    ['with a market twice', [node(), node()], /node 2: marketId is "a{64}", allowed is each market once/],
    [
      'with two versions of an asset',
      [node(), node({ marketId: idOf('b'), settlementAsset: { ...node().settlementAsset, decimals: '6' } })],
      /node 2: settlementAsset is "VT", allowed is what a node before says/,
    ],
  ]
  for (const [what, content, message] of refused) {
    test(`${what} is refused`, () => {
      const text = typeof content === 'string' ? content : JSON.stringify(content)
      assert.throws(
        () => parseInstruments(text, 'f'),
        (error) => error instanceof InstrumentFileError && message.test(error.message),
      )
    })
  }

  test('may have only the id of an asset', () => {
    const { markets, assets } = parseInstruments(
      JSON.stringify([node({ settlementAsset: unknownAsset })]),
      'f',
    )
    assert.deepEqual([markets[0]!.settlementAsset, assets], ['VOTE', []])
  })
})

for (const kind of STORE_KINDS) {
  describe(`lyra ingest --instruments (${kind.name})`, () => {
    const nodesIn = async (t: TestContext, store: string) => {
      const { text } = await send(await serve(t, store), '/api/v2/instruments?pagination.newestFirst=false')
      return JSON.parse(text).instruments.edges.map((edge: { node: unknown }) => edge.node)
    }

    test('adds names without event files, and the API returns the same answer again', async (t) => {
      const store = await storeOfBytes(t, kind, fileOf({ height: 5 }))
      const path = fileWith(t, answerOf(node()))
      const { stdout } = await runWell(t, ['ingest', '--store', store, '--instruments', path])
      assert.match(stdout, /1 instruments and 1 assets/)
      assert.deepEqual(await nodesIn(t, store), [node()])
      const again = fileWith(t, [node({ marketId: idOf('0'), settlementAsset: null }), node({ code: 'NEW' })])
      await runWell(t, ['ingest', '--store', store, '--instruments', again])
      const codes = (await nodesIn(t, store)).map((each: { code: string }) => each.code)
      assert.deepEqual(codes, ['AB/PERP', 'NEW'])
      await runWell(t, ['check', '--store', store])
    })

    test('never replaces data from an event, and is replaced by events', async (t) => {
      const store = await storeOfBytes(
        t,
        kind,
        fileOf({ height: 1, events: [perpetual({ code: 'EVENT' })] }, { height: 2 }),
      )
      const path = fileWith(t, [node({ code: 'FILE' }), node({ marketId: idOf('d'), code: 'FILE' })])
      await runWell(t, ['ingest', '--store', store, '--instruments', path])
      const said = async () =>
        (await nodesIn(t, store)).map((each: ReturnType<typeof node>) => [
          each.code,
          each.settlementAsset.symbol,
        ])
      assert.deepEqual(await said(), [
        ['EVENT', 'VT'],
        ['FILE', 'VT'],
      ])
      const next = {
        height: 3,
        events: [perpetual({ marketId: idOf('d'), code: 'LATER' }), asset({ symbol: 'E' })],
      }
      await ingestWell(t, store, fileOf(next))
      await runWell(t, ['ingest', '--store', store, '--instruments', path])
      assert.deepEqual(await said(), [
        ['EVENT', 'E'],
        ['LATER', 'E'],
      ])
    })

    test('writes nothing of an invalid file, and nothing to an empty store', async (t) => {
      const store = kind.create(t)
      const events = join(temporaryFolder(t), 'some.evts')
      writeFileSync(events, fileOf({ height: 5 }))
      const bad = fileWith(t, [node(), node({ marketId: 'x' })])
      await assertFails(
        t,
        ['ingest', '--store', store, '--instruments', bad, events],
        /instruments.json, node 2: marketId is "x"/,
        1,
      )
      const good = fileWith(t, [node()])
      await assertFails(
        t,
        ['ingest', '--store', store, '--instruments', good],
        /the store is empty.*ingest event files first/,
        1,
      )
      await runWell(t, ['ingest', '--store', store, '--instruments', good, events])
      assert.deepEqual(await nodesIn(t, store), [node()])
    })
  })
}

test('ingest without paths and without --instruments is a usage error', async (t) => {
  await assertFails(
    t,
    ['ingest', '--store', STORE_KINDS[0]!.create(t)],
    /missing required argument 'path'/,
    2,
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEnvelope, readEnvelope } from '#core/events/bus-event'
import type { MarketDataEvent } from '#core/events/event'
import { MalformedMessageError } from '#core/events/wire-reader'
import { batchRows, createBatch, type MarketDataSequence, type PositionedMarketData } from '#core/model/batch'
import { addMarketData } from '#core/resources/market-data/data-sequence'
import { latestDataRow, marketDataRow } from '#core/resources/market-data/row'
import { decodeEvent, projectEvent } from '#core/resources/projections'
import { busEvent, idOf, MARKET, message } from '../fixtures/events/event-stream.ts'

const PARTY = idOf('b')

type Decoded = { event: MarketDataEvent | null; leftOut: string[] }

/** Decodes market data of one fee share and one SLA; returns why data were skipped, in the event and its lists. */
function decode(feeShare: Uint8Array, sla: Uint8Array, marketId = MARKET): Decoded {
  return decodeBody(message({ 12: marketId, 26: feeShare, 32: sla }))
}

function decodeBody(body: Uint8Array): Decoded {
  const bytes = Buffer.from(busEvent({ id: '1-1', kind: 111 }, body))
  const envelope = createEnvelope()
  readEnvelope(bytes, 0, bytes.length, envelope)
  const leftOut: string[] = []
  const event = decodeEvent(envelope, (reason) => leftOut.push(reason)) as MarketDataEvent | null
  // The bytes of a chunk may be overwritten before the lists are read.
  bytes.fill(0)
  return { event, leftOut }
}

const share = message({ 1: PARTY, 2: '0.5', 4: '0.25' })
const sla = message({ 1: PARTY, 2: '1', 9: '7' })

const LONG = 'number of more than 256 characters'

/** An SLA with a list of penalties. */
function penalties(count: number): Uint8Array {
  return Buffer.concat([message({ 1: PARTY }), ...Array.from({ length: count }, () => message({ 6: '0.1' }))])
}

test('a batch is counted without decoding the lists of providers', () => {
  const batch = createBatch()
  const place = { height: 1n, index: 1 }
  const event: MarketDataEvent = {
    kind: 'market-data',
    marketId: MARKET,
    get feeShares(): never {
      throw new Error('the list was decoded')
    },
    slas: [],
    figures: null,
  }
  projectEvent(batch, event, place)
  assert.equal(batchRows(batch), 1)
})

test('market data seen before are checked again if a byte differs', () => {
  const cases: [string, Uint8Array, Uint8Array, string[], number, number][] = [
    ['as before', share, sla, [], 1, 1],
    ['another party', message({ 1: idOf('B'), 2: '0.5', 4: '0.25' }), sla, [], 1, 1],
    ['no party’s id', message({ 1: 'x'.repeat(64), 2: '0.5', 4: '0.25' }), sla, ['invalid party ID'], 0, 1],
    ['an invalid digit', message({ 1: `${'b'.repeat(63)}g` }), sla, ['invalid party ID'], 0, 1],
    ['no party', message({ 2: '0.5' }), sla, ['invalid party ID'], 0, 1],
    ['a NUL', message({ 1: PARTY, 2: '0\x005' }), sla, ['text that cannot be kept'], 0, 1],
    ['a NUL in the SLA', share, message({ 1: PARTY, 9: '\0' }), ['text that cannot be kept'], 1, 0],
    ['texts beyond ASCII', message({ 1: PARTY, 2: 'é' }), sla, [], 1, 1],
    ['a NUL in a field that is not read', message({ 1: PARTY, 8: '\0' }), sla, [], 1, 1],
    [
      'the same in an SLA, in which the field is read',
      share,
      message({ 1: PARTY, 8: '\0' }),
      ['text that cannot be kept'],
      1,
      0,
    ],
    ['a number of 256 characters', message({ 1: PARTY, 2: '1'.repeat(256) }), sla, [], 1, 1],
    ['one of 257', message({ 1: PARTY, 2: '1'.repeat(257) }), sla, [LONG], 0, 1],
    ['one of 257 in the SLA', share, message({ 1: PARTY, 9: '1'.repeat(257) }), [LONG], 1, 0],
    ['one of 257 among penalties', share, message({ 1: PARTY, 6: '1'.repeat(257) }), [LONG], 1, 0],
    ['1,024 penalties', share, penalties(1_024), [], 1, 1],
    ['1,025 penalties', share, penalties(1_025), ['more than 1,024 penalties in a list'], 1, 0],
    ['empty elements', message({}), message({}), ['invalid party ID', 'invalid party ID'], 0, 0],
  ]
  for (const [name, shareBytes, slaBytes, leftOut, shares, slas] of cases) {
    for (const known of [false, true]) {
      if (!known) decode(share, sla)
      const decoded = decode(shareBytes, slaBytes)
      assert.deepEqual(decoded.leftOut, leftOut, name)
      assert.equal(decoded.event!.feeShares.length, shares, name)
      assert.equal(decoded.event!.slas.length, slas, name)
      assert.deepEqual(decoded.leftOut, leftOut, `${name}, told twice`)
    }
  }
})

test('market data keep their values after the input is overwritten', () => {
  for (let round = 0; round < 500; round++) {
    const score = String(round % 7)
    const { event } = decode(message({ 1: idOf('B'), 4: score }), sla, idOf('A'))
    assert.equal(event!.marketId, idOf('a'))
    assert.deepEqual(event!.feeShares[0], {
      party: PARTY,
      equityLikeShare: '',
      averageEntryValuation: '',
      averageScore: score,
      virtualStake: '',
    })
    assert.equal(event!.slas[0]!.notionalVolumeSells, '7')
  }
})

test('market data of no market are skipped, and text that is not UTF-8 is an error', () => {
  assert.deepEqual(decode(share, sla, 'x'.repeat(64)), { event: null, leftOut: ['invalid market ID'] })
  const bad = Buffer.from(message({ 1: PARTY, 2: 'zz' }))
  bad.fill(0xff, bad.length - 2)
  decode(share, sla)
  assert.throws(() => decode(Uint8Array.from(bad), sla), MalformedMessageError)
})

test('fields may be in any order, with the market last or missing', () => {
  const elements = message({ 26: share, 32: sla })
  const market = message({ 12: MARKET })
  for (let round = 0; round < 2; round++) {
    const { event, leftOut } = decodeBody(Buffer.concat([elements, market]))
    assert.deepEqual([event!.marketId, event!.feeShares.length, event!.slas.length], [MARKET, 1, 1])
    assert.deepEqual(leftOut, [])
    assert.deepEqual(decodeBody(elements), { event: null, leftOut: ['invalid market ID'] })
  }
})

test('the highest seq that data name is read without their figures, and is never lower than that of the figures', () => {
  const perpetual = (seq: bigint | null) => message({ 31: message({ 1: '12', 5: seq }) })
  const rest = message({ 26: share, 32: sla, 1: '100' })
  const ofMarket = message({ 12: MARKET })
  const cases: [string, Uint8Array[], bigint][] = [
    ['a perpetual', [ofMarket, rest, message({ 31: perpetual(7n) })], 7n],
    ['named before the lists', [ofMarket, message({ 31: perpetual(7n) }), rest], 7n],
    ['in a message that is not as in real streams', [rest, ofMarket, message({ 31: perpetual(7n) })], 7n],
    ['without a seq', [ofMarket, rest, message({ 31: perpetual(null) })], 0n],
    ['another product', [ofMarket, rest], -1n],
    ['an empty estimate', [ofMarket, rest, message({ 31: message({ 31: new Uint8Array() }) })], -1n],
    ['two products', [ofMarket, message({ 31: perpetual(9n) }), rest, message({ 31: perpetual(7n) })], 9n],
    ['a seq beyond 2^63', [ofMarket, rest, message({ 31: perpetual(2n ** 63n) })], 2n ** 63n],
    [
      'malformed after it',
      [ofMarket, message({ 31: Buffer.concat([perpetual(7n), Buffer.of(0x0a, 9)]) })],
      7n,
    ],
  ]
  for (const [name, parts, expected] of cases) {
    const { event } = decodeBody(Buffer.concat(parts))
    assert.equal(event!.highestSeq, expected, name)
    assert.ok(event!.highestSeq! >= marketDataRow(event!, { height: 1n, index: 0 })!.highest_seq, name)
  }
})

/** The data of one market in a batch to which they were added in this order. */
function sequenceOf(all: readonly PositionedMarketData[]): MarketDataSequence {
  const batch = createBatch()
  for (const data of all) addMarketData(batch, data)
  const [sequence] = batch.marketData.values()
  assert.equal(batch.marketData.size, 1)
  return sequence!
}

test('data of a market in a batch are in the order of the stream, of one position those added later last', () => {
  const received = (price: string) => decodeBody(message({ 1: price, 12: MARKET, 26: share })).event!
  const imported = { ...received(''), figures: null, feeShares: [], slas: [] }
  const at = (height: bigint, index: number, event = received(`${height}${index}`)) => ({
    event,
    height,
    index,
  })
  const summary = ({ height, index, event }: PositionedMarketData) =>
    `${height}-${index} ${event.figures?.markPrice ?? 'none'} ${event.feeShares.length}`
  const orderOf = (...all: PositionedMarketData[]) => {
    const sequence = sequenceOf(all)
    const inOrder = [sequence.last, ...sequence.earlier()].reverse()
    assert.deepEqual([sequence.first.height, sequence.first.index], [inOrder[0]!.height, inOrder[0]!.index])
    return inOrder.map(summary)
  }
  assert.deepEqual(orderOf(at(4n, 1)), ['4-1 41 1'])
  assert.deepEqual(orderOf(at(4n, 1), at(4n, 3), at(5n, 2)), ['4-1 41 1', '4-3 43 1', '5-2 52 1'])
  assert.deepEqual(orderOf(at(4n, 1), at(4n, 1, received('7')), at(5n, 0)), [
    '4-1 41 1',
    '4-1 7 1',
    '5-0 50 1',
  ])
  const late = [
    at(5n, 2),
    at(4n, 3),
    at(6n, 0),
    at(4n, 1),
    at(4n, 3, received('8')),
    at(5n, 2, received('9')),
  ]
  assert.deepEqual(orderOf(...late), ['4-1 41 1', '4-3 43 1', '4-3 8 1', '5-2 52 1', '5-2 9 1', '6-0 60 1'])
  // Imported data were never bytes.
  assert.deepEqual(orderOf(at(0n, 0, imported), at(7n, 1), at(8n, 0, imported), at(9n, 1)), [
    '0-0 none 0',
    '7-1 71 1',
    '8-0 none 0',
    '9-1 91 1',
  ])
})

test('the row of the latest data has the highest seq of all data before a commit', () => {
  const dataOf = (seq: bigint) =>
    decodeBody(message({ 12: MARKET, 31: message({ 31: message({ 1: '12', 5: seq }) }) })).event!
  /** Imported data have only figures. */
  const importedOf = (seq: bigint): MarketDataEvent => ({
    kind: 'market-data',
    marketId: MARKET,
    feeShares: [],
    slas: [],
    figures: dataOf(seq).figures,
  })
  const highestOf = (...all: (bigint | MarketDataEvent)[]) => {
    const events = all.map((one) => (typeof one === 'bigint' ? dataOf(one) : one))
    return latestDataRow(sequenceOf(events.map((event, index) => ({ event, height: 1n, index }))))!
      .highest_seq
  }
  assert.equal(highestOf(5n, 7n, 6n), 7n)
  assert.equal(highestOf(5n, 6n, 7n), 7n)
  assert.equal(highestOf(5n, 2n ** 63n, 6n), 6n)
  assert.equal(highestOf(3n, 2n ** 63n), 3n)
  assert.equal(highestOf(5n, importedOf(9n), 7n), 9n)
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { createEnvelope, EVENT_KIND, readEnvelope } from '#core/events/bus-event'
import type { AssetEvent, InstrumentEvent, MarketDataEvent, MarketEvent } from '#core/events/event'
import { MalformedMessageError } from '#core/events/wire-reader'
import { decodeEvent } from '#core/resources/projections'
import {
  asset,
  busEvent,
  type Content,
  content,
  idOf,
  MARKET,
  message,
  perpetual,
} from '../fixtures/events/event-stream.ts'

function decode({ kind, body }: Content): { event: MarketEvent | null; leftOut: string[] } {
  const bytes = busEvent({ id: '1-1', kind }, body)
  const envelope = createEnvelope()
  readEnvelope(bytes, 0, bytes.length, envelope)
  const leftOut: string[] = []
  const event = decodeEvent(envelope, (reason) => leftOut.push(reason))
  return { event: event as MarketEvent | null, leftOut }
}

/** The products of a market by the number of their field. */
const PRODUCTS: Record<number, InstrumentEvent['product']> = {
  100: 'PRODUCT_FUTURE',
  101: 'PRODUCT_SPOT',
  102: 'PRODUCT_PERPETUAL',
}

type Trigger = { 1?: number | bigint | null; 2?: number | bigint }

/** The `DataSourceSpec` of a settlement schedule. */
const scheduleSpec = (triggers: readonly Trigger[]): Uint8Array => {
  const times = Buffer.concat(triggers.map((trigger) => message({ 2: message(trigger) })))
  return [2, 1, 4].reduce((inner: Uint8Array, field) => message({ [field]: inner }), times)
}

const SECONDS = fc.integer({ min: -1e9, max: 9e9 })

describe('a market event', () => {
  const tradable = (instrument: Uint8Array) => message({ 1: MARKET, 2: message({ 1: instrument }), 9: 5 })
  const market = (body: Uint8Array, kind: number = EVENT_KIND.marketCreated) => decode({ kind, body })

  test('has the values that were encoded, whatever they are', () => {
    const texts = fc.option(
      fc.string({ unit: 'grapheme-composite', maxLength: 20 }).filter((s) => !s.includes('\0')),
    )
    const numbers = fc.option(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }))
    fc.assert(
      fc.property(
        fc.constantFrom(99, 100, 101, 102, 103),
        fc.tuple(texts, texts, texts, texts, texts, texts, texts, texts),
        fc.tuple(texts, texts),
        fc.tuple(numbers, fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }))),
        fc.tuple(fc.integer({ min: 0, max: 10 }), fc.integer({ min: 0, max: 8 })),
        fc.tuple(texts, texts, numbers, texts),
        fc.option(fc.tuple(fc.option(SECONDS), fc.integer({ min: 1, max: 1e6 }))),
        (
          product,
          [one, two, four, five, six, ten, eleven, twelve],
          [code, name],
          [places, position],
          [state, mode],
          [range, fraction, epochs, factor],
          trigger,
        ) => {
          const of = message({
            1: one,
            2: two,
            3: 'x',
            4: four,
            5: five,
            6: six,
            10: ten,
            11: eleven,
            12: twelve,
            7: trigger === null ? null : scheduleSpec([{ 1: trigger[0], 2: trigger[1] }]),
          })
          const instrument = message({ 1: 'id', 2: code, 3: name, 4: message({ 1: 'a:b' }), [product]: of })
          const body = message({
            1: MARKET.toUpperCase(),
            2: message({ 1: instrument, 2: message({}) }),
            3: places,
            4: message({ 1: 'fees' }),
            8: mode,
            9: state,
            11: position,
            21: '1',
            18: message({ 1: range, 2: fraction, 4: epochs, 5: factor }),
          })
          const [asset, quote] = product === 101 ? [two, ''] : product in PRODUCTS ? [one, two] : []
          const nanoseconds = (seconds: number | null) =>
            seconds === null ? null : BigInt(seconds) * 1_000_000_000n
          const hasSla = [range, fraction, epochs, factor].some((value) => value && value !== '0')
          const expected = {
            kind: 'market',
            marketId: MARKET,
            code: code ?? '',
            name: name ?? '',
            product: PRODUCTS[product] ?? 'PRODUCT_UNSPECIFIED',
            quoteName: quote ?? '',
            decimalPlaces: places ?? 0n,
            positionDecimalPlaces: position ?? 0n,
            state,
            tradingMode: mode,
            settlementAsset: asset || null,
            funding: null,
            schedule: null,
            ...(product === 102 && {
              funding: {
                interestRate: four ?? '',
                clampLowerBound: five ?? '',
                clampUpperBound: six ?? '',
                scalingFactor: ten,
                lowerBound: eleven,
                upperBound: twelve,
              },
              schedule: trigger && { initial: nanoseconds(trigger[0]), every: nanoseconds(trigger[1]) },
            }),
            sla: hasSla
              ? {
                  priceRange: range ?? '',
                  commitmentMinTimeFraction: fraction ?? '',
                  performanceHysteresisEpochs: epochs ?? 0n,
                  slaCompetitionFactor: factor ?? '',
                }
              : null,
          }
          const { event, leftOut } = market(body)
          assert.deepEqual([event, leftOut], [expected, []])
        },
      ),
    )
  })

  test('has the id of its asset in lower case, and the name of an asset as it is', () => {
    const assetOf = (id: string) => {
      const future = message({ 100: message({ 1: id }) })
      return (market(tradable(future)).event as InstrumentEvent).settlementAsset
    }
    assert.deepEqual([idOf('B'), 'Vote'].map(assetOf), [idOf('b'), 'Vote'])
  })

  test('with two products has the last, and nothing of the first', () => {
    const both = Buffer.concat([
      message({ 102: message({ 1: 'A', 2: 'B', 4: '0.1' }) }),
      message({ 100: message({}) }),
    ])
    const event = market(tradable(both)).event as InstrumentEvent
    assert.deepEqual(
      [event.product, event.settlementAsset, event.quoteName, event.funding],
      ['PRODUCT_FUTURE', null, '', null],
    )
  })

  const schedules: [what: string, triggers: Trigger[], expected: InstrumentEvent['schedule']][] = [
    ['one trigger', [{ 1: 5, 2: 28_800 }], { initial: 5_000_000_000n, every: 28_800_000_000_000n }],
    ['a trigger without a first time', [{ 2: 1 }], { initial: null, every: 1_000_000_000n }],
    ['a trigger that never repeats', [{ 1: 5 }], null],
    ['a trigger that goes back in time', [{ 1: 5, 2: -1n }], null],
    ['two triggers', [{ 1: 5, 2: 60 }, { 2: 60 }], null],
    ['none', [], null],
    ['a time beyond the range of nanoseconds', [{ 1: 2n ** 62n, 2: 60 }], null],
    ['an interval beyond that range', [{ 1: 5, 2: 2n ** 62n }], null],
  ]
  for (const [what, triggers, expected] of schedules) {
    test(`has the schedule of ${what}`, () => {
      const { event, leftOut } = decode(perpetual({}, { 7: scheduleSpec(triggers) }))
      assert.deepEqual([(event as InstrumentEvent).schedule, leftOut], [expected, []])
    })
  }

  test('has no SLA parameters if all are zero, however they are written', () => {
    const ofSla = (sla: Uint8Array) =>
      (market(message({ 1: MARKET, 9: 5, 18: sla })).event as InstrumentEvent).sla
    assert.equal(ofSla(message({ 1: '0', 2: '', 4: 0, 5: '0.00' })), null)
    assert.notEqual(ofSla(message({ 1: '1e-400' })), null)
  })

  const LONG = 'x'.repeat(1_025)
  const rows: [what: string, content: Content, reason: string | null][] = [
    ['that is valid', perpetual(), null],
    ['with the longest code', perpetual({ code: LONG.slice(1) }), null],
    ['of a malformed id', perpetual({ marketId: 'abc' }), 'invalid market ID'],
    ['without an id', perpetual({ marketId: null }), 'invalid market ID'],
    ['of an unknown state', perpetual({ state: 11 }), 'unknown market state'],
    ['of a state below 0', perpetual({ state: -1 }), 'unknown market state'],
    ['of an unknown mode', perpetual({ mode: 9 }), 'unknown trading mode'],
    ['with a code too long', perpetual({ code: LONG }), 'text of more than 1,024 characters'],
    ['with a NUL in its code', perpetual({ code: 'a\0b' }), 'text that cannot be kept'],
    ['with an asset too long', perpetual({ settlementAsset: LONG.slice(0, 257) }), 'invalid asset ID'],
    [
      'with a parameter too long',
      perpetual({}, { 12: '1'.repeat(257) }),
      'number of more than 256 characters',
    ],
    ['with a NUL in a parameter', perpetual({}, { 4: '\0' }), 'text that cannot be kept'],
    [
      'with more decimal places than a store can hold',
      content(EVENT_KIND.marketCreated, { 1: MARKET, 3: 2n ** 63n }),
      'decimal places of 2^63 or more',
    ],
    [
      'with more epochs than a store can hold',
      content(EVENT_KIND.marketCreated, { 1: MARKET, 18: message({ 4: 2n ** 63n }) }),
      'epochs of 2^63 or more',
    ],
    [
      'with an SLA parameter too long',
      content(EVENT_KIND.marketCreated, { 1: MARKET, 18: message({ 5: '1'.repeat(257) }) }),
      'number of more than 256 characters',
    ],
    ['that is a valid asset', asset(), null],
    ['that is an asset without an id', asset({ assetId: null }), 'invalid asset ID'],
    ['that is an asset with an id too long', asset({ assetId: LONG.slice(0, 257) }), 'invalid asset ID'],
    ['that is an asset with an unknown status', asset({ status: 5 }), 'unknown asset status'],
    [
      'that is an asset with too many decimals',
      asset({ decimals: 2n ** 63n }),
      'decimal places of 2^63 or more',
    ],
    ['that is an asset with a name too long', asset({ name: LONG }), 'text of more than 1,024 characters'],
    ['that is an asset with a NUL', asset({ symbol: '\0' }), 'text that cannot be kept'],
  ]
  for (const [what, content, reason] of rows) {
    test(`${what} is ${reason === null ? 'stored' : `skipped: ${reason}`}`, () => {
      const { event, leftOut } = decode(content)
      assert.equal(event === null, reason !== null)
      assert.deepEqual(leftOut, reason === null ? [] : [reason])
    })
  }

  test('that is not a message is an error', () => {
    for (const kind of [EVENT_KIND.marketCreated, EVENT_KIND.marketUpdated, EVENT_KIND.asset]) {
      assert.throws(() => decode(content(kind, { 2: Buffer.from([0x0a, 0x05]) })), MalformedMessageError)
    }
  })
})

test('an asset’s id is lower case if it is hex digits, and unchanged if it is a name', () => {
  const idFrom = (assetId: string) => (decode(asset({ assetId })).event as AssetEvent).assetId
  assert.equal(idFrom(idOf('F')), idOf('f'))
  assert.equal(idFrom('VOTE'), 'VOTE')
})

describe('the running period in market data', () => {
  const of = (perpetualBytes: Uint8Array | null) => {
    const product = perpetualBytes === null ? null : message({ 31: perpetualBytes })
    return decode(content(EVENT_KIND.marketData, { 12: MARKET, 31: product })).event as MarketDataEvent
  }

  test('is decoded on request', () => {
    const said = message({ 1: '-5', 2: '-0.5', 3: '5', 4: '10', 5: 7, 6: 9_000_000_000n, 7: '1', 9: 3 })
    assert.deepEqual(of(said).figures!.perpetual, {
      fundingPayment: '-5',
      fundingRate: '-0.5',
      internalTwap: '5',
      externalTwap: '10',
      seq: 7n,
      start: 9_000_000_000n,
    })
    assert.equal(of(message({ 1: '' })).figures!.perpetual!.fundingPayment, null)
    assert.equal(of(null).figures!.perpetual, null)
  })

  test('is not decoded otherwise: malformed data are no error unless requested', () => {
    const event = of(Buffer.from([0x0a, 0x09, 0x31]))
    assert.deepEqual(event.feeShares, [])
    assert.deepEqual([event.figures!.perpetual, event.figures!.isMalformed], [null, true])
  })
})

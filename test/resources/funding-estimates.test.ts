import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEnvelope, readEnvelope } from '#core/events/bus-event'
import type { FundingPeriodEvent, MarketEvent, MarketFigures } from '#core/events/event'
import { RECORD_HEADER_BYTES } from '#core/records/record-framer'
import { decodeEvent } from '#core/resources/projections'
import { readEstimate } from '#core/store/queries/estimates/funding-estimate'
import {
  idOf,
  joinRecords,
  readRecording,
  recordsOf,
  type StreamRecord,
} from '../fixtures/events/event-stream.ts'
import { send } from '../fixtures/requests/http.ts'
import { sampled } from '../fixtures/sampling.ts'
import { tryIngest } from '../fixtures/services/service.ts'
import { recorded } from '../fixtures/shared.ts'
import { LIVE_MARKET, periodEvent, serveLive, timeOf } from '../fixtures/stores/live-store.ts'
import { describeOn, openReader, openStore, STORE_KINDS } from '../fixtures/stores/stores.ts'

const PATH = '/api/v2/funding-estimates/'

/** Recordings whose market data carry the core's estimates. */
const RECORDINGS = ['four-periods', 'perps-calm-named', 'perps-long', 'twap', 'twap-auction']

/** The latest market data and the latest period of each market. */
class Markets {
  readonly figures = new Map<string, MarketFigures>()
  readonly periods = new Map<string, FundingPeriodEvent>()
  readonly #envelope = createEnvelope()

  take(records: readonly StreamRecord[]): void {
    for (const { bytes } of records) {
      readEnvelope(bytes, RECORD_HEADER_BYTES, bytes.length, this.#envelope)
      const event = decodeEvent(this.#envelope, () => {}) as MarketEvent | null
      if (event?.kind === 'market-data') this.figures.set(event.marketId, event.figures!)
      if (event?.kind === 'funding-period') this.periods.set(event.marketId, event)
    }
  }

  /** The expected answer: the core's estimate of a market. */
  estimate(marketId: string): object | null {
    const { perpetual, timestamp } = this.figures.get(marketId)!
    const period = this.periods.get(marketId)
    if (perpetual === null || period === undefined || period.end !== null) return null
    const { fundingPayment, fundingRate, internalTwap, externalTwap, seq } = perpetual
    if (seq !== period.seq || [fundingPayment, fundingRate, internalTwap, externalTwap].includes(null))
      return null
    return {
      marketId,
      seq: String(seq),
      start: String(period.start),
      at: String(timestamp),
      internalTwap,
      externalTwap,
      fundingPayment,
      fundingRate,
    }
  }
}

const FIGURES: MarketFigures = {
  timestamp: timeOf(2),
  markPrice: '100',
  openInterest: 3n,
  state: 5,
  tradingMode: 1,
  isMalformed: false,
  perpetual: {
    fundingPayment: '-7',
    fundingRate: '-0.07',
    internalTwap: '93',
    externalTwap: '100',
    seq: 4n,
    start: timeOf(1),
  },
}

const dataWith = (figures: Partial<MarketFigures>): MarketEvent => ({
  kind: 'market-data',
  marketId: LIVE_MARKET,
  feeShares: [],
  slas: [],
  figures: { ...FIGURES, ...figures },
})

const periodWith = (fields: Partial<FundingPeriodEvent>) =>
  periodEvent({ seq: 4n, start: timeOf(1), ...fields })

const perpetualWith = (fields: Partial<NonNullable<MarketFigures['perpetual']>>) => ({
  perpetual: { ...FIGURES.perpetual!, ...fields },
})

describeOn(STORE_KINDS, 'the estimate of a running funding period', (kind) => {
  for (const name of RECORDINGS) {
    test(`is the core's own, after each block of ${name}`, async (t) => {
      const path = recorded(name)
      const records = recordsOf(readRecording(path))
      const heights = [...new Set(records.map(({ height }) => height))]
      const store = kind.create(t)
      await openStore(store).migrate()
      const reader = await openReader(t, store)
      const markets = new Markets()
      let compared = 0
      let last = 0
      for (const height of sampled('change', heights)) {
        const piece = records.filter((record) => record.height > last && record.height <= height)
        last = height
        await tryIngest(store, joinRecords(piece))
        markets.take(piece)
        for (const marketId of markets.figures.keys()) {
          const found = await reader.read(() => readEstimate(marketId))
          // The last block of a recording may be incomplete.
          if (found?.storeHead.height !== String(height)) continue
          const expected = markets.estimate(marketId)
          assert.deepEqual(found.estimate, expected, `${marketId} at ${height}`)
          if (expected !== null) compared++
        }
      }
      assert.ok(compared > (heights.length < 100 ? 2 : 10), `${compared} compared`)
    })
  }

  test('exists while the market and the period of its latest market data are active', async (t) => {
    const cases: [what: string, isGiven: boolean, MarketEvent[]][] = [
      ['period and market data', true, [periodWith({}), dataWith({})]],
      ['in an auction', true, [periodWith({}), dataWith({ state: 6, tradingMode: 4 })]],
      [
        'seq 0, which is absent on the wire',
        true,
        [periodWith({ seq: 0n }), dataWith(perpetualWith({ seq: 0n }))],
      ],
      ['no period', false, [dataWith({})]],
      ['no market data', false, [periodWith({})]],
      ['data of another product', false, [periodWith({}), dataWith({ perpetual: null })]],
      ['a period with an end', false, [periodWith({ end: timeOf(2) }), dataWith({})]],
      ['an earlier period', false, [periodWith({}), periodWith({ seq: 5n, start: timeOf(2) }), dataWith({})]],
      ['a later period', false, [periodWith({ seq: 3n }), dataWith({})]],
      ...(['fundingPayment', 'fundingRate', 'internalTwap', 'externalTwap'] as const).map(
        (name): [string, boolean, MarketEvent[]] => [
          `no ${name}`,
          false,
          [periodWith({}), dataWith(perpetualWith({ [name]: null }))],
        ],
      ),
      ...Array.from({ length: 11 }, (_, state): [string, boolean, MarketEvent[]] => [
        `state ${state}`,
        ![2, 4, 7, 8, 9].includes(state),
        [periodWith({}), dataWith({ state })],
      ]),
    ]
    const idsOf = (at: number) => at.toString(16).padStart(64, '0')
    const all = cases.flatMap(([, , events], at) =>
      events.map((event) => ({ ...event, marketId: idsOf(at) }) as MarketEvent),
    )
    const { base } = await serveLive(t, kind, all)
    const unknown = await send(base, `${PATH}${idOf('9')}`)
    assert.deepEqual([unknown.status, unknown.text], [200, '{"fundingEstimate":null}'])
    assert.equal((await send(base, `${PATH}${idOf('9')}/`)).status, 404)
    for (const [at, [what, isGiven]] of cases.entries()) {
      const { status, text } = await send(base, `${PATH}${idsOf(at).toUpperCase()}`)
      assert.equal(status, 200)
      const { fundingEstimate } = JSON.parse(text)
      assert.equal(fundingEstimate !== null, isGiven, `${what}: ${text}`)
      if (!isGiven) continue
      assert.equal(
        Object.keys(fundingEstimate).join(' '),
        'marketId seq start at internalTwap externalTwap fundingPayment fundingRate',
      )
      assert.deepEqual([fundingEstimate.at, fundingEstimate.fundingPayment], [String(timeOf(2)), '-7'])
    }
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { createKeptEstimates } from '../src/api/pages/kept-estimates.ts'
import { createReports } from '../src/api/pages/make-page.ts'
import { createEnvelope, readEnvelope } from '../src/events/bus-event.ts'
import { decodeEvent } from '../src/events/decode.ts'
import type { FundingPeriodDataPointEvent, MarketEvent, PerpetualData } from '../src/events/event.ts'
import { perpetualDataOf } from '../src/events/market-data.ts'
import { RECORD_HEADER_BYTES } from '../src/records/record-framer.ts'
import { type EstimateMaker, readEstimate } from '../src/store/funding-estimates.ts'
import type { FundingInputsAt } from '../src/store/funding-inputs.ts'
import { idOf, joinRecords, readRecording, recordsOf, type StreamRecord } from './fixtures/event-stream.ts'
import { send } from './fixtures/http.ts'
import { ingestBytes } from './fixtures/ingest-bytes.ts'
import { LIVE_MARKET, openLiveStore, perpetualMarket, pointAt, timeOf } from './fixtures/live-store.ts'
import { scaled } from './fixtures/scale.ts'
import { inScope } from './fixtures/scope.ts'
import { ingestWhole, serve } from './fixtures/service.ts'
import { recordingPath, SAMPLE } from './fixtures/shared.ts'
import { openStore, STORE_KINDS } from './fixtures/stores.ts'

const PATH = '/api/v2/funding-estimates/'

/** What the core sent last of each market's running period in a block, but where a point followed in the block. */
function coreEstimates(records: readonly StreamRecord[]): Map<string, PerpetualData> {
  const envelope = createEnvelope()
  const found = new Map<string, PerpetualData>()
  for (const { bytes } of records) {
    readEnvelope(bytes, RECORD_HEADER_BYTES, bytes.length, envelope)
    const event = decodeEvent(envelope, () => {})
    if (event?.kind === 'funding-period-data-point') found.delete(event.marketId)
    if (event?.kind !== 'market-data') continue
    const data = perpetualDataOf(event)
    if (data !== null) found.set(event.marketId, data)
  }
  return found
}

/** An event of a block: a point so many seconds before the block, an auction begun or left. */
type Step = { kind: 'point'; source: 1 | 2; late: number } | { kind: 'auction'; leave: boolean }

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: pointSteps() },
  fc.record({ kind: fc.constant('auction' as const), leave: fc.boolean() }),
)

function pointSteps(): fc.Arbitrary<Step> {
  const late = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: -3, max: 12 }))
  return fc.record({
    kind: fc.constant('point' as const),
    source: fc.constantFrom(1 as const, 2 as const),
    late,
  })
}

const seldom = fc.integer({ min: 0, max: 9 }).map((number) => number === 0)

const blocks = fc.record({
  leavesGap: fc.integer({ min: 0, max: 29 }).map((number) => number === 0),
  isAsked: fc.boolean(),
  changes: seldom,
  steps: fc.array(steps, { maxLength: 3 }),
})

function eventOf(step: Step, seq: number, height: number): MarketEvent {
  if (step.kind === 'auction') {
    const { leave } = step
    const times = { start: timeOf(height), end: leave ? timeOf(height) : 0n }
    return { kind: 'auction', marketId: LIVE_MARKET, openingAuction: false, leave, ...times }
  }
  return {
    ...pointAt(height, { source: step.source }),
    ...{ seq: BigInt(seq), timestamp: timeOf(height - step.late) },
  }
}

function periodOf(seq: number, start: bigint, end: bigint | null): MarketEvent {
  const unset = { fundingPayment: null, fundingRate: null, internalTwap: null, externalTwap: null }
  return { kind: 'funding-period', marketId: LIVE_MARKET, seq: BigInt(seq), start, end, ...unset }
}

/** The start of a period with the points that it takes along, of both sources. */
function openingOf(seq: number, height: number): MarketEvent[] {
  const carried = ([1, 2] as const).map((source) => eventOf({ kind: 'point', source, late: 1 }, seq, height))
  return [periodOf(seq, timeOf(height), null), ...carried]
}

for (const kind of STORE_KINDS) {
  describe(`the estimate of a running funding period (${kind.name})`, () => {
    for (const name of ['perps-calm-named', 'perps-long-named']) {
      test(`is the core's own, block after block of ${name}`, async (t) => {
        const records = recordsOf(readRecording(recordingPath(`${name}.evts.gz`)!))
        const heights = [...new Set(records.map(({ height }) => height))]
        const every = scaled(61, 7)
        const store = kind.create(t)
        let base: string | null = null
        let compared = 0
        let last = 0
        for (const height of heights.filter((_, index) => index % every === 40 % every)) {
          const piece = records.filter((record) => record.height > last && record.height <= height)
          last = height
          const { failure } = await ingestBytes(t, store, joinRecords(piece))
          assert.equal(failure, null)
          base ??= await serve(t, store)
          for (const [marketId, data] of coreEstimates(piece.filter((record) => record.height === height))) {
            const answer = await send(base, `${PATH}${marketId.toUpperCase()}`)
            assert.equal(answer.status, 200)
            assert.equal(answer.headers['x-block-height'], String(height))
            const { fundingEstimate } = JSON.parse(answer.text)
            if (data.fundingPayment === null || data.internalTwap === null || data.externalTwap === null) {
              assert.equal(fundingEstimate, null)
              continue
            }
            assert.ok(fundingEstimate !== null, `${marketId} at ${height}`)
            const { fundingPayment, fundingRate, internalTwap, externalTwap, seq, start } = fundingEstimate
            assert.deepEqual(
              { fundingPayment, fundingRate, internalTwap, externalTwap, seq, start },
              {
                fundingPayment: data.fundingPayment,
                fundingRate: data.fundingRate,
                internalTwap: data.internalTwap,
                externalTwap: data.externalTwap,
                seq: String(data.seq),
                start: String(data.start),
              },
              `${marketId} at ${height}`,
            )
            compared++
          }
        }
        assert.ok(compared > 20, `${compared} compared`)
      })
    }

    test('goes on from that of an earlier commit, and is then as one made anew', async () => {
      const property = fc.asyncProperty(fc.array(blocks, { minLength: 1, maxLength: 40 }), (all) =>
        inScope(async (scope) => {
          const store = kind.create(scope)
          const live = await openLiveStore(scope, store)
          const reader = await openStore(store).openReader()
          scope.after(() => reader.close())
          const kept = createReports(reader)
          let [seq, began] = [0, 1]
          const points = new Set<string>()
          const isFirst = ({ seq, source, timestamp }: FundingPeriodDataPointEvent) => {
            const { size } = points
            return points.add(`${seq} ${source} ${timestamp}`).size > size
          }
          const opening = (seq: number, height: number) =>
            openingOf(seq, height).filter(
              (event) => event.kind !== 'funding-period-data-point' || isFirst(event),
            )
          await live.commit(1, [perpetualMarket(LIVE_MARKET), ...opening(0, 1)])
          for (const [index, { leavesGap, isAsked, changes, steps }] of all.entries()) {
            const height = live.height + (leavesGap ? 2 : 1)
            // The core refuses a second point of a period, source and time.
            const events = steps
              .map((step) => eventOf(step, seq, height))
              .filter((event) => event.kind !== 'funding-period-data-point' || isFirst(event))
            if (changes) {
              events.push(periodOf(seq, timeOf(began), timeOf(height)), ...opening(++seq, height))
              began = height
            }
            await live.commit(height, events)
            if (!isAsked && index < all.length - 1) continue
            const asked = { fundingEstimate: LIVE_MARKET }
            const [after, anew] = [await kept(asked), await createReports(reader)(asked)]
            assert.equal(after?.body.toString(), anew?.body.toString())
            estimates.add(anew!.body.toString())
          }
        }),
      )
      const estimates = new Set<string>()
      await fc.assert(property, { numRuns: scaled(20, 400) })
      assert.ok(estimates.size > 20, `${estimates.size} different ones`)
    })

    test('reads what has come since an earlier commit, not all of the period', async (t) => {
      const store = kind.create(t)
      const live = await openLiveStore(t, store)
      await live.commit(1, [perpetualMarket(LIVE_MARKET), ...openingOf(0, 1)])
      for (let height = 2; height < 400; height++)
        await live.commit(height, [eventOf({ kind: 'point', source: 2, late: 0 }, 0, height)])
      const reader = await openStore(store).openReader()
      t.after(() => reader.close())
      const kept = createKeptEstimates()
      const taken: FundingInputsAt[] = []
      const estimates: EstimateMaker = {
        ...kept,
        make: (marketId, at) => {
          taken.push(at)
          return kept.make(marketId, at)
        },
      }
      const take = async () => {
        const found = await reader.read(() => readEstimate(LIVE_MARKET, estimates))
        assert.equal(typeof found?.estimate, 'string')
        return taken.at(-1)?.inputs?.events.length
      }
      assert.equal(await take(), 401)
      for (let height = 400; height < 402; height++)
        await live.commit(height, [eventOf({ kind: 'point', source: 2, late: 0 }, 0, height)])
      assert.equal(await take(), 2)
      assert.equal(taken.length, 2)
      // Inputs that continue another estimate than the last one are of no use.
      assert.equal(kept.make(LIVE_MARKET, taken.at(-1)!), undefined)
    })

    test('is null where parameters are not known, and for a market that is not known', async (t) => {
      const store = kind.create(t)
      await ingestWhole(store, SAMPLE)
      const base = await serve(t, store)
      const { coverage } = JSON.parse((await send(base, '/api/v2/coverage')).text)
      for (const id of [coverage.fundingPeriods[0].marketId, idOf('9')]) {
        const answer = await send(base, `${PATH}${id}`)
        assert.deepEqual([answer.status, answer.text], [200, '{"fundingEstimate":null}'])
      }
      assert.equal((await send(base, PATH)).status, 400)
      assert.match((await send(base, PATH)).text, /10003/)
      assert.match((await send(base, `${PATH}abc`)).text, /10000/)
      assert.equal((await send(base, `${PATH}${idOf('9')}/`)).status, 404)
    })
  })
}

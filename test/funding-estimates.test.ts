import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createEnvelope, readEnvelope } from '../src/events/bus-event.ts'
import { decodeEvent } from '../src/events/decode.ts'
import type { PerpetualData } from '../src/events/event.ts'
import { perpetualDataOf } from '../src/events/market-data.ts'
import { RECORD_HEADER_BYTES } from '../src/records/record-framer.ts'
import { idOf, joinRecords, readRecording, recordsOf, type StreamRecord } from './fixtures/event-stream.ts'
import { send } from './fixtures/http.ts'
import { ingestBytes } from './fixtures/ingest-bytes.ts'
import { scaled } from './fixtures/scale.ts'
import { ingestWhole, serve } from './fixtures/service.ts'
import { recordingPath, SAMPLE } from './fixtures/shared.ts'
import { STORE_KINDS } from './fixtures/stores.ts'

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

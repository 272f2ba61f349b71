import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { MAX_FILE_ROWS } from '#service/questions/csv-file'
import { createLyraClient, type PositionFunding } from '../../client/src/index.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import { inUnits } from '../fixtures/events/made-rates.ts'
import { createRandom } from '../fixtures/random.ts'
import { getJson, nodesOf, send } from '../fixtures/requests/http.ts'
import { runsOf } from '../fixtures/sampling.ts'
import { serveFile } from '../fixtures/services/service.ts'
import { recordingPath } from '../fixtures/shared.ts'
import { LIVE_MARKET, periodEvent, serveLive, timeOf } from '../fixtures/stores/live-store.ts'
import { describeOn, STORE_KINDS } from '../fixtures/stores/stores.ts'

type Period = { seq: string; start: string; end?: string; fundingPayment?: string; fundingRate?: string }

const paymentsOf = async (base: string, marketId: string, query = '') =>
  (await getJson<{ positionFunding: PositionFunding }>(base, `/api/v2/position-funding/${marketId}?${query}`))
    .positionFunding

/** A decimal as an integer of units of 10^-40; texts of this test have no exponent. */
const exact = (text: string) => inUnits(text, 40)

/** The expected answer, calculated from the market's periods. */
function expectedOf(periods: readonly Period[], units: string, from: bigint, to: bigint) {
  const ended = periods.filter(({ end }) => end !== undefined && BigInt(end) >= from && BigInt(end) < to)
  const paid = ended.filter(({ fundingPayment }) => fundingPayment !== undefined)
  const amounts = paid.map(({ fundingPayment }) => (-exact(fundingPayment!) * exact(units)) / 10n ** 40n)
  const sum = (values: readonly bigint[]) => values.reduce((a, b) => a + b, 0n)
  return {
    count: paid.length,
    total: sum(amounts),
    sumOfRates: sum(paid.map(({ fundingRate }) => exact(fundingRate!))),
    seqs: paid.map(({ seq }) => seq).reverse(),
    amounts: amounts.toReversed(),
    firstEnd: paid[0]?.end ?? null,
    lastEnd: paid.at(-1)?.end ?? null,
  }
}

const NO_TOTALS = {
  count: null,
  total: null,
  sumOfRates: null,
  averageRate: null,
  firstEnd: null,
  lastEnd: null,
  completeFrom: null,
  missing: null,
}

describeOn(STORE_KINDS, 'the payments of a position', (kind) => {
  for (const name of ['perps-long', 'perps-calm', 'four-periods']) {
    test(`follow from the periods of ${name}, for every range and size`, async (t) => {
      const path = recordingPath(`${name}.evts.gz`)
      if (path === null) return t.skip('the recording is missing')
      const base = await serveFile(kind, path)
      const instruments = await nodesOf(base, '/api/v2/instruments')
      const random = createRandom(name.length)
      for (const marketId of instruments.map((node) => String(node.marketId))) {
        const periods = (await nodesOf(base, `/api/v2/funding-periods/${marketId}`, [
          ['pagination.newestFirst', 'false'],
        ])) as unknown as Period[]
        const ends = periods.flatMap(({ end }) => (end === undefined ? [] : [BigInt(end)]))
        for (let run = 0; run < runsOf('comparison', kind); run++) {
          const anyTime = () => ends[random.integer(ends.length)]! + BigInt(random.integer(3) - 1)
          const [from, to] = run === 0 ? [0n, 2n ** 63n - 1n] : [anyTime(), anyTime()]
          const units = ['1', '-1', '0.25', '-12.5', '1000000'][run % 5]!
          const expected = expectedOf(periods, units, from, to)
          const query = `dateRange.startTimestamp=${from}&dateRange.endTimestamp=${to}&units=${units}`
          const found = await paymentsOf(base, marketId, query)
          const { count, total, sumOfRates, firstEnd, lastEnd, payments } = found
          assert.deepEqual(
            {
              count,
              firstEnd,
              lastEnd,
              total: exact(total!),
              sumOfRates: exact(sumOfRates!),
              seqs: payments.map(({ seq }) => seq),
              amounts: payments.map(({ amount }) => exact(amount)),
            },
            expected,
            query,
          )
          const average = found.averageRate === null ? null : exact(found.averageRate)
          if (expected.count === 0) assert.equal(average, null)
          else {
            const exact = expected.sumOfRates / BigInt(expected.count)
            const difference = average! > exact ? average! - exact : exact - average!
            assert.ok(2n * difference <= 10n ** 24n + 1n, `${query}: ${found.averageRate}`)
          }
          // In parts the payments are the same; the first part has the totals of the whole range, the others none.
          const size = 1 + random.integer(7)
          const parts: PositionFunding['payments'] = []
          let next: string | null = ''
          while (next !== null) {
            const part: PositionFunding = await paymentsOf(
              base,
              marketId,
              `${query}&pagination.first=${size}${next === '' ? '' : `&pagination.after=${next}`}`,
            )
            assert.deepEqual(
              { ...part, payments: [], next: null },
              { ...found, ...(next === '' ? {} : NO_TOTALS), payments: [], next: null },
              query,
            )
            assert.ok(part.payments.length === size || part.next === null)
            parts.push(...part.payments)
            next = part.next
          }
          assert.deepEqual(parts, found.payments, query)
          const totals = await paymentsOf(base, marketId, `${query}&pagination.first=0`)
          assert.deepEqual(totals, { ...found, payments: [], next: null }, query)
        }
      }
    })
  }

  const period = (seq: bigint, end: number | null, payment: string | null = null) =>
    periodEvent({
      seq,
      start: timeOf(Number(seq) * 10),
      end: end === null ? null : timeOf(end),
      fundingPayment: payment,
      fundingRate: payment === null ? null : '0.001',
    })

  test('are a CSV file of all payments in the range, with dates on request', async (t) => {
    const periods = [period(1n, 20, '100'), period(2n, 30, '-50'), period(3n, 40)]
    const { base } = await serveLive(t, kind, periods)
    const file = (query: string, options = {}) =>
      send(base, `/api/v2/position-funding/${LIVE_MARKET}?format=csv${query}`, options)
    const whole = await file('&units=-2')
    assert.equal(
      whole.text,
      `seq,end,fundingRate,amount\r\n2,${timeOf(30)},0.001,-100\r\n1,${timeOf(20)},0.001,200\r\n`,
    )
    const { etag, ...headers } = whole.headers
    assert.equal(headers['content-type'], 'text/csv; charset=utf-8; header=present')
    assert.equal(headers['content-disposition'], 'attachment; filename="positionFunding.csv"')
    assert.equal((await file('&units=-2', { headers: { 'if-none-match': etag } })).status, 304)
    // From memory, and indented: a file does not change.
    const again = await file('&units=-2')
    assert.deepEqual([again.text, again.headers['content-type']], [whole.text, headers['content-type']])
    assert.equal((await file('&units=-2&pretty')).text, whole.text)
    const packed = await file('&units=-2', { headers: { 'accept-encoding': 'gzip' } })
    assert.equal(gunzipSync(packed.body).toString(), whole.text)
    assert.match(
      (await file(`&times=iso&dateRange.endTimestamp=${timeOf(30)}`)).text,
      /\n1,20\S+Z,0.001,-100\r\n$/,
    )
    assert.equal(
      (await file(`&dateRange.startTimestamp=${timeOf(31)}`)).text,
      'seq,end,fundingRate,amount\r\n',
    )
    const client = createLyraClient({ url: base })
    const { total, payments } = await client.positionFunding(LIVE_MARKET, { units: '3' })
    assert.deepEqual([total, payments.length], ['-150', 2])
  })
})

test('a CSV file with too many payments is refused, never cut', async (t) => {
  const periods = Array.from({ length: MAX_FILE_ROWS + 1 }, (_, index) =>
    periodEvent({
      seq: BigInt(index),
      start: timeOf(index),
      end: timeOf(index + 1),
      fundingPayment: '1',
      fundingRate: '0.1',
    }),
  )
  const { base } = await serveLive(t, STORE_KINDS[0]!, periods)
  const file = `/api/v2/position-funding/${LIVE_MARKET}?format=csv`
  const { status, text } = await send(base, file)
  assert.equal(status, 400)
  assertSays(text, 'more rows than a CSV file may have')
  const { text: most } = await send(base, `${file}&dateRange.startTimestamp=${timeOf(2)}`)
  assert.equal(most.split('\r\n').length, MAX_FILE_ROWS + 2)
})

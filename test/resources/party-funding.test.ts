import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startOfSpan } from '#core/domain/calendar'
import { DAY, SECOND } from '#core/domain/time'
import { readPayments } from '#core/store/queries/payments/read-summands'
import { readStore } from '#core/store/read-store'
import {
  createLyraClient,
  type FundingLeadersAnswer,
  type PartyFundingAnswer,
} from '../../client/src/index.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import {
  fileOf,
  idOf,
  loss,
  MARKET,
  type MadeBlock,
  PARTY,
  payments,
} from '../fixtures/events/event-stream.ts'
import { paymentsOfMonth } from '../fixtures/events/payments-of-month.ts'
import { createRandom } from '../fixtures/random.ts'
import { getJson, send } from '../fixtures/requests/http.ts'
import { ingest, pruneBefore, serve, serveFile, storeOfBytes } from '../fixtures/services/service.ts'
import { MONTH } from '../fixtures/shared.ts'
import { describeOn, openStore, runSql, STORE_KINDS } from '../fixtures/stores/stores.ts'

const pathOf = (party: string, query = '') => `/api/v2/party-funding/${party}?${query}`
const fundingOf = (base: string, party: string, query = '') =>
  getJson<PartyFundingAnswer>(base, pathOf(party, query))

const [OTHER_PARTY, OTHER_MARKET] = [idOf('c'), idOf('d')]

/** The sums of some payments, added up on their own: amounts of `month` are integers. */
function sumsOf(rows: readonly Record<string, unknown>[]) {
  const changes = rows.map(({ amount, lossAmount }) => BigInt(String(amount)) + BigInt(String(lossAmount)))
  const received = changes.reduce((sum, change) => sum + (change > 0n ? change : 0n), 0n)
  const net = changes.reduce((sum, change) => sum + change, 0n)
  return {
    count: rows.length,
    received: `${received}`,
    paid: `${received - net}`,
    net: `${net}`,
    lossAmount: `${rows.reduce((sum, { lossAmount }) => sum + BigInt(String(lossAmount)), 0n)}`,
  }
}

/** What text a bucket of a time has: its first day, as a calendar says. */
function startText(time: bigint, interval: string): string {
  const date = new Date(Number(time / 1_000_000n))
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  const firstDay = { '1d': day, '1w': day - ((date.getUTCDay() + 6) % 7), '1M': 1 }[interval]
  return new Date(Date.UTC(year, month, firstDay)).toISOString().slice(0, 10)
}

/** Several payments at times in seconds, of a party or the other one. */
const paidAt = (height: number, amounts: [string, string][], seq = height, marketId = MARKET): MadeBlock => ({
  height,
  events: [payments(amounts, { seq, marketId })],
})

test('days, weeks from Monday and months start in UTC, also before 1970', () => {
  const random = createRandom(1)
  const day = (text: string) => BigInt(Date.parse(text)) * 1_000_000n
  for (let at = 0; at < 2_000; at++) {
    const time = BigInt(random.integer(8_000_000_000) - 3_000_000_000) * SECOND + BigInt(random.integer(3))
    for (const span of ['1d', '1w', '1M'] as const) {
      const start = startOfSpan(time, span)
      assert.ok(start <= time, `${time} ${span}`)
      assert.equal(start, day(startText(time < 0n ? time - 999_999n : time, span)), `${time} ${span}`)
    }
  }
  assert.equal(startOfSpan(day('2024-09-30') + DAY - 1n, '1M'), day('2024-09-01'))
  assert.equal(startOfSpan(day('2024-09-30') + DAY, '1M'), day('2024-10-01'))
  assert.equal(startOfSpan(day('2024-09-29') + DAY - 1n, '1w'), day('2024-09-23'))
  assert.equal(startOfSpan(-1n, '1d'), -DAY)
})

describeOn(STORE_KINDS, 'the sums of what a party paid and received', (kind) => {
  test('of a month are those of its events, in all, and by day, week and month', async () => {
    const base = await serveFile(kind, MONTH)
    const all = paymentsOfMonth()
    const parties = [...new Set(all.map(({ partyId }) => String(partyId)))]
    assert.ok(parties.length > 5)
    for (const party of [...parties, 'network', idOf('0')]) {
      const own = all.filter(({ partyId }) => partyId === party)
      const markets = [...new Set(own.map(({ marketId }) => String(marketId)))].sort()
      const { partyFunding, missing, since } = await fundingOf(base, party)
      assert.deepEqual([partyFunding.partyId, missing, since], [party, [], null])
      assert.deepEqual(
        partyFunding.markets,
        markets.map((market) => ({
          marketId: market,
          ...sumsOf(own.filter(({ marketId }) => marketId === market)),
        })),
      )
    }
    const [party] = parties
    const own = all.filter(({ partyId }) => partyId === party)
    const market = String(own[0]!.marketId)
    const [from, to] = [1_726_000_000_123_456_789n, 1_727_654_400_000_000_000n]
    const within = own.filter(
      ({ marketId, timestamp }) =>
        marketId === market && BigInt(String(timestamp)) >= from && BigInt(String(timestamp)) < to,
    )
    assert.ok(within.length > 10)
    const range = `dateRange.startTimestamp=${from}&dateRange.endTimestamp=${to}&marketId=${market.toUpperCase()}`
    for (const interval of ['1d', '1w', '1M']) {
      const starts = new Set(within.map(({ timestamp }) => startText(BigInt(String(timestamp)), interval)))
      const buckets = [...starts].sort().map((start) => ({
        start: `${BigInt(Date.parse(start)) * 1_000_000n}`,
        ...sumsOf(within.filter(({ timestamp }) => startText(BigInt(String(timestamp)), interval) === start)),
      }))
      const { partyFunding } = await fundingOf(base, party!, `${range}&interval=${interval}`)
      assert.deepEqual(partyFunding.markets, [{ marketId: market, ...sumsOf(within), buckets }], interval)
      const { text, headers } = await send(base, pathOf(party!, `${range}&interval=${interval}&format=csv`))
      const lines = buckets.map(({ start, ...sums }) => [market, start, ...Object.values(sums)].join(','))
      assert.deepEqual(text.trimEnd().split('\r\n'), [
        'marketId,start,count,received,paid,net,lossAmount',
        ...lines,
      ])
      assertSays(headers['content-disposition']!, 'filename="partyFunding.csv"')
      assert.deepEqual([headers['x-missing-blocks'], headers['x-since']], [undefined, undefined])
    }
    const { text } = await send(base, pathOf(party!, `${range}&format=csv`))
    assert.equal(
      text,
      `marketId,count,received,paid,net,lossAmount\r\n${market},${Object.values(sumsOf(within))}\r\n`,
    )
    const iso = await send(base, pathOf(party!, `${range}&interval=1M&times=iso`))
    assertSays(iso.text, '"start":"2024-09-01T00:00:00.000000000Z"')
  })

  test('are after losses, exact beyond 64 bits, and of the last event of a payment', async (t) => {
    const huge = `${2n ** 90n}`
    const store = await storeOfBytes(
      t,
      kind,
      fileOf(
        {
          height: 2,
          events: [
            payments([
              [PARTY, '1000'],
              [OTHER_PARTY, '-1000'],
            ]),
            loss('-400'),
            loss('250', { party: OTHER_PARTY }),
          ],
        },
        paidAt(3, [[PARTY, huge]]),
        paidAt(4, [[PARTY, `-${huge}`]]),
        paidAt(5, [[PARTY, '0.25']]),
        paidAt(6, [[PARTY, '7']], 9, OTHER_MARKET),
        paidAt(7, [[PARTY, '-8']], 9, OTHER_MARKET),
        // Too large to calculate with.
        paidAt(8, [[PARTY, '1e9999']], 10, OTHER_MARKET),
      ),
    )
    const base = await serve(t, store)
    assert.deepEqual((await fundingOf(base, PARTY)).partyFunding.markets, [
      {
        marketId: MARKET,
        count: 4,
        received: `${2n ** 90n + 600n}.25`,
        paid: huge,
        net: '600.25',
        lossAmount: '-400',
      },
      { marketId: OTHER_MARKET, count: 1, received: '0', paid: '8', net: '-8', lossAmount: '0' },
    ])
    assert.deepEqual((await fundingOf(base, OTHER_PARTY)).partyFunding.markets, [
      { marketId: MARKET, count: 1, received: '0', paid: '750', net: '-750', lossAmount: '0' },
    ])
  })

  test('are of [start, end), and say which blocks are missing there', async (t) => {
    const store = kind.create(t)
    const blocks = [10, 11, 20, 30].map((height) => paidAt(height, [[PARTY, `${height}`]]))
    await ingest(store, fileOf(...blocks), { allowGap: true })
    const base = await serve(t, store)
    const range = (from: number, to: number) =>
      `dateRange.startTimestamp=${from}000000000&dateRange.endTimestamp=${to}000000000`
    const netOf = ({ partyFunding }: PartyFundingAnswer) => partyFunding.markets.map(({ net }) => net)
    for (const filter of ['', `&marketId=${MARKET}`]) {
      assert.deepEqual(netOf(await fundingOf(base, PARTY, range(10, 20) + filter)), ['21'])
      assert.deepEqual(netOf(await fundingOf(base, PARTY, range(11, 31) + filter)), ['61'])
      assert.deepEqual(netOf(await fundingOf(base, PARTY, range(31, 10) + filter)), [])
    }
    const missingIn = async (query: string) =>
      (await fundingOf(base, PARTY, query)).missing.map(({ from, to }) => `${from}-${to}`)
    assert.deepEqual(await missingIn(''), ['12-19', '21-29'])
    assert.deepEqual(await missingIn(range(21, 25)), ['21-29'])
    assert.deepEqual(await missingIn(range(5, 11)), [])
    await runSql(store, "insert into since values ('fundingPayments', 20, 20000000000)")
    const served = await serve(t, store)
    assert.deepEqual((await fundingOf(served, PARTY)).since, { height: '20', start: '20000000000' })
    assert.equal((await fundingOf(served, PARTY, range(20, 30))).since, null)
    const { headers } = await send(served, pathOf(PARTY, 'format=csv'))
    assert.deepEqual([headers['x-missing-blocks'], headers['x-since']], ['12-19, 21-29', '20'])
    const cached = await send(served, pathOf(PARTY, 'format=csv'))
    assert.equal(cached.headers['x-missing-blocks'], '12-19, 21-29')
  })

  test('say from when the payments have not been pruned', async (t) => {
    const blocks = [10, 11, 12, 13].map((height) => paidAt(height, [[PARTY, '1']]))
    const store = await storeOfBytes(t, kind, fileOf(...blocks))
    const answered = async (query = '') => {
      const { partyFunding, since } = await fundingOf(await serve(t, store), PARTY, query)
      return [partyFunding.markets[0]!.net, since]
    }
    assert.deepEqual(await answered(), ['4', null])
    await pruneBefore(store, 11n)
    assert.deepEqual(await answered(), ['3', { height: '11', start: '11000000000' }])
    await pruneBefore(store, 11_500_000_000n, 'time')
    assert.deepEqual(await answered(), ['2', { height: '12', start: '11500000000' }])
    assert.deepEqual(await answered('dateRange.startTimestamp=12000000000'), ['2', null])
    await pruneBefore(store, 20_000_000_000n, 'time')
    const { partyFunding, since } = await fundingOf(await serve(t, store), PARTY)
    assert.deepEqual([partyFunding.markets, since], [[], { height: '13', start: '20000000000' }])
  })

  test('of a selection are read in parts, and not at all if it has too many payments', async (t) => {
    const MOST = 12_000
    const parties = Array.from({ length: 3_000 }, (_, index) => `${index}`.padStart(64, '0'))
    const blocks = [2, 3, 4, 5].map((height) =>
      paidAt(
        height,
        parties.map((party) => [party, '1']),
      ),
    )
    const store = openStore(await storeOfBytes(t, kind, fileOf(...blocks)))
    const read = async (most: number) => {
      let sum = 0n
      const count = await readStore(store, () =>
        readPayments(
          { marketId: MARKET, partyId: null },
          { start: null, end: null },
          most,
          ({ received }) => {
            sum += received.digits
          },
        ),
      )
      return [count, sum]
    }
    assert.deepEqual(await read(MOST), [MOST, BigInt(MOST)])
    assert.equal((await read(MOST - 1))[0], null)
  })

  test('of thousands of periods are read in the order of numbers, not of texts', async (t) => {
    const PERIODS = 6_000
    // Times and seqs of one digit up to four.
    const blocks = Array.from({ length: PERIODS }, (_, index) => paidAt(index + 2, [[PARTY, '1']], index + 1))
    const base = await serve(t, await storeOfBytes(t, kind, fileOf(...blocks)))
    for (const query of ['', `marketId=${MARKET}`]) {
      const [funding] = (await fundingOf(base, PARTY, query)).partyFunding.markets
      assert.deepEqual([funding!.count, funding!.net], [PERIODS, `${PERIODS}`], query)
    }
    const { fundingLeaders } = await getJson<FundingLeadersAnswer>(
      base,
      `/api/v2/funding-leaders?marketId=${MARKET}`,
    )
    assert.deepEqual([fundingLeaders.parties, fundingLeaders.leaders[0]!.count], [1, PERIODS])
  })

  test('are refused for malformed ids, intervals and ranges, and unknown parameters', async (t) => {
    const base = await serve(t, await storeOfBytes(t, kind, fileOf(paidAt(2, [[PARTY, '1']]))))
    const refused: [path: string, said: string][] = [
      [pathOf(''), '"code":10000,"message":"invalid party ID"'],
      [pathOf('abc'), '"code":10000,"message":"invalid party ID"'],
      [pathOf(PARTY, 'marketId=abc'), '"code":10000,"message":"invalid market ID"'],
      [pathOf(PARTY, 'interval=1h'), 'interval must be one of 1d, 1w, 1M, all'],
      [pathOf(PARTY, 'dateRange.startTimestamp=2024-09-01'), 'start_timestamp'],
      [pathOf(PARTY, 'pagination.first=1'), 'unknown parameter'],
    ]
    for (const [path, said] of refused) {
      const { status, text } = await send(base, path)
      assert.equal(status, 400, path)
      assertSays(text, said)
    }
    assert.deepEqual(
      (await fundingOf(base, PARTY.toUpperCase(), 'interval=all')).partyFunding.markets.length,
      1,
    )
  })

  test('are 503 in an empty store, and an object with what is missing in the client', async (t) => {
    const store = kind.create(t)
    const base = await serve(t, store)
    assert.equal((await send(base, pathOf(PARTY))).status, 503)
    await ingest(store, fileOf(paidAt(2, [[PARTY, '5']]), paidAt(4, [[PARTY, '6']])), {
      allowGap: true,
    })
    const client = createLyraClient({ url: base })
    const answer = await client.partyFunding(PARTY, { interval: '1d', from: new Date(0) })
    assert.deepEqual(
      [answer.partyFunding.markets[0]!.buckets!.map(({ net }) => net), answer.missing.length, answer.since],
      [['11'], 1, null],
    )
    await assert.rejects(client.partyFunding(''), TypeError)
  })
})

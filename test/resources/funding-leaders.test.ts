import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLyraClient, type FundingLeadersAnswer } from '../../client/src/index.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import { fileOf, idOf, loss, MARKET, PARTY, payments } from '../fixtures/events/event-stream.ts'
import { paymentsOfMonth } from '../fixtures/events/payments-of-month.ts'
import { getJson, send } from '../fixtures/requests/http.ts'
import { ingest, serve, serveFile, storeOfBytes } from '../fixtures/services/service.ts'
import { MONTH } from '../fixtures/shared.ts'
import { describeOn, STORE_KINDS } from '../fixtures/stores/stores.ts'

const PATH = '/api/v2/funding-leaders'
const leadersOf = (base: string, query: string) => getJson<FundingLeadersAnswer>(base, `${PATH}?${query}`)

/** The parties of some payments with their sums, the greatest first, added up on their own: amounts of `month` are integers. */
function rankedBy(order: 'net' | 'received' | 'paid', rows: ReturnType<typeof paymentsOfMonth>) {
  const parties = new Map<string, { count: number; received: bigint; paid: bigint; net: bigint }>()
  for (const { partyId, amount } of rows) {
    if (partyId === 'network') continue
    const change = BigInt(String(amount))
    const sums = parties.get(String(partyId)) ?? { count: 0, received: 0n, paid: 0n, net: 0n }
    parties.set(String(partyId), {
      count: sums.count + 1,
      received: sums.received + (change > 0n ? change : 0n),
      paid: sums.paid - (change < 0n ? change : 0n),
      net: sums.net + change,
    })
  }
  return [...parties]
    .sort(([a, one], [b, other]) => {
      if (one[order] !== other[order]) return one[order] > other[order] ? -1 : 1
      return a < b ? -1 : 1
    })
    .map(([partyId, { count, received, paid, net }]) => ({
      partyId,
      count,
      received: `${received}`,
      paid: `${paid}`,
      net: `${net}`,
    }))
}

describeOn(STORE_KINDS, 'the parties that received or paid most', (kind) => {
  test('in a market, and in all markets of an asset, are those of the events of a month', async () => {
    const base = await serveFile(kind, MONTH)
    const all = paymentsOfMonth()
    const { instruments } = await getJson<{
      instruments: { edges: { node: { marketId: string; settlementAsset: { id: string } | null } }[] }
    }>(base, '/api/v2/instruments')
    const assetOf = new Map(
      instruments.edges.map(({ node: { marketId, settlementAsset } }) => [marketId, settlementAsset?.id]),
    )
    const [from, to] = [1_726_000_000_000_000_000n, 1_727_000_000_000_000_000n]
    const within = all.filter(
      ({ timestamp }) => BigInt(String(timestamp)) >= from && BigInt(String(timestamp)) < to,
    )
    const range = `&dateRange.startTimestamp=${from}&dateRange.endTimestamp=${to}`
    let compared = 0
    for (const order of ['net', 'received', 'paid'] as const) {
      for (const market of new Set(all.map(({ marketId }) => String(marketId)))) {
        const ranked = rankedBy(
          order,
          all.filter(({ marketId }) => marketId === market),
        )
        const { fundingLeaders, missing, since } = await leadersOf(base, `marketId=${market}&order=${order}`)
        assert.deepEqual(fundingLeaders, { parties: ranked.length, leaders: ranked.slice(0, 20) })
        assert.deepEqual([missing, since], [[], null])
      }
      for (const asset of new Set(assetOf.values())) {
        const ranked = rankedBy(
          order,
          within.filter(({ marketId }) => assetOf.get(String(marketId)) === asset),
        )
        const query = `assetId=${asset}&order=${order}&pagination.first=3${range}`
        const { fundingLeaders } = await leadersOf(base, query)
        assert.deepEqual(fundingLeaders, { parties: ranked.length, leaders: ranked.slice(0, 3) })
        compared += ranked.length
      }
    }
    assert.ok(compared > 10, `${compared}`)
  })

  test('are after losses, by id if equal, without the network, and none in a market or asset without payments', async (t) => {
    const [first, second, third] = [idOf('1'), idOf('2'), idOf('3')]
    const paid = payments([
      [second, '500'],
      [first, '500'],
      [third, '900'],
      ['network', '5000'],
      [PARTY, '-1900'],
    ])
    const store = await storeOfBytes(
      t,
      kind,
      fileOf({ height: 2, events: [paid, loss('-600', { party: third })] }),
    )
    const base = await serve(t, store)
    const shown = async (query: string) =>
      (await leadersOf(base, query)).fundingLeaders.leaders.map(({ partyId, net }) => `${partyId[0]} ${net}`)
    assert.deepEqual(await shown(`marketId=${MARKET}`), ['1 500', '2 500', '3 300', 'b -1900'])
    assert.deepEqual(await shown(`market_id=${MARKET}&order=paid&pagination.first=1`), ['b -1900'])
    for (const query of [`marketId=${idOf('0')}`, `assetId=${idOf('0')}`, 'assetId=XYZalpha']) {
      const { fundingLeaders } = await leadersOf(base, query)
      assert.deepEqual(fundingLeaders, { parties: 0, leaders: [] }, query)
    }
  })

  test('need a market or an asset and not both, say which blocks are missing, and are 503 in an empty store', async (t) => {
    const store = kind.create(t)
    const base = await serve(t, store)
    assert.equal((await send(base, `${PATH}?marketId=${MARKET}`)).status, 503)
    for (const query of ['', `marketId=${MARKET}&assetId=${MARKET}`]) {
      const { status, text } = await send(base, `${PATH}?${query}`)
      assert.equal(status, 400, query)
      const { code, message, details } = JSON.parse(text)
      assert.deepEqual([code, details], [3, []])
      assertSays(message, 'give either marketId or assetId')
    }
    const blocks = [2, 5].map((height) => ({
      height,
      events: [payments([[PARTY, '1']], { seq: height })],
    }))
    await ingest(store, fileOf(...blocks), { allowGap: true })
    const answer = await createLyraClient({ url: base }).fundingLeaders({
      marketId: MARKET,
      order: 'received',
    })
    assert.deepEqual(
      [answer.fundingLeaders.leaders.map(({ received }) => received), answer.missing.map(({ from }) => from)],
      [['2'], ['3']],
    )
  })
})

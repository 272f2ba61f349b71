import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextRound } from 'node:timers/promises'
import { DAY } from '#core/domain/time'
import { ingestFiles } from '#core/ingest/ingest-files'
import { findEventFiles } from '#core/records/event-paths'
import { dailySumTable } from '#core/resources/funding-payments/table'
import { readFundingLeaders } from '#core/store/queries/payments/funding-leaders'
import { readPartyFunding } from '#core/store/queries/payments/party-funding'
import { versionOfTable } from '#core/store/schema-version'
import type { FundingLeadersAnswer, PartyFundingAnswer } from '../../../client/src/index.ts'
import {
  fileOf,
  idOf,
  loss,
  MARKET,
  type MadeBlock,
  PARTY,
  payments,
} from '../../fixtures/events/event-stream.ts'
import { schemaOf, takeBack } from '../../fixtures/old-stores/old-store.ts'
import { createRandom } from '../../fixtures/random.ts'
import { getJson } from '../../fixtures/requests/http.ts'
import { runsOf } from '../../fixtures/sampling.ts'
import { ingest, pruneBefore, SILENT, serve, storeOfBytes } from '../../fixtures/services/service.ts'
import { assertSound, checkWithFiles } from '../../fixtures/stores/check.ts'
import { dumpStore } from '../../fixtures/stores/dump-store.ts'
import {
  describeOn,
  fileWith,
  openReader,
  openStore,
  runSql,
  STORE_KINDS,
  sqlite,
} from '../../fixtures/stores/stores.ts'

/*
 * Which days have sums, and that they are those of the payments, is shown by test/store/content/store-model.test.ts after any commands. Here
 * are cases that it hardly finds, and what answers make of the sums.
 */

const OTHER_MARKET = idOf('d')

type Paid = { amounts: [party: string, amount: string][]; seq?: number; marketId?: string; lost?: string }

/** A block at a time in days. */
const paidOn = (height: number, day: number, ...paid: Paid[]): MadeBlock => ({
  height,
  time: BigInt(Math.round(day * 1_000)) * (DAY / 1_000n),
  events: paid.flatMap(({ amounts, seq = height, marketId = MARKET, lost }) => [
    payments(amounts, { seq, marketId }),
    ...(lost === undefined ? [] : [loss(lost, { party: amounts[0]![0], marketId })]),
  ]),
})

/** The stored sums: market, day, party, payments, received, paid and loss. */
async function sumsOf(store: string): Promise<unknown[]> {
  const { funding_daily_sums: rows } = await dumpStore(store)
  return rows!.map((row) => JSON.parse(row))
}

const fundingOf = async (base: string, party: string, query = '') => {
  const { partyFunding } = await getJson<PartyFundingAnswer>(base, `/api/v2/party-funding/${party}?${query}`)
  return partyFunding.markets
}

describeOn(STORE_KINDS, 'sums of days', (kind) => {
  test('follow the payments, also if these move to another day, or their block is replaced', async (t) => {
    const store = await storeOfBytes(
      t,
      kind,
      fileOf(
        paidOn(1, 10.5, { amounts: [[PARTY, '5']], lost: '-2' }),
        paidOn(2, 10.9, { amounts: [[PARTY, '-7']] }, { amounts: [[PARTY, '1']], marketId: OTHER_MARKET }),
        paidOn(3, 11, { amounts: [[PARTY, '9']] }),
      ),
    )
    const tenth = [
      [OTHER_MARKET, '10', PARTY, '1', '1', '0', '0'],
      [MARKET, '10', PARTY, '2', '3', '7', '-2'],
    ].sort()
    assert.deepEqual((await sumsOf(store)).sort(), tenth)

    // An incomplete block begins another day, and what replaces it does not have the payment.
    const begun = paidOn(
      4,
      12,
      { amounts: [[PARTY, '3']] },
      { amounts: [[idOf('e'), '4']], marketId: OTHER_MARKET },
    )
    await ingest(store, fileOf({ ...begun, without: [2] }), { allowGap: true })
    assert.equal((await sumsOf(store)).length, 3)
    await ingest(store, fileOf({ ...begun, events: [] }))
    assert.deepEqual((await sumsOf(store)).sort(), tenth)

    // The second payment comes again, two days later: its first day has less.
    await ingest(store, fileOf(paidOn(5, 12.5, { amounts: [[PARTY, '-8']], seq: 2 })))
    assert.deepEqual(
      (await sumsOf(store)).sort(),
      [
        [OTHER_MARKET, '10', PARTY, '1', '1', '0', '0'],
        [MARKET, '10', PARTY, '1', '3', '0', '-2'],
        [MARKET, '11', PARTY, '1', '9', '0', '0'],
      ].sort(),
    )
    await assertSound(store)
  })

  test('are written for the first and the last day of 64-bit times, which are parts of days', async (t) => {
    const ends = [-(2n ** 63n), 2n ** 63n - 1n]
    const blocks = [...ends, ends[1]!].map((time, index) => ({
      ...paidOn(index + 1, 0, { amounts: [[PARTY, '5']] }),
      time,
    }))
    const store = kind.create(t)
    for (const block of blocks) await ingest(store, fileOf(block))
    assert.deepEqual((await checkWithFiles(store, fileWith(t, fileOf(...blocks)))).told, [])
  })

  test('go with payments of the last day of 64-bit times, whose end is none', async (t) => {
    const last = 2n ** 63n - 1n
    const paid = (height: number, time: bigint) => ({
      ...paidOn(height, 0, { amounts: [[PARTY, '5']] }),
      time,
    })
    const store = await storeOfBytes(
      t,
      kind,
      fileOf(paid(1, last - DAY), paid(2, last), { height: 3, time: last }),
    )
    assert.equal((await sumsOf(store)).length, 1)
    await pruneBefore(store, 3n)
    assert.deepEqual(await sumsOf(store), [])
    await assertSound(store)
    const base = await serve(t, store)
    assert.deepEqual(await fundingOf(base, PARTY), [])
    await ingest(store, fileOf(paid(4, last)))
    await assertSound(store)
    assert.equal((await fundingOf(base, PARTY))[0]!.received, '5')
  })

  test('are exact for any decimal numbers, and leave out those that are too long to calculate with', async (t) => {
    const nines = '9'.repeat(256)
    const store = await storeOfBytes(
      t,
      kind,
      fileOf(
        paidOn(1, 3, { amounts: [[PARTY, '0.1']] }),
        paidOn(2, 3.2, { amounts: [[PARTY, '2e2']] }),
        paidOn(3, 3.3, { amounts: [[PARTY, '1e999']] }),
        paidOn(4, 3.4, { amounts: [[idOf('e'), nines]] }),
        paidOn(5, 3.5, { amounts: [[idOf('e'), nines]] }),
        paidOn(6, 4, { amounts: [[PARTY, '1']] }),
      ),
    )
    const sum = `1${'9'.repeat(255)}8`
    assert.deepEqual((await sumsOf(store)).sort(), [
      [MARKET, '3', PARTY, '2', '200.1', '0', '0'],
      [MARKET, '3', idOf('e'), '2', sum, '0', '0'],
    ])
    await assertSound(store)
    const [funding] = await fundingOf(await serve(t, store), idOf('e'))
    assert.deepEqual([funding!.count, funding!.received], [2, sum])
  })

  test('give the same answers as the payments, in any range, before and after old ones are deleted', async (t) => {
    const random = createRandom(1)
    const parties = ['a', 'b', 'c'].map(idOf)
    const markets = [MARKET, OTHER_MARKET, idOf('9')]
    const made: { time: bigint; marketId: string; partyId: string; change: bigint; height: bigint }[] = []
    // Four blocks a day, from before 1970 on.
    const blocks = Array.from({ length: 100 }, (_, index) => {
      const block = paidOn(
        index + 1,
        (index - 40) / 4,
        ...markets
          .filter(() => random.integer(3) > 0)
          .map((marketId) => ({
            marketId,
            amounts: parties
              .filter(() => random.integer(3) > 0)
              .map((party): [string, string] => [party, `${random.integer(2_001) - 1_000}`]),
          })),
      )
      return block
    })
    const store = await storeOfBytes(t, kind, fileOf(...blocks))
    const { funding_payments: rows } = await dumpStore(store)
    for (const row of rows!) {
      const [marketId, partyId, , time, amount, , height] = JSON.parse(row) as string[]
      made.push({
        time: BigInt(time!),
        marketId: marketId!,
        partyId: partyId!,
        change: BigInt(amount!),
        height: BigInt(height!),
      })
    }
    assert.ok(made.length > 300)
    assert.ok((await sumsOf(store)).length > 100)

    const compare = async (left: typeof made) => {
      const base = await serve(t, store)
      for (let run = 0; run < runsOf('request', kind); run++) {
        const anyTime = () => (BigInt(random.integer(3_200) - 1_100) * DAY) / 100n + BigInt(random.integer(2))
        const [start, end] = [anyTime(), anyTime()].map((time) => (random.integer(4) === 0 ? null : time))
        const range = [
          ...(start == null ? [] : [`dateRange.startTimestamp=${start}`]),
          ...(end == null ? [] : [`dateRange.endTimestamp=${end}`]),
        ].join('&')
        const inRange = left.filter(
          ({ time }) => (start == null || time >= start) && (end == null || time < end),
        )
        const sumOf = (some: typeof made) => {
          const received = some.reduce((sum, { change }) => (change > 0n ? sum + change : sum), 0n)
          const net = some.reduce((sum, { change }) => sum + change, 0n)
          return [some.length, `${received}`, `${received - net}`, `${net}`]
        }
        const [party, market] = [parties[random.integer(3)]!, markets[random.integer(3)]!]
        const ofParty = inRange.filter(({ partyId }) => partyId === party)
        const query = random.integer(2) === 0 ? range : `${range}&marketId=${market}`
        const wanted = query === range ? markets : [market]
        const found = await fundingOf(base, party, `${query}&interval=1d`)
        assert.deepEqual(
          found.map(({ marketId, count, received, paid, net }) => [marketId, count, received, paid, net]),
          wanted
            .map((marketId) => [marketId, ...sumOf(ofParty.filter((one) => one.marketId === marketId))])
            .filter(([, count]) => count !== 0)
            .sort(),
          query,
        )
        for (const { marketId, buckets } of found) {
          for (const { start: day, ...bucket } of buckets ?? []) {
            const ofDay = ofParty.filter(
              ({ time, marketId: id }) => id === marketId && time >= BigInt(day) && time < BigInt(day) + DAY,
            )
            assert.deepEqual([bucket.count, bucket.received, bucket.paid, bucket.net], sumOf(ofDay), query)
          }
        }
        const { fundingLeaders } = await getJson<FundingLeadersAnswer>(
          base,
          `/api/v2/funding-leaders?marketId=${market}&${range}`,
        )
        const ofMarket = inRange.filter(({ marketId }) => marketId === market)
        assert.deepEqual(
          fundingLeaders.leaders
            .map(({ partyId, count, received, paid, net }) => [partyId, count, received, paid, net])
            .sort(),
          parties
            .map((partyId) => [partyId, ...sumOf(ofMarket.filter((one) => one.partyId === partyId))])
            .filter(([, count]) => count !== 0)
            .sort(),
          query,
        )
      }
    }
    await compare(made)
    await pruneBefore(store, 30n)
    const left = made.filter(({ height }) => height >= 30n)
    await compare(left)
    await pruneBefore(store, DAY / 3n, 'time')
    assert.ok((await sumsOf(store)).every((row) => Number((row as string[])[1]) > 0))
    await assertSound(store)
    await compare(left.filter(({ time }) => time >= DAY / 3n))
  })

  test('are not left out because of a payment that another machine of a cluster shows before its block is published', async (t) => {
    const both = (amount: string): Paid[] => [
      { amounts: [[PARTY, amount]] },
      { amounts: [[PARTY, amount]], marketId: OTHER_MARKET },
    ]
    const store = kind.create(t)
    const blocks = fileOf(paidOn(11, 1, ...both('1')), paidOn(12, 2, ...both('2')), paidOn(20, 2.5))
    await ingest(store, blocks, { allowGap: true })
    const base = await serve(t, store)
    // Below the first block, in a gap, and above the last block.
    for (const [height, day] of [
      [5n, 4n],
      [15n, 5n],
      [30n, 6n],
    ] as const) {
      await runSql(
        store,
        `insert into funding_payments (market_id, party_id, seq, timestamp, amount, loss_amount, height, event_index)
          values ('${MARKET}', '${PARTY}', ${height}, ${day * DAY}, '9', '0', ${height}, 1)`,
      )
      const [ofMarket, ofOther] = await fundingOf(base, PARTY)
      assert.deepEqual([ofOther!.marketId, ofOther!.received], [OTHER_MARKET, '3'], `${height}`)
      assert.ok(BigInt(ofMarket!.received) > 3n)
    }
  })

  test('are whole in answers while days are committed: of the block that an answer names, or of a later one', async (t) => {
    const markets = Array.from({ length: 12 }, (_, index) => idOf(index.toString(16)))
    const store = kind.create(t)
    const writer = await openStore(store).openWriter()
    t.after(() => writer.close())
    const first = 101
    // The first block pays 1, the next one 2, and so on, each on a day of its own.
    const commit = async (count: number) => {
      const amounts: [string, string][] = [[PARTY, `${count}`]]
      const block = paidOn(first + count - 1, count, ...markets.map((marketId) => ({ amounts, marketId })))
      const input = findEventFiles([fileWith(t, fileOf(block))])
      const { failure } = await ingestFiles({ input, writer, logger: SILENT, allowGap: false, strict: false })
      if (failure) throw failure
    }
    await commit(1)
    const reader = await openReader(t, store)
    let isCommitting = true
    let asked = 0
    const assertComplete = (height: string, sums: { count: number; received: string } | undefined) => {
      const { count, received } = sums ?? { count: 0, received: '0' }
      assert.ok(count > Number(height) - first, `${count} payments at block ${height}`)
      assert.equal(received, String((count * (count + 1)) / 2), `${count} payments at block ${height}`)
      asked++
    }
    const ask = async () => {
      const all = { start: null, end: null }
      while (isCommitting) {
        // SQLite reads at once, without a wait in which the writer could go on.
        await nextRound()
        const ofParty = await reader.read(() =>
          readPartyFunding({ partyId: PARTY, marketId: null, span: null, ...all }),
        )
        for (const id of markets)
          assertComplete(
            ofParty!.storeHead.height,
            ofParty!.markets.find(({ marketId }) => marketId === id),
          )
        for (const marketId of markets.slice(0, 2)) {
          const leaders = await reader.read(() =>
            readFundingLeaders({ marketId, assetId: null, order: 'net', limit: 1, ...all }),
          )
          assertComplete(leaders!.storeHead.height, leaders!.leaders[0])
        }
      }
    }
    const commitAll = async () => {
      try {
        for (let count = 2; count <= 50; count++) await commit(count)
      } finally {
        isCommitting = false
      }
    }
    await Promise.all([commitAll(), ...[1, 2, 3, 4].map(ask)])
    assert.ok(asked > 0)
  })

  test('are written by an upgrade for the payments that a store has', async (t) => {
    const blocks = [0, 1, 2, 3].flatMap((day) => [
      paidOn(
        2 * day + 1,
        day,
        { amounts: [[PARTY, '5']] },
        { amounts: [[PARTY, '2']], marketId: OTHER_MARKET },
      ),
      paidOn(2 * day + 2, day + 0.5, { amounts: [[PARTY, '-1']] }),
    ])
    const store = await storeOfBytes(t, kind, fileOf(...blocks))
    const { since, ...before } = await dumpStore(store)
    assert.equal(before.funding_daily_sums!.length, 6)
    await runSql(store, 'alter table pruned drop column sums_from_day')
    const schema = schemaOf(kind)
    await takeBack(kind, store, versionOfTable(schema, dailySumTable) - 1 - schema.oldest)
    await openStore(store).migrate()
    const { since: _, ...after } = await dumpStore(store)
    assert.deepEqual(after, before)
  })
})

test('sums of a day with very many payments are written in parts', async (t) => {
  const parties = Array.from({ length: 51_000 }, (_, index) => (index * 7_919).toString(16).padStart(64, '0'))
  const amounts = [...parties, 'f'.repeat(64), 'network'].map((party): [string, string] => [
    party.split('').reverse().join('').replace('krowten', 'network'),
    '3',
  ])
  const store = await storeOfBytes(
    t,
    sqlite,
    fileOf(paidOn(1, 5, { amounts }), paidOn(2, 5.5, { amounts }), paidOn(3, 6, { amounts: [[PARTY, '1']] })),
  )
  const sums = (await sumsOf(store)) as string[][]
  assert.equal(sums.length, amounts.length)
  assert.equal(new Set(sums.map(([, , party]) => party)).size, amounts.length)
  assert.ok(sums.every(([, , , count, received]) => count === '2' && received === '6'))
})

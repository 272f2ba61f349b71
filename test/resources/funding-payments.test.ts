import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fundingPayments } from '#core/resources/funding-payments/description'
import {
  type Content,
  fileOf,
  fundingPeriod,
  idOf,
  loss,
  MARKET,
  type MadeBlock,
  PARTY,
  payments,
  timeUpdate,
} from '../fixtures/events/event-stream.ts'
import { inOrderOfPayments, paymentsOfMonth } from '../fixtures/events/payments-of-month.ts'
import { importWhole } from '../fixtures/imports/import.ts'
import { loadReferenceTables, runSql } from '../fixtures/imports/reference-database.ts'
import { segmentPaths } from '../fixtures/imports/segments.ts'
import { getPage, ndjsonRows, nodesOf, type PageAnswer, send } from '../fixtures/requests/http.ts'
import { assertMalformed } from '../fixtures/requests/refusals.ts'
import { runWell } from '../fixtures/services/program.ts'
import { ingest, serve, serveFile, storeOf, storeOfBytes } from '../fixtures/services/service.ts'
import { answersForMonth, casePath, MONTH, referencePath, skip } from '../fixtures/shared.ts'
import { checkWithFiles } from '../fixtures/stores/check.ts'
import { StreamFollower } from '../fixtures/stores/follow-store.ts'
import { serverOfFile } from '../fixtures/stores/postgres-server.ts'
import { ANY_STORE_KIND, describeOn, fileWith, STORE_KINDS } from '../fixtures/stores/stores.ts'
import { verifyFile, verifyStored } from '../fixtures/stores/verify.ts'

const PATH = '/api/v2/funding-payments'

const nodesIn = (text: string) => ndjsonRows(text).map(({ node }) => node)

const [OTHER_PARTY, OTHER_MARKET] = [idOf('c'), idOf('d')]

/** Losses in the block of a payment of 1,000, or of the amount given, and the answer: amount and loss. */
const LOSSES: [name: string, events: readonly Content[], amount: string, lossAmount: string][] = [
  ['none', [], '1000', '0'],
  ['that a winner missed', [loss('-400')], '1000', '-400'],
  ['that add up', [loss('-400'), loss('-1')], '1000', '-401'],
  ['of which some came back', [loss('-400'), loss('150')], '1000', '-250'],
  ['of which all came back', [loss('-400'), loss('400')], '1000', '0'],
  ['beyond the loss', [loss('-400'), loss('500')], '1100', '0'],
  ['that come after others were made up for', [loss('500'), loss('-400')], '1500', '-400'],
  ['of settlements and of no type', [loss('-400', { type: 1 }), loss('-1', { type: 0 })], '1000', '0'],
  ['of another party', [loss('-400', { party: OTHER_PARTY })], '1000', '0'],
  ['of another market', [loss('-400', { marketId: OTHER_MARKET })], '1000', '0'],
  ['that are no number, or without a party', [loss('x'), loss('-1', { party: '' })], '1000', '0'],
  [
    'of too many digits to add up',
    [loss('-1e-256'), loss('-1'), loss(`-${'9'.repeat(255)}`), loss('-2e300')],
    '1000',
    '-1',
  ],
  ['of fractions', [loss('-0.5'), loss('-1.50')], '1000', '-2'],
]

const serverFor = serverOfFile()

describeOn(STORE_KINDS, 'the funding payments of parties', (kind) => {
  test('equal those that a data node gave for a month, but for its faults', async (t) => {
    const answers = answersForMonth('funding-payments')
    if (answers === null) return skip(t, 'the answers for month are missing')
    const base = await serveFile(kind, MONTH)
    let compared = 0
    for (const { path, status, body } of answers) {
      // Its cursors are its own, and fail there; a name in both spellings is an error here.
      if (/pagination\.(after|before)=/.test(path) || /partyId=.*party_id=/.test(path)) continue
      const answer = await send(base, path)
      const ours = JSON.parse(answer.text)
      assert.equal(answer.status, status, `${path}: ${answer.text.slice(0, 200)}`)
      compared++
      if (status !== 200) {
        assert.equal(ours.code, body.code, path)
        const [detail] = body.details as { code: number; message: string }[]
        assert.deepEqual(
          [ours.details[0]?.code, ours.details[0]?.message],
          [detail?.code, detail?.message],
          path,
        )
        continue
      }
      const [page, theirs] = [ours, body].map(({ fundingPayments }) => fundingPayments as PageAnswer)
      assert.deepEqual(
        page!.edges.map(({ node }) => node),
        theirs!.edges.map(({ node }) => node),
        path,
      )
      assert.equal(page!.pageInfo.hasNextPage, theirs!.pageInfo.hasNextPage, path)
      assert.equal(page!.pageInfo.hasPreviousPage, theirs!.pageInfo.hasPreviousPage, path)
    }
    assert.ok(compared > 150, String(compared))
  })

  test('of a month equal its events', async () => {
    const expected = paymentsOfMonth()
    assert.equal(expected.length, 4_301)
    const { funding } = await verifyFile(MONTH)
    assert.deepEqual(funding.partyPayments, { agree: 460, differ: 0, unknown: 0 })
    const base = await serveFile(kind, MONTH)
    const { text } = await send(
      base,
      '/api/v2/export/funding-payments?format=ndjson&pagination.newestFirst=false',
    )
    assert.deepEqual(nodesIn(text), expected)
  })

  test('contain the losses after them in their block', async (t) => {
    // The loss before its payment, and in a later block, belongs to none.
    const blocks = LOSSES.flatMap(([, events], at): MadeBlock[] => [
      { height: 2 * at + 2, events: [loss('-7'), payments([[PARTY, '1000']], { seq: at }), ...events] },
      { height: 2 * at + 3, events: [loss('-9')] },
    ])
    const base = await serve(t, await storeOfBytes(t, kind, fileOf(...blocks)))
    const nodes = await nodesOf(base, PATH, [['partyId', PARTY]])
    assert.equal(nodes.length, LOSSES.length)
    for (const [at, [name, , amount, lossAmount]] of LOSSES.entries()) {
      const expected = {
        partyId: PARTY,
        marketId: MARKET,
        fundingPeriodSeq: `${at}`,
        timestamp: `${2 * at + 2}000000000`,
        amount,
        lossAmount,
      }
      assert.deepEqual(nodes.at(-1 - at), expected, name)
    }
  })

  test('give a loss to the latest of several in a block, and none in an incomplete block until it is whole', async (t) => {
    const block: MadeBlock = {
      height: 5,
      events: [
        payments([[PARTY, '-1000']]),
        payments([[PARTY, '20']], { marketId: OTHER_MARKET }),
        loss('400'),
        payments(
          [
            [PARTY, '30'],
            [PARTY, '31'],
          ],
          { seq: 8 },
        ),
        loss('-5'),
      ],
    }
    const store = kind.create(t)
    await ingest(store, fileOf({ ...block, without: [4] }, { height: 6 }), { allowGap: true })
    const events = fileWith(t, fileOf(block, { height: 6 }))
    assert.deepEqual((await checkWithFiles(store, events)).told, [])
    const base = await serve(t, store)
    const amountsOf = async (marketId: string) => {
      const params: [string, string][] = [
        ['partyId', PARTY],
        ['marketId', marketId],
      ]
      const nodes = await nodesOf(base, PATH, params)
      return nodes.map(({ fundingPeriodSeq, amount, lossAmount }) => [fundingPeriodSeq, amount, lossAmount])
    }
    assert.deepEqual(await amountsOf(MARKET), [
      ['8', '31', '0'],
      ['7', '-1000', '0'],
    ])
    await ingest(store, fileOf(block))
    assert.deepEqual(await amountsOf(MARKET), [
      ['8', '31', '-5'],
      ['7', '-600', '0'],
    ])
    assert.deepEqual(await amountsOf(OTHER_MARKET), [['7', '20', '0']])
  })

  test('of one event are as many as it has: it may be longer than others, and is streamed in parts', async (t) => {
    const parties = Array.from({ length: 60_000 }, (_, index) =>
      index.toString(16).padStart(8, '0').repeat(8),
    )
    const event = payments(parties.map((party, index) => [party, String(1_000_000 - index)]))
    assert.ok(event.body.length > 4 * 1024 * 1024)
    const store = await storeOfBytes(
      t,
      kind,
      fileOf({ height: 5, events: [event, loss('-1', { party: parties[7]! })] }),
    )
    const follower = new StreamFollower(store, fundingPayments, { marketId: MARKET })
    await follower.look(30_000)
    await follower.look()
    assert.deepEqual(
      [...follower.sent].map(([row]) => JSON.parse(row).partyId),
      parties,
    )
    assert.ok([...follower.sent.values()].every((times) => times === 1))
  })

  test('are verified: those of a period add up with the losses, and are nothing if it pays 0', async (t) => {
    const paid = (seq: number, mine: string, theirs: string, payment: string): Content[] => [
      payments(
        [
          [PARTY, mine],
          [OTHER_PARTY, theirs],
        ],
        { seq },
      ),
      fundingPeriod({ seq, start: 1, end: 2, payment }),
    ]
    const file = fileOf(
      { height: 5, events: paid(1, '10', '-8', '-1') },
      { height: 6, events: paid(2, '10', '-7', '-1') },
      { height: 7, events: paid(3, '1', '-1', '0') },
      {
        height: 8,
        events: [...paid(4, '1000', '-1000', '-1'), loss('400', { party: OTHER_PARTY }), loss('-400')],
      },
      { height: 9, events: [payments([[PARTY, '1e999']], { seq: 5 })] },
      { height: 10, without: [3], events: [payments([[PARTY, '100']], { seq: 6 }), timeUpdate()] },
    )
    const store = kind.create(t)
    await ingest(store, file, { allowGap: true })
    const ofPeriod = { filter: { marketId: null, seq: 2n } }
    const reports = [verifyFile(fileWith(t, file)), verifyStored(store), verifyStored(store, ofPeriod)]
    for (const [index, { funding }] of (await Promise.all(reports)).entries()) {
      const { partyPayments, differences, unknownReasons } = funding
      const [first, ...others] = differences.filter(({ of }) => of === 'payments of parties')
      assert.deepEqual(
        [first!.seq, first!.values],
        [
          '2',
          [{ name: 'sum of payments and losses', sent: '3', expected: '0, or up to 2 apart for rounding' }],
        ],
      )
      if (index === 2) continue
      assert.deepEqual(partyPayments, { agree: 2, differ: 2, unknown: 2 })
      assert.deepEqual(
        others.map(({ seq, values }) => [seq, values[0]!.sent]),
        [['3', '2']],
      )
      assert.ok(unknownReasons['not a number']! >= 1 && unknownReasons['events missing']! >= 1)
    }
  })

  const ofBoth = (mine: string, theirs: string, party = OTHER_PARTY) =>
    payments([
      [PARTY, mine],
      [party, theirs],
    ])
  const partly: [name: string, events: Content[]][] = [
    ['a payment that is not a number', [ofBoth('100', 'x')]],
    ['the payment of a malformed party', [ofBoth('100', '-100', 'none')]],
    ['the loss of a malformed party', [ofBoth('100', '-60'), loss('-40', { party: 'none' })]],
  ]
  for (const [name, events] of partly) {
    test(`are unknown, and do not differ, without ${name}`, async (t) => {
      const { funding } = await verifyFile(fileWith(t, fileOf({ height: 5, events })))
      assert.deepEqual(funding.partyPayments, { agree: 0, differ: 0, unknown: 1 })
      assert.deepEqual(funding.unknownReasons, { 'events missing': 1 })
    })
  }

  test('of a period may be less by what the network owes, which nobody may have paid', async (t) => {
    const owed = (seq: number, network: string, winner: string, lost: string): Content[] => [
      payments(
        [
          ['network', network],
          [PARTY, winner],
        ],
        { seq },
      ),
      ...(lost === '0' ? [] : [loss(lost)]),
      fundingPeriod({ seq, start: 1, end: 2, payment: '-1' }),
    ]
    const rows: [network: string, winner: string, lost: string, isRight: boolean][] = [
      // The insurance pool paid all of it, nothing, and a part; each with a unit for rounding.
      ['-100', '102', '0', true],
      ['-100', '100', '-102', true],
      ['-100', '100', '-40', true],
      ['-100', '103', '0', false],
      ['-100', '100', '-103', false],
      // It cannot owe what it receives.
      ['100', '-103', '0', false],
    ]
    const file = fileOf(
      ...rows.map(([network, winner, lost], at) => ({
        height: at + 5,
        events: owed(at, network, winner, lost),
      })),
    )
    const store = kind.create(t)
    await ingest(store, file)
    for (const { funding } of [await verifyFile(fileWith(t, file)), await verifyStored(store)]) {
      const differing = funding.differences.filter(({ of }) => of === 'payments of parties')
      assert.deepEqual(
        differing.map(({ seq, values }) => [seq, values[0]!.sent, values[0]!.expected]),
        [
          ['3', '3', '0 to -100, which the network owes, or up to 2 apart for rounding'],
          ['4', '-103', '0 to -100, which the network owes, or up to 2 apart for rounding'],
          ['5', '-3', '0, or up to 2 apart for rounding'],
        ],
      )
      assert.equal(funding.partyPayments.agree, rows.filter(([, , , isRight]) => isRight).length)
    }
  })

  test('of a chain whose network owes more than the insurance pool has are as the core sent them', async (t) => {
    const path = casePath('loss.evts.gz')
    if (path === null) return skip(t, 'the recording of losses is missing')
    const store = await storeOf(t, kind, path)
    for (const { funding } of [await verifyFile(path), await verifyStored(store)])
      assert.deepEqual(funding.partyPayments, { agree: 17, differ: 0, unknown: 0 })
  })

  test('are those of parties that trade: the network, and numbers that are none, are left out or refused', async (t) => {
    const file = fileOf({
      height: 5,
      events: [
        payments([
          ['network', '1'],
          ['xyz', '2'],
          [PARTY.toUpperCase(), '3'],
          [OTHER_PARTY, 'x'],
        ]),
        payments([[PARTY, '4']], { marketId: 'none' }),
      ],
    })
    const store = kind.create(t)
    assert.deepEqual((await ingest(store, file)).leftOut, {
      'invalid market ID': 1,
      'invalid party ID': 1,
      'payment or rate is not a decimal number': 1,
    })
    const base = await serve(t, store)
    const { edges } = await getPage(base, PATH, [['partyId', PARTY.toUpperCase()]])
    assert.deepEqual(
      edges.map(({ node }) => node.amount),
      ['3'],
    )
    await assertMalformed(base, `${PATH}?partyId=network&marketId=x`, 10000)
    await assertMalformed(base, `${PATH}?marketId=${MARKET}`, 10000)
  })
})

describeOn(ANY_STORE_KIND, 'imported funding payments of parties', (kind) => {
  test('of a data node, from its database and from segments, equal its events', async (t) => {
    const tables = referencePath('tables/month.tables.sql.gz')
    if (tables === null) return skip(t, 'the tables of month are missing')
    const server = serverFor(t)
    if (server === null) return
    const ofMonth = paymentsOfMonth()
    const database = await loadReferenceTables(t, server, tables)
    await runSql(
      database,
      `update funding_payment set loss_socialisation_amount = -3.50 where amount = ${ofMonth[0]!.amount}`,
    )
    const rowsOf = async (source: string | string[]) => {
      const store = kind.create(t)
      const { report } = await importWhole(store, source)
      assert.deepEqual(report.notImported, [])
      const { stdout } = await runWell(t, `export funding-payments --store ${store}`)
      return inOrderOfPayments(nodesIn(stdout))
    }
    const changed = ofMonth.map((row, at) => (at === 0 ? { ...row, lossAmount: '-3.5' } : row))
    assert.deepEqual(await rowsOf(database), changed)
    // Releases before schema version 117 have no losses.
    await runSql(database, 'alter table funding_payment drop column loss_socialisation_amount')
    assert.deepEqual(await rowsOf(database), ofMonth)
    const ofSegments = await rowsOf(segmentPaths('month-1000'))
    assert.ok(ofSegments.length > 2_500)
    assert.deepEqual(ofSegments, ofMonth.slice(0, ofSegments.length))
  })
})

import assert from 'node:assert/strict'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { liquidityProviderHistory } from '#core/resources/liquidity-provider-history/description'
import {
  content,
  epoch,
  paidFees as fees,
  fileOf,
  idOf,
  MARKET,
  type MadeBlock,
  message,
  PARTY,
} from '../fixtures/events/event-stream.ts'
import { importWhole } from '../fixtures/imports/import.ts'
import { loadReferenceTables, runSql } from '../fixtures/imports/reference-database.ts'
import { EPOCHS, MARKET_DATA, PAID_FEES, segmentWithEpochs } from '../fixtures/imports/segment-with-epochs.ts'
import { segmentPaths, writeSegment } from '../fixtures/imports/segments.ts'
import { modelOf } from '../fixtures/models/page-model.ts'
import { ndjsonRows, type PageAnswer } from '../fixtures/requests/http.ts'
import { caseOf } from '../fixtures/resources/resource-cases.ts'
import { runWell } from '../fixtures/services/program.ts'
import { ingest, storeOf } from '../fixtures/services/service.ts'
import { MONTH, referencePath, skip } from '../fixtures/shared.ts'
import { checkWithFiles } from '../fixtures/stores/check.ts'
import { assertSameDump, dumpStore } from '../fixtures/stores/dump-store.ts'
import { StreamFollower } from '../fixtures/stores/follow-store.ts'
import { serverOfFile } from '../fixtures/stores/postgres-server.ts'
import {
  ANY_STORE_KIND,
  describeOn,
  fileWith,
  STORE_KINDS,
  temporaryFolder,
} from '../fixtures/stores/stores.ts'

type Node = PageAnswer['edges'][number]['node']

const sla = (party: string, timeOnBook: string) =>
  message({ 1: party, 3: timeOnBook, 4: '0.1', 5: '0.2', 7: '9' })
const share = (party: string, share: string) => message({ 1: party, 2: share })

const data = (marketId: string, slas: Uint8Array[], shares: Uint8Array[] = []) =>
  content(111, { 12: marketId, 26: shares, 32: slas })

const PARTY_2 = idOf('e')

/** Some fields of rows, as texts, with short names of the two parties. */
const shown = (
  rows: readonly Node[],
  names = ['partyId', 'epoch', 'atBlock', 'timeOnBook', 'equityLikeShare', 'feesPaid'],
) =>
  rows.map((row) =>
    names
      .map((name) => row[name])
      .join(' ')
      .replace(PARTY, 'one')
      .replace(PARTY_2, 'two'),
  )

/** A row of fees whose market data are not there. */
const withoutFigures = (row: Node): Node => ({
  ...row,
  timeOnBook: null,
  feePenalty: null,
  bondPenalty: null,
  requiredLiquidity: null,
  equityLikeShare: null,
})

const keyOf = ({ marketId, partyId, epoch }: Node) => `${marketId} ${partyId} ${epoch}`

/** All rows of a store, in order. */
async function exported(t: TestContext, store: string, ...args: string[]): Promise<Node[]> {
  const { stdout } = await runWell(t, ['export', 'liquidity-provider-history', '--store', store, ...args])
  return ndjsonRows(stdout).map(({ node }) => node)
}

const serverFor = serverOfFile()

/** The history in a month's events, and a database with its tables, changed by statements; null if something is missing. */
async function loadMonth(t: TestContext, ...statements: string[]) {
  const tables = referencePath('tables/month.tables.sql.gz')
  if (tables === null) skip(t, 'month is missing')
  const server = serverFor(t)
  if (tables === null || server === null) return null
  const database = await loadReferenceTables(t, server, tables)
  await runSql(database, ...statements)
  return { database, expected: historyOfMonth() }
}

let ofMonth: Node[] | null = null

/** The rows that follow from a month's events, oldest first. */
const historyOfMonth = () =>
  (ofMonth ??= modelOf(caseOf('liquidityProviderHistory'), MONTH)
    .rows({})
    .map(({ node }) => node))

type Edit = (entries: Map<string, string>) => void

const without =
  (name: string): Edit =>
  (entries) =>
    entries.delete(name)

const replaced =
  (name: string, from: string | RegExp, to: string): Edit =>
  (entries) =>
    entries.set(name, entries.get(name)!.replace(from, to))

const OF_FEES = ['one 1 10   5', 'two 1 10   6', 'one 2 15   7', 'two 3 30   8']
const OF_BOTH = ['liquidityProviderHistory', 'paidLiquidityFees']
const OF_EPOCHS = ['epochs', ...OF_BOTH]
const OF_FEES_TABLE = ['paidLiquidityFees', 'paidLiquidityFeesStats']

/** Segments without some tables: their rows, and the resources reported as missing. */
const PARTS: [what: string, edit: Edit, rows: string[], lacks?: string[]][] = [
  ['all tables', () => {}, ['one 1 10 0.5 0.25 5', 'two 1 10   6', 'one 2 20 0.6  7', 'two 3 30   8']],
  [
    'no row of market data in a block',
    replaced(MARKET_DATA, /^.*0\.6.*\n/m, ''),
    ['one 1 10 0.5 0.25 5', 'two 1 10   6', 'one 2 15   7', 'two 3 30   8'],
  ],
  ['no market data', without(MARKET_DATA), OF_FEES, ['liquidityProviderHistory']],
  [
    'no SLAs in market data',
    replaced(MARKET_DATA, 'liquidity_provider_sla', 'performance'),
    OF_FEES,
    ['liquidityProviderHistory'],
  ],
  ['no fees', without(PAID_FEES), ['one 1 10 0.5 0.25 ', 'one 2 20 0.6  '], OF_FEES_TABLE],
  ['no epochs', without(EPOCHS), [], OF_EPOCHS],
  ['no ends of epochs', replaced(EPOCHS, 'end_time', 'ended'), [], OF_EPOCHS],
]

describeOn(STORE_KINDS, 'the history of liquidity providers', (kind) => {
  test('starts at the end of an epoch, with the first figures and fees after it, in whatever order blocks arrive, and completed', async (t) => {
    const whole = {
      height: 5,
      events: [
        data(MARKET, [sla(PARTY, '0.1')]),
        fees(MARKET, 1, [[PARTY, '5']]),
        epoch(1),
        epoch(2, 1),
        data(MARKET, [sla(PARTY, '0.2'), sla('none', '1')], [share(PARTY, '0.5')]),
        data(MARKET, [sla(PARTY, '0.3'), sla(idOf('c'), '1')]),
        fees(MARKET, 1, Object.entries({ [PARTY_2]: '8', none: '1', [idOf('f')]: 'x' })),
        fees(MARKET, 1, [[PARTY, '70']]),
        fees(MARKET, 2, [[PARTY, '9']]),
      ],
    }
    // The same epoch ends again; its fees stay the first ones.
    const later = {
      height: 6,
      events: [
        epoch(2n ** 63n),
        data(MARKET, [sla(PARTY, '1')]),
        epoch(1),
        fees(MARKET, 1, [[PARTY_2, '12']]),
        // What follows the end of another epoch is of that one alone.
        epoch(3),
        data(idOf('9'), [sla(PARTY, '0.7')]),
      ],
    }
    const incomplete = { ...whole, without: [6] }
    for (const parts of [
      [[later], [whole]],
      [[incomplete, later], [whole]],
    ]) {
      const store = kind.create(t)
      for (const part of parts) {
        await ingest(store, fileOf(...part), { allowGap: true })
        // Of a block that either side has in part, rows that follow from several events may differ.
        for (const blocks of [[whole, later], part, parts[0]!])
          assert.deepEqual((await checkWithFiles(store, fileWith(t, fileOf(...blocks)))).told, [])
      }
      const rows = await exported(t, store)
      assert.deepEqual(shown(rows), ['one 1 5 0.2 0.5 ', 'two 1 5   8', 'one 3 6 0.7  '])
      assert.deepEqual(await exported(t, store, '--party', PARTY_2.slice(0, 5)), [rows[1]])
    }
  })
})

describeOn(STORE_KINDS, 'fees in a block in which no epoch ends', (kind) => {
  const [OTHER_MARKET, PARTY_3] = [idOf('9'), idOf('f')]
  const blocks: MadeBlock[] = [
    {
      height: 5,
      events: [
        fees(MARKET, 34, [
          [PARTY, '5'],
          [PARTY_2, '6'],
        ]),
        fees(OTHER_MARKET, 34, [[PARTY, '7']]),
        // Of a market and epoch the first event counts, whoever others name.
        fees(MARKET, 34, [
          [PARTY, '50'],
          [PARTY_3, '1'],
        ]),
      ],
    },
    {
      height: 7,
      events: [
        fees(MARKET, 34, [
          [PARTY_2, '60'],
          [PARTY_3, '1'],
        ]),
      ],
    },
    // Its epoch ends without the market that has settled; the other one has figures by then.
    { height: 9, events: [epoch(34), data(OTHER_MARKET, [sla(PARTY, '0.5')], [share(PARTY, '0.25')])] },
    { height: 11, events: [fees(OTHER_MARKET, 34, [[PARTY, '70']])] },
  ]
  const expected = [
    { marketId: MARKET, partyId: PARTY, atBlock: '5', timeOnBook: null, share: null, feesPaid: '5' },
    { marketId: MARKET, partyId: PARTY_2, atBlock: '5', timeOnBook: null, share: null, feesPaid: '6' },
    { marketId: OTHER_MARKET, partyId: PARTY, atBlock: '9', timeOnBook: '0.5', share: '0.25', feesPaid: '7' },
  ].map(({ share, timeOnBook, ...row }) => ({
    ...row,
    epoch: '34',
    timestamp: `${row.atBlock}000000000`,
    timeOnBook,
    feePenalty: timeOnBook && '0.1',
    bondPenalty: timeOnBook && '0.2',
    requiredLiquidity: timeOnBook && '9',
    equityLikeShare: share,
  }))

  test('are rows of the epoch that they name, without figures, whatever order blocks arrive in', async (t) => {
    const inOrder = blocks.map((block) => [block])
    for (const parts of [[blocks], inOrder, inOrder.toReversed(), [[blocks[1]!, blocks[3]!], blocks]]) {
      const store = kind.create(t)
      for (const part of parts) {
        await ingest(store, fileOf(...part), { allowGap: true })
        for (const files of [part, blocks])
          assert.deepEqual((await checkWithFiles(store, fileWith(t, fileOf(...files)))).told, [])
      }
      assert.deepEqual(await exported(t, store), expected)
      const before = await dumpStore(store)
      await ingest(store, fileOf(...blocks))
      assertSameDump(await dumpStore(store), before, 'replayed')
    }
  })

  test('are streamed with the block that they came in, and again with the figures', async (t) => {
    const store = kind.create(t)
    const follower = new StreamFollower(store, liquidityProviderHistory, { partyId: PARTY })
    for (const block of blocks) {
      await ingest(store, fileOf(block), { allowGap: true })
      await follower.look()
    }
    const sent = [...follower.sent].map(([row, times]) => [JSON.parse(row), times])
    assert.deepEqual(sent, [
      [expected[0], 1],
      [{ ...expected[0], marketId: OTHER_MARKET, feesPaid: '7' }, 1],
      [expected[2], 1],
    ])
  })
})

describeOn(ANY_STORE_KIND, 'the imported history of liquidity providers', (kind) => {
  test('is imported from the database of a data node as its events say it, without figures that it has deleted, and not in blocks from events', async (t) => {
    const month = await loadMonth(t)
    if (month === null) return
    const { database, expected } = month
    const store = kind.create(t)
    const { report } = await importWhole(store, database)
    assert.deepEqual(report.notImported, [])
    assert.deepEqual(report.leftOut, {})
    // The core paid nothing for epoch 0.
    const first = expected.find(({ feesPaid }) => feesPaid !== null)!
    assert.deepEqual(
      [report.first.liquidityProviderHistory, report.first.paidLiquidityFees],
      [expected[0]!.timestamp, first.timestamp],
    )
    assert.notEqual(first.timestamp, expected[0]!.timestamp)
    assert.deepEqual(await exported(t, store), expected)
    const { told } = await checkWithFiles(store, MONTH)
    assert.deepEqual(told, [])

    await runSql(database, "delete from market_data where vega_time < '2024-09-25'")
    const later = kind.create(t)
    const { report: ofLater } = await importWhole(later, database)
    const isDeleted = ({ timestamp }: Node) =>
      BigInt(String(timestamp)) < BigInt(Date.UTC(2024, 8, 25)) * 1_000_000n
    const left = expected
      .filter((row) => !isDeleted(row) || row.feesPaid !== null)
      .map((row) => (isDeleted(row) ? withoutFigures(row) : row))
    assert.ok(left.length < expected.length)
    assert.deepEqual(await exported(t, later), left)
    assert.equal(ofLater.first.liquidityProviderHistory, expected.find((row) => !isDeleted(row))!.timestamp)
    assert.deepEqual((await checkWithFiles(later, MONTH)).told, [])

    // Its events are stored before: the import has nothing to add.
    const whole = await storeOf(t, kind, MONTH)
    const ofEvents = await dumpStore(whole)
    await importWhole(whole, database)
    assertSameDump(await dumpStore(whole), ofEvents, 'of events')
  })

  test('is imported from segments as their events say it, also one by one and again', async (t) => {
    if (referencePath('segments/month-1000') === null) return skip(t, 'month is missing')
    const paths = segmentPaths('month-1000')
    const expected = historyOfMonth().filter(({ atBlock }) => BigInt(String(atBlock)) <= 2_000n)
    assert.equal(expected.length, 393)
    const store = kind.create(t)
    const { report } = await importWhole(store, paths)
    assert.deepEqual(report.notImported, [])
    assert.deepEqual(report.leftOut, {})
    assert.deepEqual(await exported(t, store), expected)
    assert.deepEqual((await checkWithFiles(store, MONTH)).told, [])
    const dump = await dumpStore(store)
    const pieces = kind.create(t)
    for (const path of [...paths, ...paths.toReversed()]) await importWhole(pieces, path)
    const ofPieces = await dumpStore(pieces)
    for (const table of ['liquidity_provider_history', 'paid_liquidity_fees'])
      assert.deepEqual(ofPieces[table], dump[table], table)
  })

  test('is imported by the first fees and market data of a block, of the tables that are there', async (t) => {
    const original = await segmentWithEpochs()
    for (const [what, edit, expected, lacks] of PARTS) {
      const path = join(temporaryFolder(t), basename(segmentPaths('perps-calm-300')[0]!))
      await writeSegment(path, original, { edit })
      const store = kind.create(t)
      const { report } = await importWhole(store, path)
      assert.deepEqual(shown(await exported(t, store)), expected, what)
      assert.deepEqual(report.imported, [{ from: '1', to: '300', ...(lacks && { lacks }) }], what)
      assert.deepEqual(
        report.notImported.map(({ resource }) => resource),
        lacks ?? [],
        what,
      )
      const hasFees = !lacks?.includes('paidLiquidityFeesStats')
      assert.deepEqual(report.leftOut, hasFees ? { 'invalid party ID': 40 } : {}, what)
    }
  })

  test('is imported from a database by the same rules', async (t) => {
    const market = '\\x0283e9e019e2e36e384b1b29819bda0c5b6ff7da5d3855dcfbfaf193686e1eb7'
    const endOf = (epoch: number) =>
      `(select vega_time from epochs where id = ${epoch} and end_time is not null limit 1)`
    const fees = (epoch: number, inBlockOf: number, asset: string) =>
      `insert into paid_liquidity_fees select market_id, '\\x${asset}', ${epoch}, '1', '[{"party": "${PARTY}", "amount": "1"}]', ${endOf(inBlockOf)}
         from paid_liquidity_fees where market_id = '${market}' and epoch_seq = 1 limit 1`
    const month = await loadMonth(
      t,
      // Twice in one block, in a later block, and in one that ends its epoch again.
      fees(1, 1, 'ff'.repeat(32)),
      fees(2, 2, '00'.repeat(32)),
      fees(2, 3, 'ff'.repeat(32)),
      fees(8, 9, 'ff'.repeat(32)),
      `insert into epochs select 8, start_time, expire_time, end_time, tx_hash, vega_time from epochs where id = 9 and end_time is not null`,
      // After the end of an epoch, but not in its block.
      `create table later as select * from market_data where vega_time = ${endOf(7)}`,
      `update later set vega_time = vega_time + interval '0.5 s', synthetic_time = synthetic_time + interval '0.5 s'`,
      'insert into market_data select * from later',
      // Of a block that the blocks do not reach back to.
      `insert into epochs select 100, start_time, expire_time, end_time, tx_hash, '2020-01-01' from epochs where id = 9 and end_time is not null`,
      `update paid_liquidity_fees set fees_paid_per_party = 'null' where epoch_seq = 4`,
      `update paid_liquidity_fees set fees_paid_per_party = '{}' where epoch_seq = 5 and market_id = '${market}'`,
      `delete from market_data where vega_time = ${endOf(6)}`,
      // Longer than other texts may be.
      `update market_data set liquidity_provider_fee_shares = (
           select jsonb_agg(jsonb_build_object('party', repeat('x', 100))) from generate_series(1, 40)
         ) || liquidity_provider_fee_shares where vega_time = ${endOf(7)} and market = '${market}'`,
    )
    if (month === null) return
    const marketId = market.slice(2)
    const expected = new Map<string, Node>()
    for (const row of month.expected) {
      const { epoch } = row
      const keep = (node: Node) => expected.set(keyOf(node), node)
      const isUnpaid = epoch === '4' || (row.marketId === marketId && (epoch === '2' || epoch === '5'))
      if (isUnpaid && row.timeOnBook !== null) keep({ ...row, feesPaid: null })
      if (epoch === '6' && row.feesPaid !== null) keep(withoutFigures(row))
      if (!isUnpaid && epoch !== '6') keep(row)
      if (epoch !== '9') continue
      const before = expected.get(keyOf({ ...row, epoch: '8' }))
      keep({ ...row, epoch: '8', feesPaid: before?.feesPaid ?? null })
    }
    const store = kind.create(t)
    const { report } = await importWhole(store, month.database)
    const rows = await exported(t, store)
    const isOfOthers = ({ partyId }: Node) => partyId !== PARTY
    const [others, own] = [rows.filter(isOfOthers), rows.filter((row) => !isOfOthers(row))]
    assert.deepEqual(new Map(others.map((row) => [keyOf(row), row])), expected)
    // Of fees in one block those of the first asset count; of those in several blocks the first.
    assert.deepEqual(shown(own, ['epoch', 'feesPaid']), ['2 1'])
    assert.deepEqual(report.leftOut, { 'invalid JSON': 1, 'invalid party ID': 40 })

    // Of a few blocks, for the sake of time.
    await runSql(month.database, 'delete from blocks where height > 20')
    for (const [change, missing] of [
      ['alter table epochs rename to old_epochs', OF_EPOCHS],
      ['alter table old_epochs rename to epochs', []],
      ['alter table market_data drop column liquidity_provider_sla', ['liquidityProviderHistory']],
      ['drop table paid_liquidity_fees', ['liquidityProviderHistory', ...OF_FEES_TABLE]],
    ] as const) {
      await runSql(month.database, change)
      const { report } = await importWhole(kind.create(t), month.database)
      assert.deepEqual(
        report.notImported.map(({ resource }) => resource),
        missing,
        change,
      )
      assert.deepEqual(report.imported[0]!.lacks ?? [], missing, change)
    }
  })
})

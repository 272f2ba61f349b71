import assert from 'node:assert/strict'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { idSet } from '#core/model/filters'
import { paidLiquidityFeesStats } from '#core/resources/paid-liquidity-fees-stats/description'
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
  readRecording,
  recordsOf,
} from '../fixtures/events/event-stream.ts'
import { fieldsOf, numberIn, textIn } from '../fixtures/events/wire-fields.ts'
import { importWhole } from '../fixtures/imports/import.ts'
import { loadReferenceTables } from '../fixtures/imports/reference-database.ts'
import { EPOCHS, PAID_FEES, segmentWithEpochs } from '../fixtures/imports/segment-with-epochs.ts'
import { segmentPaths, writeSegment } from '../fixtures/imports/segments.ts'
import { restoreOldStore } from '../fixtures/old-stores/old-store.ts'
import { getJson, getPage, ndjsonRows, type Params, query, send } from '../fixtures/requests/http.ts'
import { assertMalformed } from '../fixtures/requests/refusals.ts'
import { runWell } from '../fixtures/services/program.ts'
import { ingest, serve, serveFile, storeOf, tryIngest } from '../fixtures/services/service.ts'
import { answersForMonth, MONTH, recordingPath, referencePath, skip } from '../fixtures/shared.ts'
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

type Fee = { party: string; amount: string; quantumAmount: string }
type Node = {
  market: string
  asset: string
  epochSeq: string
  totalFeesPaid: string
  feesPaidPerParty: Fee[]
}

const LIST = '/api/v2/liquidity/paidfees'

/** All rows of a store: by market and asset, and then by epoch, descending. */
async function exported(t: TestContext, store: string, ...args: string[]): Promise<Node[]> {
  const command = ['export', 'paid-liquidity-fees-stats', '--oldest-first', '--store', store, ...args]
  const { stdout } = await runWell(t, command)
  return ndjsonRows(stdout).map(({ node }) => node as unknown as Node)
}

/** The fees of a recording, from its bytes by an independent decoder, in the order of the list. */
function feesIn(recording: string): Node[] {
  const nodes: Node[] = []
  for (const { kind, bytes } of recordsOf(readRecording(recording))) {
    if (kind !== 179) continue
    const fields = fieldsOf(fieldsOf(bytes.subarray(12)).get(179)![0] as Uint8Array)
    nodes.push({
      market: textIn(fields, 1),
      asset: textIn(fields, 2),
      epochSeq: String(numberIn(fields, 3)),
      totalFeesPaid: textIn(fields, 4),
      feesPaidPerParty: (fields.get(5) ?? []).map((element) => {
        const fee = fieldsOf(element as Uint8Array)
        return { party: textIn(fee, 1), amount: textIn(fee, 2), quantumAmount: textIn(fee, 3) }
      }),
    })
  }
  const keyOf = ({ market, asset }: Node) => `${market} ${asset}`
  return nodes.sort((a, b) =>
    keyOf(a) === keyOf(b) ? Number(b.epochSeq) - Number(a.epochSeq) : keyOf(a) < keyOf(b) ? -1 : 1,
  )
}

const RECORDINGS: [name: string, path: string | null][] = [
  ['month', MONTH],
  ['nullchain', recordingPath('nullchain.evts.gz') ?? recordingPath('nullchain-60.evts.gz')],
]

const [ASSET, OTHER_ASSET] = ['c0de'.repeat(16), 'VOTE']
const [OTHER_MARKET, PARTY_2, PARTY_3] = [idOf('9'), idOf('e'), idOf('f')]

const of = (asset: string, total: string | null = null) => ({ asset, total })

const BLOCKS: MadeBlock[] = [
  { height: 5, events: [fees(MARKET, 3, [[PARTY, '5']], of(ASSET.toUpperCase(), '5')), epoch(3)] },
  {
    height: 6,
    events: [
      fees(MARKET, 4, [], of(ASSET, '0')),
      // The same again, in one block and in two: each event is a row.
      fees(MARKET, 3, [[PARTY_2, '7']], of(ASSET, '7')),
      fees(MARKET, 3, [[PARTY_2, '8']], of(ASSET, '8')),
    ],
  },
  {
    height: 7,
    events: [
      fees(OTHER_MARKET, 9, Object.entries({ [PARTY]: '1', [PARTY_2]: '2', network: '3' }), of(OTHER_ASSET)),
      fees(OTHER_MARKET, 0, [[PARTY_3, '1e2']], of(ASSET, '-0.5')),
      // What cannot be stored is left out: elements, and whole events.
      fees(MARKET, 2, Object.entries({ none: '1', [PARTY]: 'x', [PARTY_2]: '4' }), of(OTHER_ASSET, '4')),
      content(179, {
        1: MARKET,
        2: OTHER_ASSET,
        3: 1,
        5: [
          message({ 1: PARTY, 2: '1', 3: 'q'.repeat(1025) }),
          message({ 1: PARTY, 2: '2', 3: 'a\u2028"\\' }),
          message({ 1: PARTY, 2: '3' }),
        ],
      }),
      fees('none', 3, [[PARTY, '1']], of(ASSET, '1')),
      fees(MARKET, 3, [[PARTY, '1']], of(ASSET, 'x')),
      fees(MARKET, 3, [[PARTY, '1']], of(ASSET, '')),
      fees(MARKET, 3, [[PARTY, '1']], of('a'.repeat(257), '1')),
      fees(MARKET, 2n ** 63n, [[PARTY, '1']], of(ASSET, '1')),
    ],
  },
]

const row = (
  market: string,
  asset: string,
  epochSeq: number,
  totalFeesPaid: string,
  ...paid: [party: string, amount: string, quantumAmount?: string][]
): Node => ({
  market,
  asset,
  epochSeq: String(epochSeq),
  totalFeesPaid,
  feesPaidPerParty: paid.map(([party, amount, quantumAmount = '']) => ({ party, amount, quantumAmount })),
})

const EXPECTED: Node[] = [
  row(OTHER_MARKET, OTHER_ASSET, 9, '', [PARTY, '1'], [PARTY_2, '2'], ['network', '3']),
  row(OTHER_MARKET, ASSET, 0, '-0.5', [PARTY_3, '1e2']),
  row(MARKET, OTHER_ASSET, 2, '4', [PARTY_2, '4']),
  row(MARKET, OTHER_ASSET, 1, '', [PARTY, '2', 'a\u2028"\\'], [PARTY, '3']),
  row(MARKET, ASSET, 4, '0'),
  row(MARKET, ASSET, 3, '5', [PARTY, '5']),
  row(MARKET, ASSET, 3, '7', [PARTY_2, '7']),
  row(MARKET, ASSET, 3, '8', [PARTY_2, '8']),
]

const LEFT_OUT = {
  'invalid party ID': 1,
  'payment or rate is not a decimal number': 3,
  'text of more than 1,024 characters': 1,
  'invalid market ID': 1,
  'invalid asset ID': 1,
  'seq of 2^63 or more': 1,
}

/** Requests, and the rows that they list by default: their places in the expected ones. */
const REQUESTS: [params: Params, rows: number[]][] = [
  ['', [0]],
  [[['marketId', MARKET]], []],
  [[['marketId', OTHER_MARKET]], [0]],
  [[['assetId', OTHER_ASSET]], [0]],
  [
    [
      ['marketId', MARKET],
      ['assetId', ASSET],
    ],
    [4, 5, 6, 7],
  ],
  [
    [
      ['market_id', MARKET.toUpperCase()],
      ['asset_id', ASSET.toUpperCase()],
    ],
    [4, 5, 6, 7],
  ],
  ['?epochFrom=0', [0, 1, 2, 3, 4, 5, 6, 7]],
  ['?epochFrom=0&epochTo=9223372036854775807', [0, 1, 2, 3, 4, 5, 6, 7]],
  ['?epochSeq=3', [5, 6, 7]],
  ['?epoch_seq=3&unknown=1', [5, 6, 7]],
  ['?epochTo=2', [1, 2, 3]],
  ['?epochFrom=2&epochTo=4', [2, 4, 5, 6, 7]],
  ['?epochFrom=4&epochTo=2', [2, 4, 5, 6, 7]],
  ['?epochFrom=4&epochSeq=1', [0, 4]],
  ['?epochTo=1&epochSeq=3', [1, 3]],
  ['?epochSeq=5', []],
  ...['epochSeq', 'epochFrom', 'epochTo'].flatMap((name): [Params, number[]][] =>
    [2n ** 63n, 2n ** 64n - 1n].map((value) => [[[name, value]], []]),
  ),
  ['?includeDerivedParties=false', [0]],
  [[['partyIds', PARTY_3]], []],
]

describeOn(STORE_KINDS, 'fees paid', (kind) => {
  for (const [name, path] of RECORDINGS) {
    test(`are those of the events of ${name}`, async (t) => {
      if (path === null) return skip(t, `${name} is missing`)
      const expected = feesIn(path)
      assert.ok(expected.length > 0)
      const store = await storeOf(t, kind, path)
      assert.deepEqual(await exported(t, store), expected)
    })
  }

  test('are whole, a row for each event, whatever order blocks arrive in', async (t) => {
    const { report } = await tryIngest(kind.create(t), fileOf(...BLOCKS))
    assert.deepEqual(report.leftOut, LEFT_OUT)
    const inOrder = BLOCKS.map((block) => [block])
    const incomplete = { ...BLOCKS[2]!, without: [4] }
    for (const parts of [[BLOCKS], inOrder, inOrder.toReversed(), [[incomplete, BLOCKS[0]!], BLOCKS]]) {
      const store = kind.create(t)
      for (const part of parts) {
        await ingest(store, fileOf(...part), { allowGap: true })
        for (const files of [part, BLOCKS])
          assert.deepEqual((await checkWithFiles(store, fileWith(t, fileOf(...files)))).told, [])
      }
      assert.deepEqual(await exported(t, store), EXPECTED)
      const before = await dumpStore(store)
      await ingest(store, fileOf(...BLOCKS))
      assertSameDump(await dumpStore(store), before, 'replayed')
    }
  })

  test('are stored from an incomplete block, too, until it arrives complete', async (t) => {
    const store = kind.create(t)
    await ingest(store, fileOf({ ...BLOCKS[1]!, without: [3] }), { allowGap: true })
    assert.deepEqual(await exported(t, store), [EXPECTED[4], EXPECTED[7]])
    await ingest(store, fileOf(BLOCKS[1]!))
    assert.deepEqual(await exported(t, store), [EXPECTED[4], EXPECTED[6], EXPECTED[7]])
  })

  test('are listed by epochs, markets and assets by the rules of the data node', async (t) => {
    const store = kind.create(t)
    await ingest(store, fileOf(...BLOCKS))
    const base = await serve(t, store)
    for (const [params, places] of REQUESTS) {
      const text = typeof params === 'string' ? params : query(params)
      const expected = places.map((place) => EXPECTED[place])
      const nodesOf = async (more: string) => {
        const target = `${LIST}${text === '' ? '?' : `${text}&`}${more}`
        const { paidLiquidityFees } = await getJson<Listed>(base, target)
        return paidLiquidityFees.edges.map(({ node }) => node)
      }
      assert.deepEqual(await nodesOf('pagination.newestFirst=false'), expected, text)
      assert.deepEqual(await nodesOf('pretty'), expected.toReversed(), text)
    }
  })

  test('of some parties are the rows that name them, without the elements of others', async (t) => {
    const store = kind.create(t)
    await ingest(store, fileOf(...BLOCKS))
    const base = await serve(t, store)
    const only = (place: number, ...parties: string[]): Node => ({
      ...EXPECTED[place]!,
      feesPaidPerParty: EXPECTED[place]!.feesPaidPerParty.filter(({ party }) => parties.includes(party)),
    })
    const cases: [parties: string[], more: [string, string][], rows: Node[]][] = [
      [[PARTY], [], [only(0, PARTY)]],
      [[PARTY], [['epochFrom', '0']], [only(0, PARTY), only(3, PARTY), only(5, PARTY)]],
      [
        [PARTY_2.toUpperCase(), PARTY_3, PARTY_2],
        [
          ['epochFrom', '0'],
          ['includeDerivedParties', 'true'],
        ],
        [only(0, PARTY_2), EXPECTED[1]!, EXPECTED[2]!, EXPECTED[6]!, EXPECTED[7]!],
      ],
      [['network', idOf('1')], [], [only(0, 'network')]],
      [[idOf('1')], [['epochFrom', '0']], []],
    ]
    for (const [parties, more, expected] of cases) {
      const params: [string, string][] = [
        ...parties.map((party, at): [string, string] => [at % 2 === 0 ? 'partyIds' : 'party_ids', party]),
        ...more,
        ['pagination.newestFirst', 'false'],
      ]
      const whole = await getPage(base, LIST, params)
      assert.deepEqual(
        whole.edges.map(({ node }) => node),
        expected,
      )
      const ndjson = await send(base, `${LIST}${query([...params, ['format', 'ndjson']])}`)
      assert.deepEqual(
        ndjsonRows(ndjson.text).map(({ node }) => node),
        expected,
      )
      // Page by page, in both directions.
      for (const [size, from, end, more] of [
        ['first', 'after', 'endCursor', 'hasNextPage'],
        ['last', 'before', 'startCursor', 'hasPreviousPage'],
      ] as const) {
        const rows: unknown[] = []
        let cursor = ''
        for (;;) {
          const paging: [string, string][] = [[`pagination.${size}`, '1']]
          if (cursor !== '') paging.push([`pagination.${from}`, cursor])
          const { edges, pageInfo } = await getPage(base, LIST, [...params, ...paging])
          rows.push(...edges.map(({ node }) => node))
          if (!pageInfo[more]) break
          cursor = pageInfo[end]
        }
        assert.deepEqual(size === 'first' ? rows : rows.toReversed(), expected)
      }
    }
    assert.deepEqual(await exported(t, store, '--parties', `${PARTY_3.slice(0, 5)},${PARTY}`), [
      only(0, PARTY),
      EXPECTED[1],
      only(3, PARTY),
      only(5, PARTY),
    ])
    assert.deepEqual(await exported(t, store, '--asset', 'VOTE', '--epoch-from', '2', '--epoch-to', '2'), [
      EXPECTED[2],
    ])
    const derived = await assertMalformed(base, `${LIST}?includeDerivedParties=t`, 10014)
    assert.equal(JSON.parse(derived.text).details[0].message, 'missing party id')
    await assertMalformed(base, `${LIST}?partyIds=${PARTY}&partyIds=`, 10000)
  })

  test('of the highest epoch change with those of another market, also in cached answers', async (t) => {
    const store = kind.create(t)
    await ingest(store, fileOf(BLOCKS[0]!))
    const base = await serve(t, store)
    const rowsOf = async () => (await getPage(base, LIST, [['marketId', MARKET]])).edges.length
    assert.equal(await rowsOf(), 1)
    assert.equal(await rowsOf(), 1)
    const later: MadeBlock = { height: 6, events: [fees(OTHER_MARKET, 8, [[PARTY, '5']], of(ASSET, '5'))] }
    await ingest(store, fileOf(later))
    assert.equal(await rowsOf(), 0)
  })

  test('are streamed with their blocks, to followers of a party without the elements of others', async (t) => {
    const store = kind.create(t)
    const all = new StreamFollower(store, paidLiquidityFeesStats, {})
    const ofParty = new StreamFollower(store, paidLiquidityFeesStats, { partyIds: idSet([PARTY]) })
    for (const block of [BLOCKS[0]!, BLOCKS[2]!, BLOCKS[1]!]) {
      await ingest(store, fileOf(block), { allowGap: true })
      await all.look()
      await ofParty.look()
    }
    const sentTo = ({ sent }: StreamFollower) => [...sent].map(([row, times]) => [JSON.parse(row), times])
    assert.deepEqual(
      sentTo(all),
      [5, 0, 1, 2, 3, 4, 6, 7].map((place) => [EXPECTED[place], 1]),
    )
    assert.deepEqual(sentTo(ofParty), [
      [EXPECTED[5], 1],
      [{ ...EXPECTED[0]!, feesPaidPerParty: EXPECTED[0]!.feesPaidPerParty.slice(0, 1) }, 1],
      [EXPECTED[3], 1],
    ])
  })

  test('are missing in a store of an earlier version below its next block', async (t) => {
    const store = await restoreOldStore(t, kind)
    await runWell(t, `migrate --store ${store}`)
    assert.deepEqual(await exported(t, store), [])
    const { since } = await dumpStore(store)
    assert.ok(
      since!.some((row) => row.startsWith('["paidLiquidityFeesStats","906",')),
      String(since),
    )
  })

  test('of month are answered as the data node answers, but for its faults', async (t) => {
    const answers = answersForMonth('paidfees')
    if (answers === null) return skip(t, 'the answers of month are missing')
    const base = await serveFile(kind, MONTH)
    let compared = 0
    for (const { path, status, body } of answers) {
      // It fails at its own cursors, but for {} (e30=), and at epochs of 2^63 or more; malformed ids are no errors there.
      if (status === 500 || path.endsWith('e30%3D') || hasFaultyId(path)) continue
      const answer = await send(base, path)
      assert.equal(answer.status, status, path)
      const own = JSON.parse(answer.text)
      compared++
      if (status !== 200) {
        assert.equal(own.code, body.code, path)
        assert.equal(own.details[0]?.code, (body as unknown as Refusal).details[0]?.code, path)
        continue
      }
      const { paidLiquidityFees: ours } = own as Listed
      const { paidLiquidityFees: theirs } = body as unknown as Listed
      assert.deepEqual(nodesWithSortedParties(ours), nodesWithSortedParties(theirs), path)
      for (const flag of ['hasNextPage', 'hasPreviousPage'] as const)
        assert.equal(ours.pageInfo[flag], theirs.pageInfo[flag], path)
    }
    assert.ok(compared > 120, String(compared))
  })
})

type Listed = {
  paidLiquidityFees: {
    edges: { node: Node }[]
    pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean }
  }
}
type Refusal = { code: number; details: { code: number }[] }

/** The data node's pages list the parties of an event in any order. */
const nodesWithSortedParties = ({ edges }: Listed['paidLiquidityFees']) =>
  edges.map(({ node }) => ({
    ...node,
    feesPaidPerParty: node.feesPaidPerParty.toSorted((a, b) => (a.party < b.party ? -1 : 1)),
  }))

/** Whether a request names a party, market or asset that is malformed, or a party in upper case. */
function hasFaultyId(path: string): boolean {
  const ids = [...new URL(path, 'http://lyra').searchParams].filter(
    ([name]) => /id/i.test(name) && !/derived/i.test(name),
  )
  return ids.some(([name, id]) =>
    /party/i.test(name) ? !/^(?:[0-9a-f]{64}|network)$/.test(id) : !/^[0-9a-fA-F]{64}$/.test(id),
  )
}

const serverFor = serverOfFile()

describeOn(ANY_STORE_KIND, 'imported fees paid', (kind) => {
  test('are those of the events, from the database of a data node', async (t) => {
    const tables = referencePath('tables/month.tables.sql.gz')
    if (tables === null) return skip(t, 'month is missing')
    const server = serverFor(t)
    if (server === null) return
    const database = await loadReferenceTables(t, server, tables)
    const store = kind.create(t)
    const { report } = await importWhole(store, database)
    assert.deepEqual(report.notImported, [])
    assert.deepEqual(report.leftOut, {})
    assert.equal(report.first.paidLiquidityFeesStats, report.first.paidLiquidityFees)
    assert.deepEqual(await exported(t, store), feesIn(MONTH))
    assert.deepEqual((await checkWithFiles(store, MONTH)).told, [])
  })

  test('are those of the events, from segments, also one by one and again', async (t) => {
    if (referencePath('segments/month-1000') === null) return skip(t, 'month is missing')
    const paths = segmentPaths('month-1000')
    const store = kind.create(t)
    for (const path of [...paths, ...paths.toReversed()]) await importWhole(store, path)
    const rows = await exported(t, store)
    const last = Math.max(...rows.map(({ epochSeq }) => Number(epochSeq)))
    assert.ok(last > 10)
    assert.deepEqual(
      rows,
      feesIn(MONTH).filter(({ epochSeq }) => Number(epochSeq) <= last),
    )
    assert.deepEqual((await checkWithFiles(store, MONTH)).told, [])
  })

  test('need no epochs, and are missing if the source has no table of them', async (t) => {
    const original = await segmentWithEpochs()
    const path = join(temporaryFolder(t), basename(segmentPaths('perps-calm-300')[0]!))
    const importWithout = async (...names: string[]) => {
      const edit = (entries: Map<string, string>) => {
        for (const name of names) entries.delete(name)
      }
      await writeSegment(path, original, { edit })
      const store = kind.create(t)
      const { report } = await importWhole(store, path)
      const rows = (await exported(t, store)).map(({ epochSeq, totalFeesPaid, feesPaidPerParty }) =>
        [epochSeq, totalFeesPaid, ...feesPaidPerParty.map(({ amount }) => amount)].join(' '),
      )
      const notImported = report.notImported.map(({ resource }) => resource)
      const { liquidity_provider_history: history } = await dumpStore(store)
      return { rows, isMissing: notImported.includes('paidLiquidityFeesStats'), history: history!.length }
    }
    const rows = ['3 48 8', '2 7 7', '2 ', '1 11 5 6', '1 50 50', '1 500 500']
    const whole = await importWithout()
    assert.deepEqual({ ...whole, history: whole.history > 0 }, { rows, isMissing: false, history: true })
    assert.deepEqual(await importWithout(EPOCHS), { rows, isMissing: false, history: 0 })
    const { rows: none, isMissing } = await importWithout(PAID_FEES)
    assert.deepEqual([none, isMissing], [[], true])
  })
})

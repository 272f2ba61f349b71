import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { generateRecords } from '#tools/generate/generate'
import { dumpStore } from './fixtures/dump-store.ts'
import {
  busEvent,
  type Content,
  fileOf,
  frame,
  idOf,
  MARKET,
  message,
  PARTY,
  readRecording,
  recordsOf,
} from './fixtures/event-stream.ts'
import { nodesOf, type PageAnswer, send } from './fixtures/http.ts'
import { dumpOf, ingestWell, storeOfBytes } from './fixtures/ingest-bytes.ts'
import { restoreOldStore } from './fixtures/old-store.ts'
import { runLyra, runWell } from './fixtures/program.ts'
import { serve, serveFile } from './fixtures/service.ts'
import { answersForMonth, recordingPath, skip } from './fixtures/shared.ts'
import { STORE_KINDS } from './fixtures/stores.ts'
import { fieldsOf, numberIn, textIn } from './fixtures/wire-fields.ts'

const PATH = '/api/v2/liquidity/provider-history'

type Node = PageAnswer['edges'][number]['node']

type Fields = ReturnType<typeof fieldsOf>

/**
 * The history in the events of a file, from its bytes alone: epochs, then the first data of each market, and the first fees of
 * each for that epoch.
 */
function historyIn(bytes: Buffer): Node[] {
  const rows: Node[] = []
  let ended: { epoch: bigint; markets: Map<string, { data?: Fields; fees?: Fields }> } | null = null
  let [atBlock, timestamp] = [0n, 0n]
  const flush = () => {
    for (const [marketId, { data, fees }] of ended?.markets ?? []) {
      const [shares, slas] = [26, 32].map((no) =>
        (data?.get(no) ?? []).map((one) => fieldsOf(one as Uint8Array)),
      )
      const paid = (fees?.get(5) ?? []).map((one) => fieldsOf(one as Uint8Array))
      for (const party of new Set([...slas!, ...paid].map((one) => textIn(one, 1)))) {
        const of = (list: Fields[]) => list.find((one) => textIn(one, 1) === party)
        const [share, sla, own] = [of(shares!), of(slas!), of(paid)]
        rows.push({
          ...{ marketId, partyId: party, epoch: String(ended!.epoch) },
          ...{ timestamp: String(timestamp), atBlock: String(atBlock) },
          timeOnBook: sla === undefined ? null : textIn(sla, 3),
          feePenalty: sla === undefined ? null : textIn(sla, 4),
          bondPenalty: sla === undefined ? null : textIn(sla, 5),
          requiredLiquidity: sla === undefined ? null : textIn(sla, 7),
          equityLikeShare: sla === undefined || share === undefined ? null : textIn(share, 2),
          feesPaid: own === undefined ? null : textIn(own, 2),
        })
      }
    }
    ended = null
  }
  for (let at = 0; at < bytes.length; at += 4 + bytes.readUInt32BE(at)) {
    const event = fieldsOf(bytes.subarray(at + 12, at + 4 + bytes.readUInt32BE(at)))
    const kind = [...event.keys()].find((no) => no > 100)!
    if (![111, 131, 148, 179].includes(kind)) continue
    const body = fieldsOf(event.get(kind)![0] as Uint8Array)
    if (kind === 148) {
      flush()
      atBlock = numberIn(body, 1)
      timestamp = numberIn(body, 2)
    } else if (kind === 131) {
      if (numberIn(body, 2) !== 2n) continue
      flush()
      ended = { epoch: numberIn(body, 1), markets: new Map() }
    } else if (ended !== null) {
      const marketId = textIn(body, kind === 111 ? 12 : 1)
      const own = ended.markets.get(marketId) ?? {}
      if (kind === 111) own.data ??= body
      else if (numberIn(body, 3) === ended.epoch) own.fees ??= body
      ended.markets.set(marketId, own)
    }
  }
  flush()
  return rows
}

/** All rows of a selection, oldest first. */
const historyOf = (base: string, params: [string, string][]): Promise<Node[]> =>
  nodesOf(base, PATH, [...params, ['pagination.newestFirst', 'false']])

const inOrder = (rows: readonly Node[]) =>
  rows.toSorted((a, b) => {
    const order = BigInt(String(a.timestamp)) - BigInt(String(b.timestamp))
    if (order !== 0n) return order < 0n ? -1 : 1
    return `${a.marketId} ${a.partyId}` < `${b.marketId} ${b.partyId}` ? -1 : 1
  })

const epoch = (seq: number | bigint, action = 2): Content => ({
  kind: 131,
  body: message({ 1: seq, 2: action, 3: 1, 4: 2, 5: 3 }),
})

const sla = (party: string, timeOnBook: string) =>
  message({ 1: party, 3: timeOnBook, 4: '0.1', 5: '0.2', 7: '9' })
const share = (party: string, share: string) => message({ 1: party, 2: share })

const data = (marketId: string, slas: Uint8Array[], shares: Uint8Array[] = []): Content => ({
  kind: 111,
  body: message({ 12: marketId, 26: shares, 32: slas }),
})

const fees = (marketId: string, seq: number, paid: [party: string, amount: string][]): Content => ({
  kind: 179,
  body: message({ 1: marketId, 3: seq, 5: paid.map(([party, amount]) => message({ 1: party, 2: amount })) }),
})

function readIfThere(name: string): Buffer | null {
  const path = recordingPath(`${name}.evts.gz`)
  return path === null ? null : readRecording(path)
}

/** A recording in which an unused event of every 40th block is replaced by the end of an epoch. */
function withEpochs(bytes: Buffer | null): Buffer | null {
  if (bytes === null) return null
  const events = recordsOf(bytes).map(({ bytes: record, kind, height, index }) => {
    const event = record.subarray(12)
    if (kind !== 101 || height % 40 !== 0) return event
    const chain = textIn(fieldsOf(event), 5)
    return busEvent({ id: `${height}-${index}`, kind: 131, chain }, epoch(height / 40).body)
  })
  return frame(events)
}

const [OTHER, PARTY_2] = [idOf('d'), idOf('e')]

for (const kind of STORE_KINDS) {
  describe(`the history of liquidity providers (${kind.name})`, () => {
    // smoke ends 280 epochs, and its market data have no SLAs.
    const sources: Record<string, { least: number; bytes: () => Buffer | null }> = {
      smoke: { least: 0, bytes: () => readIfThere('smoke') },
      // The core's own epochs, with what it paid in each.
      month: { least: 500, bytes: () => readIfThere('month') },
      'perps-long, with epochs,': { least: 200, bytes: () => withEpochs(readIfThere('perps-long')) },
      'a generated stream': {
        least: 100,
        bytes: () => Buffer.concat([...generateRecords({ blocks: 1_000, markets: 4, parties: 40 })]),
      },
    }
    for (const [name, { least, bytes: find }] of Object.entries(sources)) {
      test(`of ${name} matches its events, by market, by party and by time`, async (t) => {
        const bytes = find()
        if (bytes === null) return skip(t, `no ${name}`)
        const expected = inOrder(historyIn(bytes))
        assert.ok(expected.length >= least, String(expected.length))
        const base = await serve(t, await storeOfBytes(t, kind, bytes))
        for (const field of ['marketId', 'partyId'] as const) {
          for (const [id, rows] of Map.groupBy(expected, (row) => String(row[field]))) {
            assert.deepEqual(await historyOf(base, [[field, id]]), rows)
            const [from, to] = [rows[0]!.timestamp, rows.at(-1)!.timestamp].map(String)
            const range: [string, string][] = [
              ['dateRange.startTimestamp', from!],
              ['dateRange.endTimestamp', to!],
            ]
            const within = rows.filter(({ timestamp }) => timestamp !== to)
            assert.deepEqual(await historyOf(base, [[field, id], ...range]), within)
          }
        }
      })
    }

    test('of a month says what a data node gave as paid', async (t) => {
      const recording = recordingPath('month.evts.gz')
      const answers = answersForMonth('paidfees')
      if (recording === null || answers === null) return skip(t, 'month and its answers are missing')
      type Paid = { market: string; epochSeq: string; feesPaidPerParty: { party: string; amount: string }[] }
      const expected = new Map<string, string>()
      for (const { body } of answers) {
        const { edges = [] } = (body.paidLiquidityFees ?? {}) as { edges?: { node: Paid }[] }
        for (const { node } of edges) {
          for (const { party, amount } of node.feesPaidPerParty)
            expected.set(`${node.market} ${party} ${node.epochSeq}`, amount)
        }
      }
      const base = await serveFile(kind, recording)
      const { text } = await send(base, '/api/v2/export/liquidity-provider-history?format=ndjson')
      const rows = text
        .trimEnd()
        .split('\n')
        .map((line): Node => JSON.parse(line))
      const paid = rows.filter(({ feesPaid }) => feesPaid !== null)
      assert.deepEqual(
        new Map(paid.map((row) => [`${row.marketId} ${row.partyId} ${row.epoch}`, row.feesPaid])),
        expected,
      )
      assert.equal(expected.size, 546)
    })

    test('says what was paid: by the first fees of a market and epoch, in the block that ends it, with an SLA or without', async (t) => {
      const blocks = [
        { height: 5, events: [fees(MARKET, 1, [[PARTY, '5']])] },
        {
          height: 6,
          events: [
            epoch(1),
            fees(MARKET, 1, [
              [PARTY, '7'],
              [PARTY_2, '8'],
              ['none', '1'],
              [idOf('f'), 'x'],
            ]),
            fees(MARKET, 1, [[PARTY, '70']]),
            fees(MARKET, 2, [[PARTY, '9']]),
            fees(OTHER, 1, [[PARTY, '11']]),
            epoch(2, 1),
            data(MARKET, [sla(PARTY, '0.5')], [share(PARTY, '0.25')]),
          ],
        },
        // The same epoch ends again: its figures are the new ones, its fees the first ones.
        {
          height: 7,
          events: [
            epoch(1),
            fees(MARKET, 1, [
              [PARTY, '12'],
              [idOf('f'), '13'],
            ]),
            data(MARKET, [sla(PARTY, '0.6')]),
          ],
        },
      ]
      for (const order of [blocks, blocks.toReversed()]) {
        const store = kind.create(t)
        for (const block of order) await ingestWell(t, store, fileOf(block), { allowGap: true })
        const base = await serve(t, store)
        const rows = [
          ...(await historyOf(base, [['marketId', MARKET]])),
          ...(await historyOf(base, [['marketId', OTHER]])),
        ]
        assert.deepEqual(
          rows.map(({ marketId, partyId, atBlock, timeOnBook, equityLikeShare, feesPaid }) =>
            [marketId, partyId, atBlock, timeOnBook, equityLikeShare, feesPaid].join(' '),
          ),
          [
            `${MARKET} ${PARTY_2} 6   8`,
            `${MARKET} ${PARTY} 7 0.6  7`,
            `${MARKET} ${idOf('f')} 7   `,
            `${OTHER} ${PARTY} 6   11`,
          ],
        )
        await runWell(t, ['check', '--store', store])
      }
    })

    test('starts at the end of an epoch, with the first data of each market after it in its block', async (t) => {
      const store = await storeOfBytes(
        t,
        kind,
        fileOf(
          {
            height: 5,
            events: [
              data(MARKET, [sla(PARTY, '0.1')]),
              epoch(0),
              epoch(1, 1),
              data(MARKET, [sla(PARTY, '0.2'), sla('none', '1'), sla(PARTY_2, '')], [share(PARTY, '0.5')]),
              data(MARKET, [sla(PARTY, '0.3')]),
              data(OTHER, []),
              data(OTHER, [sla(PARTY, '0.4')]),
            ],
          },
          {
            height: 6,
            events: [data(OTHER, [sla(PARTY, '0.5')]), epoch(2n ** 63n), data(MARKET, [sla(PARTY, '1')])],
          },
        ),
      )
      const base = await serve(t, store)
      const rows = await historyOf(base, [['partyId', PARTY]])
      assert.deepEqual(
        rows.map(({ marketId, epoch, atBlock, timeOnBook, equityLikeShare }) => [
          ...[marketId, epoch, atBlock, timeOnBook, equityLikeShare],
        ]),
        [[MARKET, '0', '5', '0.2', '0.5']],
      )
      const [other] = await historyOf(base, [['partyId', PARTY_2]])
      assert.deepEqual([other!.timeOnBook, other!.equityLikeShare], ['', null])
    })

    test('is exported by the beginning of the id of a party that left', async (t) => {
      const events = [epoch(0), data(MARKET, [sla(PARTY, '0.1'), sla(PARTY_2, '1')])]
      const store = await storeOfBytes(t, kind, fileOf({ height: 5, events }))
      const exported = (party: string) =>
        runLyra(t, ['export', 'liquidity-provider-history', '--store', store, '--party', party])
      const whole = await exported(PARTY_2)
      assert.match(whole.stdout, /^\{.*"timeOnBook":"1".*\}\n$/)
      assert.equal((await exported(PARTY_2.slice(0, 5))).stdout, whole.stdout)
      assert.match((await exported('0a')).stderr, /--party 0a: no party id of .* starts with it\n$/)
    })

    test('is the same in whatever order blocks arrive, and after an incomplete block is completed', async (t) => {
      const first = { height: 5, events: [epoch(7), data(MARKET, [sla(PARTY, '0.1')])] }
      const whole = {
        height: 6,
        events: [
          epoch(7),
          data(MARKET, [sla(PARTY, '0.2')]),
          data(MARKET, [sla(PARTY, '0.3'), sla(PARTY_2, '1')]),
        ],
      }
      const later = { height: 7, events: [epoch(8), data(OTHER, [sla(PARTY, '1')])] }
      const all = fileOf(first, whole, later)
      const expected = await dumpOf(t, kind, all)
      assert.equal(expected.liquidity_provider_history!.length, 2)
      for (const parts of [
        [fileOf(later), fileOf(whole), fileOf(first)],
        [fileOf(first, { ...whole, without: [3] }, later), fileOf(whole)],
        [fileOf(first, later), all],
      ]) {
        const store = kind.create(t)
        for (const part of parts) await ingestWell(t, store, part, { allowGap: true })
        const { liquidity_provider_history: history } = await dumpStore(store)
        assert.deepEqual(history, expected.liquidity_provider_history)
      }
    })

    test('is reported as missing after an upgrade', { skip: kind.name === 'citus' }, async (t) => {
      const old = await restoreOldStore(t, kind)
      await runWell(t, ['migrate', '--store', old])
      const { stdout } = await runWell(t, ['status', '--store', old])
      assert.match(stdout, /liquidityProviderHistory +stored from block \d+ on$/m)
    })
  })
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createLyraClient, LyraApiError, type ProviderStanding } from '../../client/src/index.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import {
  auction,
  type Content,
  content,
  epoch,
  fileOf,
  idOf,
  joinRecords,
  MARKET,
  type MadeBlock,
  message,
  PARTY,
  perpetual,
  provision,
  readRecording,
  recordsOf,
  type StreamRecord,
} from '../fixtures/events/event-stream.ts'
import { type Fields, fieldsOf, numberIn, textIn, textsIn } from '../fixtures/events/wire-fields.ts'
import { getJson, send } from '../fixtures/requests/http.ts'
import { ingest, serve, storeOfBytes } from '../fixtures/services/service.ts'
import { MONTH, recordingPath, skip } from '../fixtures/shared.ts'
import { LIVE_MARKET, providedBy, serveLive } from '../fixtures/stores/live-store.ts'
import { describeOn, runSql, STORE_KINDS } from '../fixtures/stores/stores.ts'

const PATH = '/api/v2/liquidity/standing'

type Answer = {
  liquidityStanding: ProviderStanding[]
  missing: { from: string; to: string; start: string | null; end: string | null }[]
  since: { height: string; start: string | null } | null
}

const standingsOf = (base: string, query: string) => getJson<Answer>(base, `${PATH}?${query}`)

/** The list of a market's providers, as its latest data had it. */
type List = { at: bigint; mode: bigint; shares: Set<string>; slas: Map<string, Fields> }

/** What follows from the events up to some block, summed up from their bytes by an independent decoder, with doubles. */
class ExpectedStandings {
  readonly #epochs = new Map<bigint, { start: bigint; expiry: bigint; end: bigint | null }>()
  readonly #provisions = new Map<string, { marketId: string; partyId: string; status: bigint }>()
  readonly #lists = new Map<string, List>()
  readonly #terms = new Map<string, { minimum: string; factor: string }>()
  readonly #opened = new Map<string, bigint>()

  add({ kind, bytes }: StreamRecord): void {
    if (![111, 116, 121, 124, 125, 131].includes(kind)) return
    const fields = fieldsOf(fieldsOf(bytes.subarray(12)).get(kind)![0] as Uint8Array)
    if (kind === 111) {
      const slas = (fields.get(32) ?? []).map((sla) => fieldsOf(sla as Uint8Array))
      this.#lists.set(textIn(fields, 12), {
        at: numberIn(fields, 13),
        mode: numberIn(fields, 19),
        shares: new Set((fields.get(26) ?? []).map((share) => textIn(fieldsOf(share as Uint8Array), 1))),
        slas: new Map(slas.map((sla) => [textIn(sla, 1), sla])),
      })
    } else if (kind === 121) {
      if (numberIn(fields, 2) === 1n && numberIn(fields, 3) === 1n)
        this.#opened.set(textIn(fields, 1), numberIn(fields, 5))
    } else if (kind === 124) {
      const [marketId, partyId] = [textIn(fields, 5), textIn(fields, 2)]
      this.#provisions.set(textIn(fields, 1), { marketId, partyId, status: numberIn(fields, 11) })
    } else if (kind === 131) {
      const isEnd = numberIn(fields, 2) === 2n
      this.#epochs.set(numberIn(fields, 1), {
        start: numberIn(fields, 3),
        expiry: numberIn(fields, 4),
        end: isEnd ? numberIn(fields, 5) : null,
      })
    } else {
      const sla = fieldsOf((fields.get(18)?.[0] as Uint8Array | undefined) ?? new Uint8Array())
      this.#terms.set(textIn(fields, 1), { minimum: textIn(sla, 2), factor: textIn(sla, 5) })
    }
  }

  /** The live provisions, by market and party. */
  providers(): string[] {
    const live = [...this.#provisions.values()].filter(({ status }) => [1n, 5n, 6n].includes(status))
    return [...new Set(live.map(({ marketId, partyId }) => `${marketId} ${partyId}`))].sort()
  }

  /** The end of an epoch that has ended. */
  endOf(seq: string): bigint | null {
    return this.#epochs.get(BigInt(seq))?.end ?? null
  }

  /** The time on book of the last epoch, as market data have it; null if they have none. */
  lastTimeOnBook(provider: string): number | null {
    const [marketId, partyId] = provider.split(' ') as [string, string]
    const sla = this.#lists.get(marketId)?.slas.get(partyId)
    const text = sla === undefined ? '' : textIn(sla, 3)
    return text === '' ? null : Number(text)
  }

  of(provider: string): Record<string, string | number | null> {
    const [marketId, partyId] = provider.split(' ') as [string, string]
    const running = [...this.#epochs].filter(([, { end }]) => end === null)
    const [seq, { start, expiry }] = running.sort(([a], [b]) => Number(a - b)).at(-1)!
    const before = this.#epochs.get(seq - 1n)
    const list = this.#lists.get(marketId)
    const sla = list?.shares.has(partyId) ? list.slas.get(partyId) : undefined
    const at = sla === undefined ? null : list!.at
    const { minimum = '', factor = '' } = this.#terms.get(marketId) ?? {}
    const exact = before?.end == null ? null : expiry + before.end - before.expiry
    const expectedEnd = exact === null || (at !== null && at > exact && before !== undefined) ? at : exact
    const known = exact === null ? null : expectedEnd
    const shown = {
      marketId,
      partyId,
      epoch: `${seq}`,
      epochStart: `${start}`,
      epochExpectedEnd: known === null ? null : `${known}`,
      at: at === null ? null : `${at}`,
      timeOnBook: sla === undefined ? null : textIn(sla, 2) || null,
      minimum: minimum || null,
      feePenaltyLastEpoch: sla === undefined ? null : textIn(sla, 4) || null,
    }
    const opened = this.#opened.get(marketId) ?? 0n
    const from = opened > start ? opened : start
    const unknown = { elapsed: null, ifLeft: null, stillNeeded: null, feePenaltyIfLeft: null }
    if (at === null || known === null || list!.mode === 3n) return { ...shown, ...unknown }
    const [length, passed] = [Number(known - from), Number(at - from)]
    const onBook = Number(textIn(sla!, 2)) * passed
    const ifLeft = onBook / length
    const least = Number(minimum)
    const own = ifLeft < least ? 1 : ((1 - ifLeft) / (1 - least)) * Number(factor)
    const earlier = textsIn(sla!, 6).map(Number)
    const mean = earlier.length === 0 ? 0 : earlier.reduce((sum, one) => sum + one, 0) / earlier.length
    return {
      ...shown,
      elapsed: passed / length,
      ifLeft,
      stillNeeded:
        minimum === '' || passed === length ? null : Math.max(0, least * length - onBook) / (length - passed),
      feePenaltyIfLeft: minimum === '' ? null : Math.max(own, mean),
    }
  }
}

/** Compares fractions as numbers: those of the model are doubles. */
function assertIs(actual: ProviderStanding, expected: Record<string, string | number | null>): void {
  assert.deepEqual(Object.keys(actual).sort(), Object.keys(expected).sort())
  for (const [name, value] of Object.entries(expected)) {
    const shown = actual[name as keyof ProviderStanding]
    const isNear = typeof value === 'number' && shown !== null && Math.abs(Number(shown) - value) < 1e-9
    assert.ok(isNear || shown === value, `${name}: ${shown}, not ${value}\n${JSON.stringify(actual)}`)
  }
}

/** Blocks after which the standing is asked: within the first epochs, at ends of epochs, in suspension, and at the end. */
const HEIGHTS_OF_MONTH = [2, 3, 50, 101, 102, 640, 1_500, 2_943, 2_960]

/* Made-up epochs: each ends ten seconds after its expiry, in block 100 n; blocks are a second apart. */

const at = (height: number) => BigInt(height) * 1_000_000_000n

const starts = (seq: number) => epoch(seq, 1, { start: at(100 * seq), expiry: at(100 * seq + 90), end: 0 })
const ends = (seq: number) =>
  epoch(seq, 2, { start: at(100 * seq), expiry: at(100 * seq + 90), end: at(100 * seq + 100) })

type SlaFields = { book?: string; last?: string; penalty?: string; earlier?: string[] }

/** A market's data with an SLA of each party that has one, and a fee share of each. */
const dataAt = (
  height: number,
  slas: Record<string, SlaFields | null>,
  { marketId = MARKET, mode = 1 }: { marketId?: string; mode?: number } = {},
): Content =>
  content(111, {
    12: marketId,
    13: at(height),
    19: mode,
    26: Object.keys(slas).map((party) => message({ 1: party, 2: '0.5' })),
    32: Object.entries(slas).flatMap(([party, sla]) =>
      sla === null
        ? []
        : message({
            1: party,
            2: sla.book ?? '',
            3: sla.last ?? '',
            4: sla.penalty ?? '',
            6: sla.earlier ?? [],
          }),
    ),
  })

/** A market of which a provider must be on the book for 60 % of an epoch, with a competition factor of 0.4. */
const market = (marketId = MARKET): Content => {
  const { kind, body } = perpetual({ marketId })
  const sla = message({ 18: message({ 1: '0.05', 2: '0.6', 4: 2, 5: '0.4' }) })
  return { kind, body: Buffer.concat([body, sla]) }
}

const opens = (height: number, leave: boolean) =>
  content(121, { 1: MARKET, 2: 1, 3: leave ? 1 : 0, 4: at(1), 5: at(height) })

const EPOCH_2: MadeBlock[] = [
  { height: 100, events: [starts(1), market(), provision()] },
  { height: 200, events: [ends(1), starts(2)] },
]

const PARTY_2 = idOf('e')

describeOn(STORE_KINDS, 'the standing of liquidity providers', (kind) => {
  test('is that of the events of month, at any block, and true at the end of the epoch', async (t) => {
    const store = kind.create(t)
    const records = recordsOf(readRecording(MONTH))
    const model = new ExpectedStandings()
    let done = 0
    let base: string | null = null
    let compared = 0
    let waiting: ProviderStanding[] = []
    let confirmed = 0
    for (const height of HEIGHTS_OF_MONTH) {
      const part = records.slice(done).filter((record) => record.height <= height)
      done += part.length
      for (const record of part) {
        model.add(record)
        // As soon as an epoch has ended, the real figures are in the market data of that block.
        for (const one of waiting) {
          const end = model.endOf(one.epoch!)
          if (end === null || record.kind !== 111) continue
          const real = model.lastTimeOnBook(`${one.marketId} ${one.partyId}`)
          const list = model.of(`${one.marketId} ${one.partyId}`)
          if (real === null || list.at === null || BigInt(list.at!) < end) continue
          assert.equal(one.epochExpectedEnd, `${end}`)
          const most = Number(one.ifLeft) + 1 - Number(one.elapsed)
          assert.ok(
            real > Number(one.ifLeft) - 1e-9 && real < most + 1e-9,
            `${real} of ${JSON.stringify(one)}`,
          )
          confirmed++
          waiting = waiting.filter((other) => other !== one)
        }
      }
      await ingest(store, joinRecords(part))
      base ??= await serve(t, store)
      const providers = model.providers()
      const shown: ProviderStanding[] = []
      for (const marketId of new Set(providers.map((provider) => provider.split(' ')[0]!)))
        shown.push(...(await standingsOf(base, `marketId=${marketId}`)).liquidityStanding)
      assert.deepEqual(
        shown.map(({ marketId, partyId }) => `${marketId} ${partyId}`),
        providers,
      )
      for (const [index, provider] of providers.entries()) assertIs(shown[index]!, model.of(provider))
      compared += shown.length
      waiting.push(...shown.filter(({ ifLeft }) => ifLeft !== null))
      // The same by party, and by both.
      const [one] = shown
      if (one === undefined) continue
      const { marketId, partyId } = one
      const ofParty = await standingsOf(base, `partyId=${partyId}`)
      assert.deepEqual(ofParty, {
        liquidityStanding: shown.filter((other) => other.partyId === partyId),
        missing: [],
        since: null,
      })
      const ofBoth = await standingsOf(base, `party_id=${partyId.toUpperCase()}&market_id=${marketId}`)
      assert.deepEqual(ofBoth.liquidityStanding, [one])
    }
    assert.ok(compared > 100 && confirmed > 80, `${compared} compared, ${confirmed} confirmed`)
  })

  for (const name of ['smoke', 'system']) {
    test(`is that of the events of ${name}, whose markets have no SLA`, async (t) => {
      const path = recordingPath(`${name}.evts.gz`)
      if (path === null) return skip(t, `${name} is missing`)
      const model = new ExpectedStandings()
      const recording = readRecording(path)
      for (const record of recordsOf(recording)) model.add(record)
      const base = await serve(t, await storeOfBytes(t, kind, recording))
      const providers = model.providers()
      const shown: ProviderStanding[] = []
      for (const marketId of new Set(providers.map((provider) => provider.split(' ')[0]!)))
        shown.push(...(await standingsOf(base, `marketId=${marketId}`)).liquidityStanding)
      assert.equal(shown.length, providers.length)
      for (const [index, provider] of providers.entries()) assertIs(shown[index]!, model.of(provider))
    })
  }

  test('says what is still needed, and what leaving would cost, as far as events tell', async (t) => {
    const block = (height: number, sla: SlaFields | null, mode = 1): MadeBlock => ({
      height,
      events: [dataAt(height, { [PARTY]: sla }, { mode })],
    })
    const running = ['2', at(200), at(300)].map(String)
    const none = ['null', 'null', 'null', 'null']
    const cases: [what: string, blocks: MadeBlock[], expected: string[]][] = [
      [
        'on the book all the time',
        [...EPOCH_2, block(240, { book: '1', penalty: '0', earlier: ['0', '0'] })],
        [...running, `${at(240)}`, '1', '0.6', '0.4', '0.4', '0.3333333333333333', '1', '0'],
      ],
      [
        'at the minimum already: leaving costs the most that is left',
        [...EPOCH_2, block(280, { book: '0.75', penalty: '1', earlier: ['1', '0'] })],
        [...running, `${at(280)}`, '0.75', '0.6', '0.8', '0.6', '0', '0.5', '1'],
      ],
      [
        'and earlier penalties that are less',
        [...EPOCH_2, block(290, { book: '1', penalty: '0.1', earlier: ['0.05', '0.15'] })],
        [...running, `${at(290)}`, '1', '0.6', '0.9', '0.9', '0', '0.1', '0.1'],
      ],
      [
        'too short to reach it',
        [...EPOCH_2, block(280, { book: '0.25', penalty: '0', earlier: [] })],
        [...running, `${at(280)}`, '0.25', '0.6', '0.8', '0.2', '2', '1', '0'],
      ],
      [
        'in the block in which the epoch begins',
        [
          ...EPOCH_2.slice(0, 1),
          { height: 200, events: [ends(1), starts(2), dataAt(200, { [PARTY]: { book: '0' } })] },
        ],
        [...running, `${at(200)}`, '0', '0.6', '0', '0', '0.6', '1', 'null'],
      ],
      [
        'later than the epoch was expected to end: no time remains',
        [...EPOCH_2, block(305, { book: '0.6', penalty: '0' })],
        ['2', `${at(200)}`, `${at(305)}`, `${at(305)}`, '0.6', '0.6', '1', '0.6', 'null', '0.4', '0'],
      ],
      [
        'in an opening auction: nobody knows when it ends',
        [...EPOCH_2, block(240, { book: '0' }, 3)],
        [...running, `${at(240)}`, '0', '0.6', ...none, 'null'],
      ],
      [
        'out of it within the epoch: time on book counts from then on',
        [...EPOCH_2, { height: 220, events: [opens(220, true)] }, block(240, { book: '1', penalty: '0' })],
        [...running, `${at(240)}`, '1', '0.6', '0.25', '0.25', '0.4666666666666667', '1', '0'],
      ],
      [
        'out of it in an earlier epoch, and in another auction since',
        [
          ...EPOCH_2.slice(0, 1),
          { height: 150, events: [opens(150, true)] },
          ...EPOCH_2.slice(1),
          { height: 220, events: [auction({ leave: 0 })] },
          { height: 230, events: [content(121, { 1: MARKET, 2: 0, 3: 1, 4: at(220), 5: at(230) })] },
          block(240, { book: '1', penalty: '0' }, 4),
        ],
        [...running, `${at(240)}`, '1', '0.6', '0.4', '0.4', '0.3333333333333333', '1', '0'],
      ],
      [
        'without an SLA',
        [...EPOCH_2, block(240, null)],
        [...running, 'null', 'null', '0.6', ...none, 'null'],
      ],
      ['without market data', EPOCH_2, [...running, 'null', 'null', '0.6', ...none, 'null']],
      [
        'with empty texts',
        [...EPOCH_2, block(240, {})],
        [...running, `${at(240)}`, 'null', '0.6', '0.4', 'null', 'null', 'null', 'null'],
      ],
      [
        'with data of the epoch before alone',
        [...EPOCH_2.slice(0, 1), block(150, { book: '0.5', penalty: '0.25' }), ...EPOCH_2.slice(1)],
        [...running, `${at(150)}`, 'null', '0.6', ...none, '0.25'],
      ],
      [
        'without the epoch before',
        [
          { height: 200, events: [starts(2), market(), provision()] },
          block(240, { book: '1', penalty: '0' }),
        ],
        ['2', `${at(200)}`, 'null', `${at(240)}`, '1', '0.6', ...none, '0'],
      ],
      [
        'with an epoch before of which only an earlier one is stored',
        [
          { height: 100, events: [starts(1), market(), provision()] },
          { height: 200, events: [ends(1)] },
          { height: 300, events: [starts(3)] },
          block(340, { book: '1', penalty: '0' }),
        ],
        ['3', `${at(300)}`, 'null', `${at(340)}`, '1', '0.6', ...none, '0'],
      ],
      [
        'without an epoch that runs',
        [
          ...EPOCH_2,
          { height: 300, events: [ends(2), dataAt(300, { [PARTY]: { book: '0', penalty: '0.5' } })] },
        ],
        ['null', 'null', 'null', `${at(300)}`, 'null', '0.6', ...none, '0.5'],
      ],
      [
        'without terms of the market',
        [
          { height: 100, events: [starts(1), provision()] },
          { height: 200, events: [ends(1), starts(2)] },
          block(240, { book: '0.5', penalty: '0' }),
        ],
        [...running, `${at(240)}`, '0.5', 'null', '0.4', '0.2', 'null', 'null', '0'],
      ],
    ]
    const names = [
      'epoch',
      'epochStart',
      'epochExpectedEnd',
      'at',
      'timeOnBook',
      'minimum',
      'elapsed',
      'ifLeft',
      'stillNeeded',
      'feePenaltyIfLeft',
      'feePenaltyLastEpoch',
    ] as const
    for (const [what, blocks, expected] of cases) {
      const store = kind.create(t)
      await ingest(store, fileOf(...blocks), { allowGap: true })
      const { liquidityStanding } = await standingsOf(await serve(t, store), `partyId=${PARTY}`)
      assert.equal(liquidityStanding.length, 1, what)
      assert.deepEqual(
        names.map((name) => `${name} ${liquidityStanding[0]![name]}`),
        names.map((name, index) => `${name} ${expected[index]}`),
        what,
      )
    }
  })

  test('has one row for each live provision, by market and party, listed by its market or not', async (t) => {
    const [first, second, third] = [idOf('1'), idOf('2'), idOf('3')]
    const made = (id: string, marketId: string, partyId: string, status: number) =>
      provision({ provisionId: idOf(id), marketId, partyId, status })
    const blocks: MadeBlock[] = [
      {
        height: 200,
        events: [
          starts(2),
          made('4', second, PARTY_2, 1),
          // Two of one party, a pending one, and those that have ended.
          made('5', second, PARTY, 1),
          made('6', second, PARTY, 5),
          made('7', first, PARTY, 6),
          made('8', third, PARTY, 2),
          made('9', second, idOf('f'), 4),
          // Another party is listed without a provision, as AMMs are.
          dataAt(
            200,
            { [PARTY]: { book: '0.5' }, [PARTY_2]: null, [idOf('f')]: { book: '1' } },
            { marketId: second },
          ),
        ],
      },
    ]
    const base = await serve(t, await storeOfBytes(t, kind, fileOf(...blocks)))
    const shown = async (query: string) =>
      (await standingsOf(base, query)).liquidityStanding.map(
        ({ marketId, partyId, timeOnBook }) => `${marketId[0]} ${partyId[0]} ${timeOnBook}`,
      )
    assert.deepEqual(await shown(`partyId=${PARTY}`), ['1 b null', '2 b 0.5'])
    assert.deepEqual(await shown(`marketId=${second}`), ['2 b 0.5', '2 e null'])
    assert.deepEqual(await shown(`marketId=${second}&partyId=${PARTY_2}`), ['2 e null'])
    assert.deepEqual(await shown(`marketId=${third}&partyId=${PARTY}`), [])
    assert.deepEqual(await shown(`marketId=${idOf('0')}`), [])
    assert.deepEqual(await shown('partyId=network'), [])
  })

  test('names the blocks that are missing, and from where on a store that an older version began has everything', async (t) => {
    const store = kind.create(t)
    const blocks = [...EPOCH_2, { height: 202, events: [dataAt(202, { [PARTY]: { book: '1' } })] }]
    await ingest(store, fileOf(...blocks), { allowGap: true })
    const base = await serve(t, store)
    const query = `marketId=${MARKET}`
    const { missing, since } = await standingsOf(base, query)
    assert.deepEqual(missing, [
      { from: '101', to: '199', start: `${at(100)}`, end: `${at(200)}` },
      { from: '201', to: '201', start: `${at(200)}`, end: `${at(202)}` },
    ])
    assert.equal(since, null)
    // Epochs and auctions count from the epoch before on; provisions of any time may be live.
    const sinceWith = async (...rows: [resource: string, height: number][]) => {
      await runSql(store, 'delete from since')
      for (const [resource, height] of rows)
        await runSql(store, `insert into since values ('${resource}', ${height}, ${at(height)})`)
      return (await standingsOf(await serve(t, store), query)).since
    }
    assert.equal(await sinceWith(['epochs', 100], ['fundingPayments', 200], ['auctions', 100]), null)
    assert.deepEqual(await sinceWith(['epochs', 101], ['auctions', 150]), {
      height: '150',
      start: `${at(150)}`,
    })
    assert.deepEqual(await sinceWith(['liquidityProviders', 50]), { height: '50', start: `${at(50)}` })
    await runSql(store, `insert into imported values (50, 60, 'epochs'), (70, 80, 'fundingPayments')`)
    const { missing: all } = await standingsOf(await serve(t, store), query)
    assert.deepEqual(all[0], { from: '50', to: '60', start: null, end: null })
    assert.equal(all.length, 3)
  })

  test('is refused without market and party, with malformed or unknown parameters, and for too many providers', async (t) => {
    const { live, base } = await serveLive(t, kind, [])
    const refused: [query: string, said: string][] = [
      [
        '',
        '"code":10015,"message":"malformed request","inner":"marketId or partyId or both must be provided"',
      ],
      ['marketId=abc', '"code":10000,"message":"invalid market ID"'],
      ['marketId=', '"code":10000,"message":"invalid market ID"'],
      [`partyId=abc&marketId=${MARKET}`, '"code":10000,"message":"invalid party ID"'],
      [`partyId=${PARTY}&source=1`, 'unknown parameter'],
      [`partyId=${PARTY}&format=csv`, 'unknown parameter'],
      [`partyId=${PARTY}&party_id=${PARTY}`, 'too many values for field'],
    ]
    for (const [query, said] of refused) {
      const { status, text } = await send(base, `${PATH}?${query}`)
      assert.equal(status, 400, query)
      assertSays(text, said)
    }
    const parties = Array.from({ length: 5_001 }, (_, index) => `${index}`.padStart(64, '0'))
    await live.commit(2, providedBy(LIVE_MARKET, parties.slice(1)))
    const ofMarket = `${PATH}?marketId=${LIVE_MARKET}`
    assert.equal((await getJson<Answer>(base, ofMarket)).liquidityStanding.length, 5_000)
    await live.commit(3, providedBy(LIVE_MARKET, parties))
    const { status, text } = await send(base, ofMarket)
    assert.equal(status, 400)
    assertSays(text, 'there are more than 5,000 providers: give marketId and partyId')
    const one = await getJson<Answer>(base, `${ofMarket}&partyId=${parties[0]}`)
    assert.equal(one.liquidityStanding.length, 1)
  })

  test('is an answer whatever numbers and times events have', async (t) => {
    const number = fc.constantFrom(
      '',
      '0',
      '-1',
      '1',
      '0.5',
      '.5',
      '1e99',
      '1e-99',
      '7'.repeat(256),
      `0.${'1'.repeat(200)}`,
    )
    const time = fc.constantFrom(1n, -5n, 10n ** 18n, 2n ** 63n - 1n, -(2n ** 63n))
    const cases = fc.record({
      slas: fc.record({
        book: number,
        last: number,
        penalty: number,
        earlier: fc.array(number, { maxLength: 3 }),
      }),
      terms: fc.record({ least: number, factor: number }),
      times: fc.tuple(time, time, time, time, time, time),
      seq: fc.constantFrom(1n, 2n ** 63n - 2n),
    })
    const store = kind.create(t)
    let height = 10
    await ingest(store, fileOf({ height, events: [provision()] }))
    const base = await serve(t, store)
    await fc.assert(
      fc.asyncProperty(cases, async ({ slas, terms, times, seq }) => {
        const [start, expiry, end, next, due, now] = times
        const { kind, body } = perpetual()
        const sla = message({ 18: message({ 1: '0.05', 2: terms.least, 4: 2, 5: terms.factor }) })
        const data = dataAt(0, { [PARTY]: slas })
        await ingest(
          store,
          fileOf({
            height: ++height,
            events: [
              { kind, body: Buffer.concat([body, sla]) },
              epoch(seq, 2, { start, expiry, end }),
              epoch(seq + 1n, 1, { start: next, expiry: due, end: 0 }),
              { kind: data.kind, body: Buffer.concat([data.body, message({ 13: now })]) },
            ],
          }),
        )
        const { liquidityStanding } = await standingsOf(base, `partyId=${PARTY}`)
        assert.equal(liquidityStanding.length, 1)
        const [{ epochExpectedEnd, at, elapsed }] = liquidityStanding as [ProviderStanding]
        if (at !== null && epochExpectedEnd !== null && elapsed !== null)
          assert.ok(BigInt(epochExpectedEnd) >= BigInt(at) && Number(elapsed) >= 0 && Number(elapsed) <= 1)
      }),
      { numRuns: 40 },
    )
  })

  test('is 503 in an empty store, and an object with what is missing in the client', async (t) => {
    const store = kind.create(t)
    const base = await serve(t, store)
    assert.equal((await send(base, `${PATH}?partyId=${PARTY}`)).status, 503)
    await ingest(store, fileOf(...EPOCH_2), { allowGap: true })
    const client = createLyraClient({ url: base })
    const { liquidityStanding, missing, since } = await client.liquidityStanding({ partyId: PARTY })
    assert.deepEqual([liquidityStanding.map(({ epoch }) => epoch), missing.length, since], [['2'], 1, null])
    await assert.rejects(client.liquidityStanding({}), (error: LyraApiError) => {
      assertSays(error.message, 'marketId or partyId or both must be provided')
      return error instanceof LyraApiError
    })
  })
})

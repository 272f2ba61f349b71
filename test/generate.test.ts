import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Writable } from 'node:stream'
import { before, describe, test } from 'node:test'
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import type { MarketDataEvent, MarketEvent } from '#core/events/event'
import { findEventFiles } from '#core/records/event-paths'
import { generateRecords } from '#tools/generate/generate'
import { GenerateOptionError, type GenerateOptions, resolveOptions } from '#tools/generate/options'
import { writeTo } from '#tools/generate/write-to'
import { verifyFiles } from '#tools/verify/verify-files'
import { type DecodedEvent, decodedEvents } from './fixtures/decoded-events.ts'
import { SILENT } from './fixtures/service.ts'
import { fileWith } from './fixtures/stores.ts'

/** A field of a message: its number, and its value as an integer or bytes. */
type Field = { no: number; value: bigint | Uint8Array }

/** Every field of a message, read to its last byte by an independent decoder. */
function fieldsOf(message: Uint8Array): Field[] {
  const reader = new BinaryReader(message)
  const fields: Field[] = []
  while (reader.pos < reader.len) {
    const [no, type] = reader.tag()
    if (type === WireType.Varint) fields.push({ no, value: BigInt(reader.uint64()) })
    else if (type === WireType.LengthDelimited) fields.push({ no, value: reader.bytes() })
    else throw new Error(`field ${no} has wire type ${type}`)
  }
  return fields
}

type RawEvent = {
  sequence: bigint
  id: string
  block: string
  type: number
  version: number
  chainId: string
  txHash: string
  kind: number
  body: Uint8Array
  bytes: number
}

function rawEvents(options: GenerateOptions): RawEvent[] {
  const bytes = Buffer.concat([...generateRecords(options)])
  const events: RawEvent[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + bytes.readUInt32BE(at)
    const message = bytes.subarray(at + 12, end)
    const fields = fieldsOf(message)
    const text = (no: number) =>
      Buffer.from(fields.find((field) => field.no === no)!.value as Uint8Array).toString()
    const number = (no: number) => Number(fields.find((field) => field.no === no)!.value)
    const { no: kind, value } = fields.at(-1)!
    events.push({
      sequence: bytes.readBigUInt64BE(at + 4),
      id: text(1),
      block: text(2),
      type: number(3),
      version: number(4),
      chainId: text(5),
      txHash: text(6),
      kind,
      body: value as Uint8Array,
      bytes: message.length,
    })
    at = end
  }
  return events
}

const uintOf = ({ body }: RawEvent, no: number): bigint =>
  (fieldsOf(body).find((field) => field.no === no)?.value as bigint | undefined) ?? 0n
const textOf = ({ body }: RawEvent, no: number): string =>
  Buffer.from(fieldsOf(body).find((field) => field.no === no)!.value as Uint8Array).toString()

const action = (body: Uint8Array) => fieldsOf(body).find(({ no }) => no === 2)!.value
const nested = (message: Uint8Array, no: number) =>
  fieldsOf(message).find((field) => field.no === no)!.value as Uint8Array

/** Splits events into blocks, from one BeginBlock to the next. */
function blocksOf(events: RawEvent[]): RawEvent[][] {
  const blocks: RawEvent[][] = []
  for (const event of events) {
    if (event.kind === 148) blocks.push([])
    blocks.at(-1)!.push(event)
  }
  return blocks
}

const digest = (options: GenerateOptions) => {
  const hash = createHash('sha256')
  for (const chunk of generateRecords(options)) hash.update(chunk)
  return hash.digest('hex')
}

describe('the bytes of a generated stream', () => {
  const options = { blocks: 300, markets: 5, points: 4.5, parties: 9, events: 7.25, seed: 42 }

  test('are the same for the same options, on every machine', () => {
    assert.equal(digest(options), digest({ ...options }))
    // Update this when the generator is changed on purpose.
    assert.equal(digest(options), '8679d8abc33464df8a8600a44fd67b26a531a9a27b494700c9608b38fefeb166')
  })

  test('differ from seed to seed in ids, hashes and prices', () => {
    const [first, second] = [rawEvents(options), rawEvents({ ...options, seed: 43 })]
    const texts = (events: RawEvent[], kind: number, field: number) =>
      new Set(events.filter((event) => event.kind === kind).map((event) => textOf(event, field)))
    for (const [what, kind, field] of [
      ['market', 160, 1],
      ['price', 160, 4],
      ['block hash', 148, 3],
      ['party', 124, 2],
      ['checkpoint', 135, 1],
    ] as const) {
      const others = texts(second, kind, field)
      assert.ok(![...texts(first, kind, field)].some((found) => others.has(found)), what)
    }
  })

  test('come in chunks of about 256 KB of whole records', () => {
    const chunks = [...generateRecords({ blocks: 500 })]
    for (const chunk of chunks.slice(0, -1)) {
      assert.ok(chunk.length >= 256 * 1024 && chunk.length < 320 * 1024, String(chunk.length))
    }
    for (const chunk of chunks) {
      const bytes = Buffer.from(chunk)
      let at = 0
      while (at < bytes.length) at += 4 + bytes.readUInt32BE(at)
      assert.equal(at, bytes.length)
    }
  })
})

describe('the blocks of a generated stream', () => {
  const options = { blocks: 200, events: 12, chain: 'test chain 7' }
  const events = rawEvents(options)
  const blocks = blocksOf(events)

  test('number their records without a break', () => {
    assert.deepEqual(
      events.map(({ sequence }) => sequence),
      events.map((_, index) => BigInt(index)),
    )
  })

  test('number their events 1, 2, 3 and have one hash', () => {
    for (const block of blocks) {
      const height = uintOf(block[0]!, 1)
      assert.deepEqual(
        block.map(({ id }) => id),
        block.map((_, index) => `${height}-${index + 1}`),
      )
      assert.equal(new Set(block.map((event) => event.block)).size, 1)
    }
  })

  test('begin with BeginBlock and the time event, and end with EndBlock', () => {
    for (const block of blocks) {
      const kinds = block.map(({ kind }) => kind)
      assert.deepEqual(kinds.slice(0, 2), [148, 101])
      assert.equal(kinds.at(-1), 149)
      assert.equal(kinds.filter((kind) => kind === 148 || kind === 101 || kind === 149).length, 3)
      assert.equal(uintOf(block[0]!, 2), uintOf(block[1]!, 1))
      assert.equal(uintOf(block[0]!, 1), uintOf(block.at(-1)!, 1))
    }
  })

  test('have version, chain id and upper-case hash in every event, and the lower-case hash in BeginBlock', () => {
    for (const event of events) {
      assert.equal(event.version, 1)
      assert.equal(event.chainId, 'test chain 7')
      assert.match(event.block, /^[0-9A-F]{64}$/)
      assert.match(event.txHash, /^[0-9A-F]{64}$/)
    }
    for (const [begin] of blocks) assert.equal(textOf(begin!, 3), begin!.block.toLowerCase())
  })

  test('have the event type of their kind', () => {
    const types = new Map(events.map(({ kind, type }) => [kind, type]))
    for (const [kind, type] of [
      [101, 2],
      [111, 12],
      [116, 17],
      [117, 18],
      [121, 22],
      [124, 25],
      [125, 26],
      [131, 31],
      [135, 35],
      [148, 49],
      [149, 50],
      [159, 61],
      [160, 62],
    ] as const) {
      assert.equal(types.get(kind), type)
    }
  })

  test('follow each other by a second or a little more, with nanosecond times', () => {
    const ofBlocks = blocks
      .slice(1)
      .map(([begin]) => ({ height: uintOf(begin!, 1), time: uintOf(begin!, 2) }))
    assert.equal(ofBlocks.length, 200)
    for (const [index, { height, time }] of ofBlocks.entries()) {
      assert.equal(height, BigInt(index + 1))
      const apart = time - (ofBlocks[index - 1]?.time ?? time - 1_000_000_000n)
      assert.ok(apart >= 1_000_000_000n && apart < 1_150_000_000n, String(apart))
    }
    assert.ok(ofBlocks.some(({ time }) => time % 1_000_000_000n !== 0n))
  })

  test('have height 1 twice, with different hashes and ids that start again', () => {
    const [genesis, first, second] = blocks
    assert.deepEqual(
      [genesis, first, second].map((block) => block![0]!.id),
      ['1-1', '1-1', '2-1'],
    )
    assert.notEqual(genesis![0]!.block, first![0]!.block)
  })

  test('occur once at any other height', () => {
    const later = blocksOf(rawEvents({ blocks: 3, start: 5_000_000 }))
    assert.deepEqual(
      later.map(([begin]) => begin!.id),
      ['5000000-1', '5000001-1', '5000002-1'],
    )
  })

  test('have a checkpoint of their own height every 25 heights', () => {
    const checkpoints = events.filter(({ kind }) => kind === 135)
    assert.deepEqual(
      checkpoints.map((event) => uintOf(event, 3)),
      [25n, 50n, 75n, 100n, 125n, 150n, 175n, 200n],
    )
    for (const checkpoint of checkpoints) {
      assert.match(textOf(checkpoint, 1), /^[0-9a-f]{64}$/)
      assert.equal(textOf(checkpoint, 2), checkpoint.block)
    }
  })
})

/** The kinds that Lyra reads. */
const OWN = new Set([101, 111, 116, 117, 121, 124, 125, 131, 135, 148, 149, 159, 160])

/**
 * Fields of the messages whose kinds Lyra skips, by the published definitions (vega v0.79.0): `t` a text, `i` an
 * integer. The reference exits if a field that it needs is missing.
 */
const PUBLISHED: Record<number, string> = {
  104: '1t 2t 3t 4i 5t 6i 7i 8i 9i 10i 11i 13t 16i',
  105: '1t 2t 3t 4t 5t 6i',
  106: '1t',
  108: '1t 2t 3t 4t 5t 6t 7t 8i 9t 10i 11t',
  110: '1t 2i 3t 4i 5t 6t 7t',
  118: '1t 2i',
  120: '1t 2i 3t 4t 5t 6t 7i 8i',
  123: '1t 2t',
  129: '1t 2t 3t 4t',
  137: '1t 2t 3t',
  145: '1t 2t 3i 4i 5i 6t 7t',
  2001: '1t 2t',
}

test('events that Lyra skips are complete messages by the published definitions', () => {
  const seen = new Set<number>()
  for (const { kind, body } of rawEvents({ blocks: 100, events: 200 })) {
    if (OWN.has(kind)) continue
    seen.add(kind)
    const fields = fieldsOf(body).map(({ no, value }) => `${no}${typeof value === 'bigint' ? 'i' : 't'}`)
    assert.equal(fields.join(' '), PUBLISHED[kind], `kind ${kind}`)
  }
  assert.equal(seen.size, Object.keys(PUBLISHED).length)
})

describe('the mix of a generated stream', () => {
  test('follows the options on average', () => {
    const blocks = 2_000
    const events = rawEvents({ blocks, markets: 20, points: 3.5, events: 20.5, parties: 0 })
    const others = events.filter(({ kind }) => !OWN.has(kind)).length
    assert.ok(Math.abs(others / blocks - 20.5) < 0.02, `other kinds: ${others / blocks}`)
    const points = events.filter(({ kind, body }) => kind === 160 && !isCarriedOver(body)).length
    assert.ok(Math.abs(points / blocks - 3.5) < 0.05, `points: ${points / blocks}`)
    const marketData = events.filter(({ kind }) => kind === 111).length
    assert.ok(
      Math.abs(marketData / events.length - 0.16) < 0.02,
      `market data: ${marketData / events.length}`,
    )
  })

  test('has one external point to about sixty internal ones, some late and some early', () => {
    const events = rawEvents({ blocks: 6_000, markets: 2, points: 2, events: 0, parties: 0 })
    const offsets: bigint[] = []
    let internal = 0
    let time = 0n
    for (const event of events) {
      if (event.kind === 101) time = uintOf(event, 1)
      if (event.kind !== 160 || isCarriedOver(event.body)) continue
      if (uintOf(event, 3) === 2n) internal++
      else offsets.push((uintOf(event, 6) - time) / 1_000_000_000n)
    }
    const ratio = internal / offsets.length
    assert.ok(ratio > 50 && ratio < 75, String(ratio))
    assert.ok(offsets.some((offset) => offset < -30n))
    assert.ok(offsets.some((offset) => offset > 2n))
  })

  test('has market data of about 500 bytes if a market has few providers', () => {
    const marketData = rawEvents({ blocks: 20, parties: 0 }).filter(({ kind }) => kind === 111)
    for (const { bytes } of marketData.slice(-3)) assert.ok(bytes > 400 && bytes < 700, String(bytes))
  })

  /** A point carried over into a new period has its price as TWAP; a new one only if it is its source's first. */
  function isCarriedOver(body: Uint8Array): boolean {
    const fields = new Map(fieldsOf(body).map(({ no, value }) => [no, value]))
    return Buffer.compare(fields.get(4) as Uint8Array, fields.get(7) as Uint8Array) === 0
  }
})

describe('the markets of a generated stream', () => {
  const OPTIONS = { blocks: 6_000, points: 3, events: 0, seed: 1 }
  const decoded: DecodedEvent[] = []
  before(async () => {
    for await (const each of decodedEvents(generateRecords(OPTIONS))) decoded.push(each)
  })
  const ofKind = <K extends MarketEvent['kind']>(kind: K) =>
    decoded.map(({ event }) => event).filter((event) => event.kind === kind) as Extract<
      MarketEvent,
      { kind: K }
    >[]

  for (const method of ['plain-formula', 'running-sum'] as const) {
    test(`have the TWAPs, payments and estimates of the ${method}, in auctions too`, async (t) => {
      const path = fileWith(t, Buffer.concat([...generateRecords(OPTIONS)]))
      const { report, failure } = await verifyFiles({
        ...{ input: findEventFiles([path]), method, filter: { marketId: null, seq: null } },
        ...{ log: SILENT, signal: new AbortController().signal },
      })
      assert.equal(failure, null)
      assert.deepEqual([report.markets, report.differenceCount, report.unknownReasons], [3, 0, {}])
      const { dataPoints, closingTwaps, openingTwaps, funding } = report
      assert.ok(dataPoints.agree > 17_000 && closingTwaps.agree > 40 && openingTwaps.agree > 40)
      assert.deepEqual([funding.differenceCount, funding.unknownReasons], [0, {}])
      assert.ok(funding.paidPeriods.agree > 40 && funding.estimates.agree > 17_000)
    })
  }

  test('begin with an opening auction, and their first period at its end', () => {
    for (const [marketId, events] of byMarket(decoded)) {
      const periods = events.filter(
        ({ kind }) => kind !== 'market' && kind !== 'market-data' && kind !== 'liquidity-provision',
      )
      const [enter, first, point, leave, external] = periods as MarketEvent[]
      assert.ok(enter?.kind === 'auction' && enter.openingAuction && !enter.leave, marketId)
      assert.ok(first?.kind === 'funding-period' && first.seq === 0n && first.end === null)
      assert.ok(point?.kind === 'funding-period-data-point' && point.timestamp === first.start)
      assert.ok(leave?.kind === 'auction' && leave.openingAuction && leave.leave)
      assert.ok(external?.kind === 'funding-period-data-point' && external.source === 1)
    }
  })

  test('go into monitoring auctions now and then, also from one straight into the next', () => {
    let straight = 0
    for (const [, events] of byMarket(decoded)) {
      const auctions = events.filter((event) => event.kind === 'auction')
      assert.ok(auctions.length > 6)
      assert.deepEqual(
        auctions.map(({ leave }) => leave),
        auctions.map((_, index) => index % 2 === 1),
      )
      for (const [index, { leave, end }] of auctions.entries())
        if (leave && auctions[index + 1]?.start === end) straight++
    }
    assert.ok(straight > 0)
  })

  test('have a payment and a rate in every period that closes with both TWAPs and a length', () => {
    let paid = 0
    for (const period of ofKind('funding-period')) {
      const { end, start, internalTwap, externalTwap, fundingPayment, fundingRate } = period
      const due = end !== null && end > start && internalTwap !== null && externalTwap !== null
      assert.equal(fundingPayment !== null && fundingRate !== null, due)
      if (due) paid++
    }
    assert.ok(paid > 20)
    assert.ok(ofKind('funding-period').some(({ start, end }) => start === end))
  })

  test('have providers whose provisions are amended, undeployed, cancelled, and come back', () => {
    assert.deepEqual(
      [...new Set(ofKind('liquidity-provision').map(({ status }) => status))].sort(),
      [1, 2, 3, 4, 5, 6],
    )
    const live = new Map<string, boolean>()
    const returned = new Set<string>()
    for (const { marketId, partyId, status } of ofKind('liquidity-provision')) {
      const place = `${marketId} ${partyId}`
      const isLive = status === 1 || status === 5 || status === 6
      if (live.get(place) === false && isLive) returned.add(place)
      live.set(place, isLive)
    }
    assert.ok(returned.size > 3)
  })

  test('list providers whose rows differ from market to market, and sometimes none', () => {
    const lists = ofKind('market-data')
    const full = lists.filter(({ feeShares }) => feeShares.length > 0)
    assert.ok(lists.length - full.length > 3)
    assert.ok(full.some(({ feeShares, slas }) => slas.length < feeShares.length))
    const last = new Map(full.map((event) => [event.marketId, event]))
    let compared = 0
    for (const first of last.values()) {
      for (const second of last.values()) if (first !== second) compared += compareSlas(first, second)
    }
    assert.ok(compared > 0)
  })

  function compareSlas(first: MarketDataEvent, second: MarketDataEvent): number {
    let compared = 0
    for (const sla of first.slas) {
      const other = second.slas.find(({ party }) => party === sla.party)
      if (other === undefined) continue
      assert.notDeepEqual(sla, other)
      compared++
    }
    return compared
  }

  test('have names, assets, terms and decimals, and the state that follows from their auctions', () => {
    const assets = new Map(ofKind('asset').map((asset) => [asset.assetId, asset]))
    const instruments = ofKind('market')
    const first = instruments.slice(0, 3)
    assert.deepEqual(
      first.map(({ code, name, state, tradingMode }) => [code, name, state, tradingMode]),
      [
        ['BTC/USDT-PERP', 'Bitcoin perpetual', 3, 3],
        ['ETH/USDC-PERP', 'Ether perpetual', 3, 3],
        ['SOL/DAI-PERP', 'Solana perpetual', 3, 3],
      ],
    )
    assert.deepEqual(
      first.map(({ settlementAsset }) => assets.get(settlementAsset!)!.symbol),
      ['USDT', 'USDC', 'DAI'],
    )
    assert.deepEqual([...new Set(instruments.map(({ state }) => state))], [3, 5, 6])
    for (const { marketId, price } of ofKind('funding-period-data-point')) {
      const { settlementAsset, decimalPlaces } = first.find((market) => market.marketId === marketId)!
      const { decimals } = assets.get(settlementAsset!)!
      assert.equal(BigInt(price) % 10n ** (decimals - decimalPlaces), 0n)
    }
  })

  test('end their periods by the schedule in their event, or one block later', () => {
    const raw = rawEvents({ ...OPTIONS, blocks: 3_000 })
    const schedules = new Map<string, { initial: bigint; every: bigint }>()
    const late = { none: 0, some: 0 }
    for (const event of raw) {
      if (event.kind === 116) {
        let message = event.body
        for (const no of [2, 1, 102, 7, 4, 1, 2, 2]) message = nested(message, no)
        const [initial, every] = fieldsOf(message).map(({ value }) => value as bigint)
        schedules.set(textOf(event, 1), { initial: initial!, every: every! })
      } else if (event.kind === 159 && uintOf(event, 4) > 0n) {
        const { initial, every } = schedules.get(textOf(event, 1))!
        const seconds = (uintOf(event, 4) / 1_000_000_000n - initial) % every
        assert.ok(seconds <= 1n, String(seconds))
        late[seconds === 0n ? 'none' : 'some']++
      }
    }
    assert.equal(schedules.size, 3)
    assert.ok(late.none > 20 && late.none > 10 * late.some)
  })

  test('have the obligations of providers in their events', () => {
    const created = rawEvents({ blocks: 1 }).find(({ kind }) => kind === 116)!
    const sla = fieldsOf(nested(created.body, 18)).map(
      ({ no, value }) => `${no}=${typeof value === 'bigint' ? value : Buffer.from(value)}`,
    )
    assert.deepEqual(sla, ['1=0.05', '2=0.6', '4=1', '5=0.5'])
  })

  test("report every provider's figures in the block in which an epoch ends", () => {
    const blocks = blocksOf(rawEvents({ blocks: 1_000, markets: 8, points: 1, events: 0 }))
    const epochs: string[] = []
    let ended = 0
    for (const events of blocks) {
      const atEnd = events.findIndex(({ kind, body }) => kind === 131 && action(body) === 2n)
      for (const event of events) {
        if (event.kind === 131) epochs.push(`${action(event.body)} ${uintOf(event, 1)}`)
      }
      if (atEnd < 0) continue
      ended++
      const after = events.slice(atEnd).filter(({ kind }) => kind === 111)
      assert.equal(new Set(after.map((event) => textOf(event, 12))).size, 8)
      const slas = after.flatMap(({ body }) => fieldsOf(body).filter(({ no }) => no === 32))
      assert.ok(slas.length > 10)
      for (const { value } of slas)
        assert.match(Buffer.from(nested(value as Uint8Array, 3)).toString(), /^0\.\d/)
    }
    assert.equal(ended, 3)
    assert.deepEqual(epochs, ['1 0', '2 0', '1 1', '2 1', '1 2', '2 2', '1 3'])
  })

  test('list only parties that have a provision on that market', () => {
    const provisions = new Set(
      ofKind('liquidity-provision').map(({ marketId, partyId }) => `${marketId} ${partyId}`),
    )
    for (const { marketId, feeShares, slas } of ofKind('market-data')) {
      for (const { party } of [...feeShares, ...slas]) assert.ok(provisions.has(`${marketId} ${party}`))
    }
  })
})

function byMarket(decoded: DecodedEvent[]) {
  const events = decoded.map(({ event }) => event).filter((event) => 'marketId' in event)
  return Map.groupBy(events, ({ marketId }) => marketId)
}

describe('the options of the generator', () => {
  const refused: [options: GenerateOptions, says: RegExp][] = [
    [{ blocks: 0 }, /^--blocks must be from 1 to 1000000000, not 0$/],
    [{ blocks: 1.5 }, /^--blocks must be a whole number, not 1.5$/],
    [{ blocks: Number.NaN }, /^--blocks /],
    [{ blocks: 1, markets: 0 }, /^--markets /],
    [{ blocks: 1, markets: 10_001 }, /^--markets /],
    [{ blocks: 1, parties: -1 }, /^--parties /],
    [{ blocks: 1, points: -0.1 }, /^--points /],
    [
      { blocks: 1, markets: 3, points: 3.1 },
      /^--points must be from 0 to the number of markets \(3\), not 3.1/,
    ],
    [{ blocks: 1, points: Number.NaN }, /^--points /],
    [{ blocks: 1, events: Number.POSITIVE_INFINITY }, /^--events /],
    [{ blocks: 1, seed: -1 }, /^--seed /],
    [{ blocks: 1, seed: 2 ** 53 }, /^--seed /],
    [{ blocks: 1, start: 0 }, /^--start /],
    [{ blocks: 1, chain: '' }, /^--chain /],
    [{ blocks: 1, chain: 'ä' }, /^--chain /],
  ]
  for (const [options, says] of refused) {
    test(`refuse ${JSON.stringify(options)} at once, naming the option`, () => {
      assert.throws(
        () => generateRecords(options),
        (error) => error instanceof GenerateOptionError && says.test(error.message),
      )
    })
  }

  test('have defaults, and one market has one point a block', () => {
    assert.deepEqual(resolveOptions({ blocks: 7 }), {
      blocks: 7,
      markets: 3,
      parties: 20,
      points: 2,
      events: 5,
      seed: 1,
      start: 1,
      chain: 'lyra-generated',
    })
    assert.equal(resolveOptions({ blocks: 7, markets: 1 }).points, 1)
  })

  test('may all be at their minimum', () => {
    const events = rawEvents({ blocks: 1, markets: 1, parties: 0, points: 0, events: 0, seed: 0 })
    assert.deepEqual(
      events.map(({ kind }) => kind),
      [148, 101, 149, 148, 101, 117, 117, 117, 121, 116, 131, 111, 149],
    )
  })
})

describe('writing a generated stream', () => {
  const options = { blocks: 1_000 }

  test('waits for the reader, and gives all bytes in order', async () => {
    const hash = createHash('sha256')
    let most = 0
    const slow = new Writable({
      highWaterMark: 1,
      write(chunk, _encoding, done) {
        most = Math.max(most, slow.writableLength)
        hash.update(chunk)
        setTimeout(done, 1)
      },
    })
    await writeTo(slow, options)
    assert.equal(hash.digest('hex'), digest(options))
    assert.ok(most < 320 * 1024, String(most))
    assert.ok(slow.writable)
  })

  const failing = (code: string) => {
    let chunks = 0
    return new Writable({
      write(_chunk, _encoding, done) {
        done(++chunks < 3 ? null : Object.assign(new Error(`write ${code}`), { code }))
      },
    })
  }

  test('ends quietly when the reader is closed', async () => {
    await writeTo(failing('EPIPE'), options)
  })

  test('fails with any other error of the stream', async () => {
    await assert.rejects(writeTo(failing('ENOSPC'), options), { code: 'ENOSPC' })
  })

  test('ends when it is aborted, also while it waits for the reader', async () => {
    const stop = new AbortController()
    const stuck = new Writable({ write: () => setTimeout(() => stop.abort(), 5) })
    await writeTo(stuck, options, stop.signal)
    await writeTo(stuck, options, AbortSignal.abort())
  })
})

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Writable } from 'node:stream'
import { describe, test } from 'node:test'
import { EVENT_KIND } from '#core/events/bus-event'
import { isMarketEvent } from '#core/events/event'
import { STORED } from '#core/resources/stored'
import { EVENT_TYPES } from '#tools/generate/event-types'
import { generateRecords } from '#tools/generate/generate'
import { GenerateOptionError, type GenerateOptions, resolveOptions } from '#tools/generate/options'
import { writeTo } from '#tools/generate/write-to'
import { readRecording, recordsOf } from '../fixtures/events/event-stream.ts'
import { type Fields, fieldsOf, numberIn, textIn } from '../fixtures/events/wire-fields.ts'
import { blocksOf } from '../fixtures/imports/import-blocks.ts'
import { ingest } from '../fixtures/services/service.ts'
import { recorded } from '../fixtures/shared.ts'
import { assertSound } from '../fixtures/stores/check.ts'
import { fileWith, STORE_KINDS } from '../fixtures/stores/stores.ts'
import { verifyFile } from '../fixtures/stores/verify.ts'

type RawEvent = { id: string; kind: number; body: Fields }

const rawEvents = (options: GenerateOptions) => rawEventsOf(Buffer.concat([...generateRecords(options)]))

function rawEventsOf(bytes: Buffer): RawEvent[] {
  const events: RawEvent[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + bytes.readUInt32BE(at)
    const event = fieldsOf(bytes.subarray(at + 12, end))
    const [kind, [body]] = [...event].at(-1)! as [number, [Uint8Array]]
    events.push({ id: textIn(event, 1), kind, body: fieldsOf(body) })
    at = end
  }
  return events
}

const digest = (options: GenerateOptions) => {
  const hash = createHash('sha256')
  for (const chunk of generateRecords(options)) hash.update(chunk)
  return hash.digest('hex')
}

describe('the bytes of a generated stream', () => {
  const options = { blocks: 1_000, markets: 9, points: 4.5, parties: 9, events: 20.25, seed: 42 }

  test('are the same for the same options, on every machine', () => {
    // Update this when the generator is changed on purpose.
    assert.equal(digest(options), 'f62280dfcb1ccaec96e32f120b1db5f8072a2da64c27e0799e0efce9ffc479ff')
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
  const options = { blocks: 700, events: 12, chain: 'test chain 7' }

  test('are ingested strictly, and leave nothing that the check finds', async (t) => {
    const store = STORE_KINDS[0]!.create(t)
    const report = await ingest(store, Buffer.concat([...generateRecords(options)]), { strict: true })
    assert.deepEqual([report.blocks, report.height, report.gaps, report.leftOut], [700, '700', [], {}])
    assert.deepEqual(report.passedOver, { beforeFirstBlock: 0, outsideBlocks: 0, repeated: 0 })
    assert.equal(report.rows.checkpoints, 28)
    await assertSound(store)
  })
})

/** The kinds that Lyra reads, of cancelled and expired orders the number; and the one that tells a block's time. */
const OWN = new Set<number>([
  ...Object.values(EVENT_KIND),
  ...STORED.flatMap(({ projections }) => projections.flatMap(({ numbers }) => numbers)),
  EVENT_TYPES.timeUpdate.kind,
])

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
    const fields = [...body].map(([no, [value]]) => `${no}${typeof value === 'bigint' ? 'i' : 't'}`)
    assert.equal(fields.join(' '), PUBLISHED[kind], `kind ${kind}`)
  }
  assert.equal(seen.size, Object.keys(PUBLISHED).length)
})

describe('the events of a block', () => {
  const events = rawEvents({ blocks: 1_500, events: 20 })
  const orderCount = ({ kind, body }: RawEvent) =>
    kind === 156 ? (body.get(2)?.length ?? 0) : kind === 187 ? (body.get(3)?.length ?? 0) : null
  const placeOf = ({ id }: RawEvent) => id.split('-').map(Number) as [height: number, index: number]

  test('are numbered as the core numbers them: cancelled and expired orders take an id for each order', () => {
    let next = 1
    for (const event of events) {
      const [, index] = placeOf(event)
      if (event.kind === 148) next = 1
      assert.equal(index, next, event.id)
      next += orderCount(event) ?? 1
    }
  })

  test('are cancelled and expired orders at many places, with 0 to 40 orders each', () => {
    for (const kind of [156, 187]) {
      const counts = events.filter((event) => event.kind === kind).map((event) => orderCount(event)!)
      assert.deepEqual([Math.min(...counts), Math.max(...counts)], [0, 40], `kind ${kind}`)
    }
    const before = new Set<number>()
    for (const [at, event] of events.entries()) {
      if (orderCount(event) !== null) before.add(events[at - 1]!.kind)
    }
    for (const kind of [101, 104, 111, 118, 160]) assert.ok(before.has(kind), `after kind ${kind}`)
    const blocks = new Set(events.filter((e) => orderCount(e) !== null).map((event) => placeOf(event)[0]))
    assert.ok(blocks.size > 1_000, String(blocks.size))
  })

  test('are thousands now and then', () => {
    const counts = Map.groupBy(events, (event) => placeOf(event)[0])
    const large = [...counts.values()].filter(({ length }) => length > 1_000)
    assert.ok(large.length >= 2 && large.length <= 7, String(large.length))
    assert.ok(large.some(({ length }) => length > 5_000))
  })

  test('are no others for orders and large blocks: without records of other kinds, there are neither', () => {
    const kinds = new Set(rawEvents({ blocks: 700, events: 0 }).map(({ kind }) => kind))
    assert.deepEqual([kinds.has(156), kinds.has(187), kinds.has(118)], [false, false, false])
  })
})

/** The numbers of the fields of a perpetual market's event, with those in them, as "2.1.102"; numbers of 0 are no fields. */
function pathsIn(bytes: Uint8Array, prefix = ''): string[] {
  return [...fieldsOf(bytes)].flatMap(([no, values]) =>
    values.flatMap((value) => {
      const path = `${prefix}${no}`
      if (typeof value === 'bigint') return value === 0n ? [] : [path]
      const isText = /^[ -~]+$/.test(Buffer.from(value).toString('latin1'))
      return isText ? [path] : pathsIn(value, `${path}.`)
    }),
  )
}

test('market and asset events have the fields of a core, without which a data node refuses them or ends', () => {
  const bodiesIn = (bytes: Buffer, kind: number) =>
    recordsOf(bytes).flatMap((record) => {
      const body = fieldsOf(record.bytes.subarray(12)).get(kind)?.[0] as Uint8Array | undefined
      return body === undefined ? [] : [body]
    })
  // Its third market is no perpetual one.
  const sent = readRecording(recorded('restart-2'))
  const markets = bodiesIn(sent, 116).slice(0, 2)
  const generated = Buffer.concat([...generateRecords({ blocks: 1 })])
  for (const [expected, kind] of [
    [markets, 116],
    [bodiesIn(sent, 117), 117],
  ] as const) {
    const paths = new Set(bodiesIn(generated, kind).flatMap((body) => pathsIn(body)))
    const missing = expected.flatMap((body) => pathsIn(body)).filter((path) => !paths.has(path))
    assert.deepEqual([expected.length > 1, missing], [true, []], `kind ${kind}`)
  }
})

describe('the markets of a generated stream', () => {
  const OPTIONS = { blocks: 3_000, points: 3, events: 0, seed: 1 }
  const bytes = Buffer.concat([...generateRecords(OPTIONS)])

  for (const method of ['plain-formula', 'running-sum'] as const) {
    test(`have the TWAPs, payments and estimates of the ${method}, in auctions too`, async (t) => {
      const report = await verifyFile(fileWith(t, bytes), { method })
      assert.deepEqual([report.markets, report.differenceCount, report.unknownReasons], [3, 0, {}])
      const { dataPoints, closingTwaps, openingTwaps, funding } = report
      assert.ok(dataPoints.agree > 8_500 && closingTwaps.agree > 20 && openingTwaps.agree > 20)
      assert.deepEqual([funding.differenceCount, funding.unknownReasons], [0, {}])
      assert.ok(funding.paidPeriods.agree > 20 && funding.estimates.agree > 8_500)
    })
  }

  test('have losses at some payments: of payers first, then of receivers, who together lose what is missing', () => {
    type Payments = { amounts: Map<string, bigint>; losses: [party: string, amount: bigint][] }
    const all: Payments[] = []
    const events = rawEventsOf(bytes)
    for (const [at, { kind, body }] of events.entries()) {
      if (kind !== 178) continue
      // Between the payments and the event of the period that closes.
      const closing = events.findIndex((event, later) => later > at && event.kind === 159)
      const losses = events.slice(at + 1, closing).map((loss): [string, bigint] => {
        assert.deepEqual([loss.kind, textIn(loss.body, 1)], [113, textIn(body, 1)])
        assert.equal(numberIn(loss.body, 4), 2n)
        return [textIn(loss.body, 2), BigInt(textIn(loss.body, 3))]
      })
      const amounts = body.get(3)!.map((element) => {
        const payment = fieldsOf(element as Uint8Array)
        return [textIn(payment, 1), BigInt(textIn(payment, 2))] as const
      })
      all.push({ amounts: new Map(amounts), losses })
    }
    const count = all.reduce((sum, { losses }) => sum + losses.length, 0)
    assert.equal(count, events.filter(({ kind }) => kind === 113).length)
    const withLosses = all.filter(({ losses }) => losses.length > 0)
    assert.ok(withLosses.length > 3 && withLosses.length < all.length / 2, String(withLosses.length))
    for (const { amounts, losses } of withLosses) {
      const isReceiver = losses.map(([, amount]) => amount < 0n)
      assert.deepEqual(isReceiver, isReceiver.toSorted(), 'payers come first')
      for (const [party, amount] of losses) {
        const paid = amounts.get(party)!
        assert.ok(amount > 0n ? amount <= -paid : -amount <= paid, `${amount} of ${paid}`)
      }
      const rest = losses.reduce((sum, [, amount]) => sum + amount, 0n)
      assert.ok(rest >= 0n && rest < losses.length, String(rest))
    }
  })

  test('have providers whose provisions are amended, undeployed, cancelled, and come back', () => {
    const provisions = blocksOf(bytes).blocks.flatMap(({ events }) =>
      events.flatMap(({ event }) =>
        isMarketEvent(event) && event.kind === 'liquidity-provision' ? [event] : [],
      ),
    )
    assert.deepEqual([...new Set(provisions.map(({ status }) => status))].sort(), [1, 2, 3, 4, 5, 6])
    const live = new Map<string, boolean>()
    const returned = new Set<string>()
    for (const { marketId, partyId, status } of provisions) {
      const place = `${marketId} ${partyId}`
      const isLive = status === 1 || status === 5 || status === 6
      if (live.get(place) === false && isLive) returned.add(place)
      live.set(place, isLive)
    }
    assert.ok(returned.size > 3)
  })
})

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
  test('are refused at once if they are out of range, by name', () => {
    for (const [options, says] of refused) {
      const isNamed = (error: unknown) => error instanceof GenerateOptionError && says.test(error.message)
      assert.throws(() => generateRecords(options), isNamed, JSON.stringify(options))
    }
  })

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

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChainError, StrictError } from '#core/blocks/block'
import { EVENT_KIND } from '#core/events/bus-event'
import { EventCheck } from '#core/log/event-check'
import { EventStreamError } from '#core/records/record-position'
import {
  auction,
  busEvent,
  type Content,
  checkpoint,
  content,
  dataPoint,
  eventsOf,
  fileOf,
  frame,
  fundingPeriod,
  idOf,
  MARKET,
  type MadeBlock,
  marked,
  marketData,
  message,
  PARTY,
  provision,
  timeUpdate,
} from '../fixtures/events/event-stream.ts'
import { ingest, storeOfBytes, tryIngest } from '../fixtures/services/service.ts'
import {
  assertSameDump,
  dumpOf,
  dumpStore,
  emptyDump,
  type StoreDump,
} from '../fixtures/stores/dump-store.ts'
import { ANY_STORE_KIND, describeOn, fileWith } from '../fixtures/stores/stores.ts'
import { verifyFile } from '../fixtures/stores/verify.ts'

const block = (height: number, ...events: Content[]): MadeBlock => ({ height, events })

const genesis = (...events: Content[]): MadeBlock => ({ height: 1, hash: 'genesis', events })

const checkpointHeights = (dump: StoreDump): number[] =>
  dump.checkpoints!.map((row) => Number(JSON.parse(row)[0])).sort((a, b) => a - b)

describeOn(ANY_STORE_KIND, 'blocks', (kind) => {
  /** Streams of which nothing may be committed: block 1 is complete only when block 2 begins. */
  const unsure: [what: string, stream: MadeBlock[]][] = [
    ['genesis alone', [genesis(checkpoint())]],
    ['genesis and the beginning of block 1', [genesis(checkpoint()), { ...marked(1), ends: false }]],
    ['genesis and block 1', [genesis(checkpoint()), marked(1)]],
    ['block 1 alone', [marked(1)]],
    ['genesis again and again', [genesis(checkpoint()), genesis(checkpoint()), genesis(checkpoint())]],
  ]
  test('block 1 is not committed before block 2 begins', async (t) => {
    for (const [what, stream] of unsure) {
      const store = kind.create(t)
      assert.equal((await ingest(store, fileOf(...stream))).pendingHeight, '1', what)
      assertSameDump(await dumpStore(store), emptyDump(), what)
      const whole = fileOf(genesis(checkpoint()), marked(1), block(2))
      assert.equal((await ingest(store, whole)).height, '2', what)
    }
  })

  test('block 1 is the same if a part comes again before block 2', async (t) => {
    const [first, second] = [genesis(checkpoint({ hash: 'aa' })), marked(1)]
    const expected = await dumpOf(t, kind, fileOf(first, second, block(2)))
    for (const [what, stream] of [
      ['genesis twice', [first, first, second]],
      ['genesis without an end, and then whole', [{ ...first, ends: false }, first, second]],
      ['the block itself twice', [first, second, second]],
      ['both twice', [first, second, first, second]],
    ] as [string, MadeBlock[]][])
      assertSameDump(await dumpOf(t, kind, fileOf(...stream, block(2))), expected, what)
  })

  test('block 1 is left out whole if its second part has no end', async (t) => {
    const store = kind.create(t)
    const stream = [genesis(checkpoint()), { ...marked(1), ends: false }, marked(2), marked(3)]
    const { report } = await tryIngest(store, fileOf(...stream), { allowGap: true })
    assert.deepEqual([report.unfinishedBlocks, report.blocks], [1, 2])
    assert.deepEqual(checkpointHeights(await dumpStore(store)), [2, 3])
  })

  test('events before the first block, between blocks and again are skipped and counted', async (t) => {
    const store = kind.create(t)
    const events = eventsOf([marked(2), marked(3)])
    const stray = (id: string) => busEvent({ id, ...checkpoint() }, checkpoint({ atBlock: 99 }).body)
    const stream = [
      stray('1-9'),
      stray('1-10'),
      ...events.slice(0, 2),
      ...events.slice(1, 3),
      stray('2-4'),
      ...events.slice(3),
    ]
    const report = await ingest(store, frame(stream))
    assert.deepEqual(report.passedOver, { beforeFirstBlock: 2, outsideBlocks: 1, repeated: 1 })
    assert.deepEqual(checkpointHeights(await dumpStore(store)), [2, 3])
  })
})

describeOn(ANY_STORE_KIND, 'one chain for each store', (kind) => {
  test('events of kinds above 2,000 are passed over, by ingestion, by the check of live events and by verify', async (t) => {
    // From TxErrorEvent to the last number of protobuf; from 2,048 on a tag has three bytes.
    const others = [2_001, 2_047, 2_048, 70_000, 2 ** 29 - 1].map((kind) => content(kind, { 1: PARTY, 2: 1 }))
    const points = [1, 2].map((source) => dataPoint({ seq: 0, source, timestamp: 5_000_000_000 }))
    const streamOf = (added: readonly Content[]): MadeBlock[] => [
      block(5, fundingPeriod({ seq: 0, start: 5_000_000_000, twap: null }), ...points, ...added),
      block(6, checkpoint(), ...added),
    ]
    const [file, expected] = [streamOf(others), streamOf([])].map((stream) => fileOf(...stream)) as [
      Buffer,
      Buffer,
    ]
    const store = kind.create(t)
    const report = await ingest(store, file)
    assert.deepEqual([report.leftOut, report.gaps, report.blocks], [{}, [], 2])
    assertSameDump(await dumpStore(store), await dumpOf(t, kind, expected), 'without them')
    const whole: bigint[] = []
    const check = new EventCheck(null)
    for (const event of eventsOf(streamOf(others))) {
      const { role, block } = check.check(event, 0, event.length)
      if (role === 'end' && block!.isWhole) whole.push(block!.height)
    }
    assert.deepEqual(whole, [5n, 6n])
    const verified = await verifyFile(fileWith(t, file))
    assert.equal(verified.dataPoints.agree, 2)
    assert.deepEqual(verified, await verifyFile(fileWith(t, expected)))
  })

  test('events of another chain are an error at that record, whether the store or the input has the first', async (t) => {
    const store = kind.create(t)
    const other = { ...marked(3), chain: 'other' }
    for (const [stream, message] of [
      [[marked(2), other], /record 4, offset \d+: .*"other".*the input began with.*"test-chain"/],
      [[other], /some\.evts, record 1, offset 0: .*"other".*the store contains.*"test-chain"/],
    ] as const) {
      const { failure } = await tryIngest(store, fileOf(...stream))
      assert.ok(failure instanceof ChainError)
      assert.match(failure.message, message)
      assert.deepEqual(checkpointHeights(await dumpStore(store)), [2])
    }
  })

  test('an event without a valid chain id is invalid', async (t) => {
    for (const [chain, message] of [
      ['', /a chain id of ""/],
      ['x'.repeat(257), /a chain id of "x{80}"/],
      ['a\0b', /a chain id of "a\\u0000b"/],
    ] as const) {
      const { failure } = await tryIngest(kind.create(t), fileOf({ ...marked(2), chain }))
      assert.match(failure!.message, message)
    }
  })
})

describeOn(ANY_STORE_KIND, 'events of any values', (kind) => {
  /** `2^63` and above as protobuf writes them: the same bits as a negative number. */
  const BEYOND = 2n ** 63n
  const bad = 'a'.repeat(63)
  const long = 'a'.repeat(257)

  /** Events that are skipped as a whole. */
  const leftOut: [what: string, event: Content, reason: string][] = [
    ['a point with a short market id', dataPoint({ marketId: bad }), 'invalid market ID'],
    ['a point of no market', dataPoint({ marketId: '' }), 'invalid market ID'],
    ['a point of the market "network"', dataPoint({ marketId: 'network' }), 'invalid market ID'],
    ['a point with source 3', dataPoint({ source: 3 }), 'unknown source'],
    ['a point with seq 2^63', dataPoint({ seq: BEYOND }), 'seq of 2^63 or more'],
    ['a point with seq 2^64 - 1', dataPoint({ seq: 2n ** 64n - 1n }), 'seq of 2^63 or more'],
    ['a point without a price', dataPoint({ price: '' }), 'price is not a decimal number'],
    ['a point with the price " 1"', dataPoint({ price: ' 1' }), 'price is not a decimal number'],
    ['a point with the price NaN', dataPoint({ price: 'NaN' }), 'price is not a decimal number'],
    ['a point with the price 1e', dataPoint({ price: '1e' }), 'price is not a decimal number'],
    ['a point with the price .', dataPoint({ price: '.' }), 'price is not a decimal number'],
    ['a point with the price 0x1', dataPoint({ price: '0x1' }), 'price is not a decimal number'],
    ['a point without a twap', dataPoint({ twap: '' }), 'twap is not a decimal number'],
    ['a point with the twap abc', dataPoint({ twap: 'abc' }), 'twap is not a decimal number'],
    ['a period of an invalid market', fundingPeriod({ marketId: bad }), 'invalid market ID'],
    ['a period with seq 2^63', fundingPeriod({ seq: BEYOND }), 'seq of 2^63 or more'],
    ['a period with an invalid twap', fundingPeriod({ twap: 'x' }), 'twap is not a decimal number'],
    ['a period with a NUL', fundingPeriod({ payment: '1\0' }), 'text that cannot be kept'],
    [
      'a period with a text as payment',
      fundingPeriod({ payment: 'x' }),
      'payment or rate is not a decimal number',
    ],
    [
      'a period with an empty payment',
      fundingPeriod({ payment: '' }),
      'payment or rate is not a decimal number',
    ],
    [
      'a point with a long price',
      dataPoint({ price: '1'.repeat(257) }),
      'number of more than 256 characters',
    ],
    ['a point with a long twap', dataPoint({ twap: '1'.repeat(257) }), 'number of more than 256 characters'],
    [
      'a point with a long text as price',
      dataPoint({ price: 'x'.repeat(257) }),
      'number of more than 256 characters',
    ],
    [
      'a period with a long twap',
      fundingPeriod({ twap: '1'.repeat(257) }),
      'number of more than 256 characters',
    ],
    [
      'a period with a long payment',
      fundingPeriod({ payment: '1'.repeat(257) }),
      'number of more than 256 characters',
    ],
    ['an auction of an invalid market', auction({ marketId: bad }), 'invalid market ID'],
    ['a checkpoint with height 2^63', checkpoint({ atBlock: BEYOND }), 'height of 2^63 or more'],
    ['a checkpoint with a NUL', checkpoint({ hash: 'a\0' }), 'text that cannot be kept'],
    ['a checkpoint with a long hash', checkpoint({ hash: long }), 'text that cannot be kept'],
    ['a provision of an invalid market', provision({ marketId: bad }), 'invalid market ID'],
    ['a provision of an invalid party', provision({ partyId: bad }), 'invalid party ID'],
    ['a provision of no party', provision({ partyId: '' }), 'invalid party ID'],
    ['a provision with status 7', provision({ status: 7 }), 'unknown provision status'],
    ['a provision with a long id', provision({ provisionId: long }), 'text that cannot be kept'],
    ['market data of an invalid market', marketData({ marketId: bad }), 'invalid market ID'],
  ]
  test('are skipped if invalid, counted by reason, and the rest of their blocks is stored', async (t) => {
    const [store, without] = [kind.create(t), kind.create(t)]
    const around = (contents: readonly Content[]) =>
      fileOf(
        ...contents.map((content, index) =>
          block(2 + index, checkpoint({ atBlock: index }), content, dataPoint({ timestamp: 9 + index })),
        ),
      )
    const report = await ingest(store, around(leftOut.map(([, event]) => event)))
    const counts: Record<string, number> = report.leftOut
    const expected = Object.groupBy(leftOut, ([, , reason]) => reason)
    for (const [reason, all] of Object.entries(expected))
      assert.equal(counts[reason], all!.length, all!.map(([what]) => what).join(', '))
    assert.equal(Object.keys(counts).length, Object.keys(expected).length)
    await ingest(without, around(leftOut.map(() => timeUpdate())))
    assertSameDump(await dumpStore(store), await dumpStore(without), 'without them')
  })

  test('stop strict ingestion if invalid, with nothing of their blocks committed', async (t) => {
    const store = await storeOfBytes(t, kind, fileOf(marked(2)))
    const before = await dumpStore(store)
    for (const [what, event, reason] of leftOut) {
      const file = fileOf(marked(2), block(3, checkpoint({ atBlock: 3 }), event))
      const { failure } = await tryIngest(store, file, { strict: true })
      assert.ok(failure instanceof StrictError, what)
      const message = new RegExp(`some\\.evts, record 6, offset \\d+: ${reason.replace('^', '\\^')}`)
      assert.match(failure.message, message, what)
    }
    assertSameDump(await dumpStore(store), before, 'after all of them')
  })

  test('invalid elements of a list of providers are skipped, the others stored', async (t) => {
    const store = kind.create(t)
    const parties = [bad, PARTY, '', 'network', idOf('d').toUpperCase()]
    const report = await ingest(store, fileOf(block(2, marketData({ parties }))))
    // Each of the two invalid parties is in both lists.
    assert.deepEqual(report.leftOut, { 'invalid party ID': 4 })
    const { liquidity_providers: rows } = await dumpStore(store)
    assert.deepEqual(
      rows!.map((row) => JSON.parse(row)[1]),
      [PARTY, idOf('d'), 'network'],
    )
  })

  /** Events with the most extreme values that can be stored. */
  const extremes: [what: string, event: Content, table: string][] = [
    ['a point with source 0', dataPoint({ source: 0 }), 'funding_period_data_points'],
    ['a point with seq 2^63 - 1', dataPoint({ seq: BEYOND - 1n }), 'funding_period_data_points'],
    ['a point before 1970', dataPoint({ timestamp: -(2n ** 63n) }), 'funding_period_data_points'],
    ['a point with the price -0', dataPoint({ price: '-0', timestamp: 2 }), 'funding_period_data_points'],
    ['a point with the price 1.', dataPoint({ price: '1.', timestamp: 3 }), 'funding_period_data_points'],
    [
      'a point with the price +.5E-10',
      dataPoint({ price: '+.5E-10', timestamp: 4 }),
      'funding_period_data_points',
    ],
    ['a period without a twap', fundingPeriod({ twap: null }), 'funding_periods'],
    ['a checkpoint with height 2^63 - 1', checkpoint({ atBlock: BEYOND - 1n }), 'checkpoints'],
    ['a checkpoint without a hash', checkpoint({ hash: '' }), 'checkpoints'],
    ['a provision of the network', provision({ partyId: 'network' }), 'liquidity_provisions'],
    ['market data without providers', marketData({ parties: [] }), 'liquidity_provider_lists'],
    [
      'a point with numbers of 256 characters',
      dataPoint({ price: '1'.repeat(256), twap: '1'.repeat(256), timestamp: 5 }),
      'funding_period_data_points',
    ],
    [
      'a period with a payment of 256 characters below zero',
      fundingPeriod({ payment: `-${'1'.repeat(255)}`, seq: 2 }),
      'funding_periods',
    ],
    ...[0, 1, 2, 3, 4, 5, 6].map((status): [string, Content, string] => [
      `a provision with status ${status}`,
      provision({ status, provisionId: idOf(`${status}`) }),
      'liquidity_provisions',
    ]),
  ]
  test('are stored with the most extreme values that can be', async (t) => {
    const store = kind.create(t)
    const file = fileOf(...extremes.map(([, event], index) => block(2 + index, event)))
    assert.deepEqual((await tryIngest(store, file, { strict: true })).failure, null)
    const dump = await dumpStore(store)
    for (const [table, all] of Object.entries(Object.groupBy(extremes, ([, , table]) => table)))
      assert.equal(dump[table]!.length, all!.length, all!.map(([what]) => what).join(', '))
  })

  test('ids are stored in lower case, and compared without case', async (t) => {
    const stored = (ids: [marketId: string, partyId: string, provisionId: string]) => {
      const [marketId, partyId, provisionId] = ids
      const events = [
        dataPoint({ marketId }),
        fundingPeriod({ marketId }),
        auction({ marketId }),
        provision({ marketId, partyId, provisionId }),
        marketData({ marketId, parties: [partyId] }),
      ]
      return dumpOf(t, kind, fileOf(block(2, ...events)))
    }
    const lower = await stored([MARKET, PARTY, idOf('c')])
    const upper = await stored([MARKET.toUpperCase(), PARTY.toUpperCase(), idOf('C')])
    assertSameDump(upper, lower, 'upper case')
  })
})

describeOn(ANY_STORE_KIND, 'bytes that are not events', (kind) => {
  const good = eventsOf([marked(2), marked(3)])
  const withId = (id: string) => busEvent({ id, kind: EVENT_KIND.checkpoint }, checkpoint().body)
  const withBody = (body: Uint8Array) => busEvent({ id: '3-2', kind: EVENT_KIND.checkpoint }, body)

  const wrong: [what: string, event: Uint8Array, message: RegExp][] = [
    ['an empty event', new Uint8Array(), /an event of version 0/],
    ['noise', Buffer.from('no protobuf at all'), /not a BusEvent/],
    ['a field of number 0', Buffer.from([0, 0]), /a field number of 0/],
    ['a varint without an end', Buffer.alloc(20, 0xff), /a varint that does not end/],
    ['an event of version 2', busEvent({ id: '2-2', version: 2, ...checkpoint() }, message({})), /version 2/],
    ['an id without a dash', withId('22'), /its id is "22"/],
    ['no id', withId(''), /its id is ""/],
    ['an id without an index', withId('3-'), /its id is "3-"/],
    ["letters after the open block's height", withId('3-x'), /its id is "3-x"/],
    ['an id with letters', withId('2-x'), /its id is "2-x"/],
    ['an index of ten digits', withId('2-1234567890'), /its id is "2-1234567890"/],
    ['a body that is cut', withBody(Buffer.from([10, 9, 65])), /a field that is longer than its message/],
    ['a text that is not UTF-8', withBody(Buffer.from([10, 1, 0xff])), /a text that is not UTF-8/],
    ['a field of wire type 3', withBody(Buffer.from([11])), /a field of wire type 3/],
  ]
  test('are reported with file, record and offset, and complete blocks before them stay', async (t) => {
    const events = good.slice(0, 4)
    for (const [what, event, message] of wrong) {
      const store = kind.create(t)
      const { failure } = await tryIngest(store, frame([...events, event, ...good.slice(4)]))
      assert.ok(failure instanceof EventStreamError, what)
      assert.deepEqual([failure.position.record, failure.position.offset], [5, frame(events).length], what)
      assert.match(failure.message, /some\.evts, record 5, offset \d+: /)
      assert.match(failure.message, message)
      assert.deepEqual(checkpointHeights(await dumpStore(store)), [2], what)
    }
  })
})

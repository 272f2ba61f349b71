import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { ChainError, GapError, StrictError } from '#core/blocks/block'
import type { Coverage } from '#core/domain/coverage'
import { type HeightRange, merged } from '#core/domain/height-ranges'
import { CompleteBlocks } from '#core/log/read/complete-blocks'
import type { LogReader } from '#core/log/read/log-reader'
import { LogUnreachableError } from '#core/log/read/log-source'
import type { LogBlocks } from '#service/live/commit/log-blocks'
import { LogWait } from '#service/live/commit/log-wait'
import { checkpoint, eventsOf } from '../fixtures/events/event-stream.ts'
import {
  damaged,
  eventsOfBlock,
  eventsOfBlocks,
  FIRST,
  GENESIS,
  partOf,
} from '../fixtures/logs/events-of-blocks.ts'
import {
  blocksFor,
  type GivenBlock,
  LOG_CHAIN,
  MemoryLog,
  readLogs,
  storedTo,
} from '../fixtures/logs/memory-log.ts'
import { createRandom, type Random } from '../fixtures/random.ts'
import { scaled } from '../fixtures/sampling.ts'

const damageAt = (events: readonly Buffer[], at: number) => events.with(at, damaged(events[at]!))
const without = (events: readonly Buffer[], at: number) => events.toSpliced(at, 1)

/** What a segment has of a block: all; not one of its events; not its end; a damaged event; nothing; nothing from an event on. */
const STATES = [
  ...['whole', 'whole', 'whole', 'whole', 'whole', 'whole', 'whole', 'whole'],
  ...['incomplete', 'unended', 'damaged', 'absent', 'cut'],
] as const

/** A log of made segments that overlap and lack blocks; notes the heights that are whole in any. */
function randomLog(random: Random, low: number, whole: Set<number>): { log: MemoryLog; described: string } {
  const log = new MemoryLog()
  if (random.integer(2) === 0) log.mostBytes = 40 + random.integer(400)
  const described: string[] = []
  let next = low + random.integer(3)
  const segments = 2 + random.integer(5)
  for (let number = 1; number <= segments; number++) {
    const [first, last] = [next, next + random.integer(6)]
    const isPart = first === last && random.integer(2) === 0
    const written: Buffer[] = []
    let cutBefore: number | null = null
    let states = ''
    for (let height = first; height <= last; height++) {
      const events = [...eventsOfBlock(height)]
      const state = isPart ? 'incomplete' : random.pick(STATES)
      states += state[0]
      if (state === 'whole' && cutBefore === null) whole.add(height)
      if (state === 'incomplete') events.splice(1, 1)
      if (state === 'unended') events.length = random.pick([2, events.length - 1])
      if (state === 'damaged') {
        const at = random.integer(events.length)
        events[at] = damaged(events[at]!)
      }
      if (state === 'cut') cutBefore ??= written.length + random.integer(events.length)
      if (state !== 'absent') written.push(...events)
    }
    log.seal(number, [first, last], written, { isPart, cutBefore, isGzipped: random.integer(5) === 0 })
    described.push(`${first}-${last}${isPart ? 'part' : ''} ${states}`)
    next = random.integer(3) === 0 ? low + random.integer(last - low + 1) : last + 1 + random.integer(3)
  }
  return { log, described: `${described.join(', ')} by ${log.mostBytes}` }
}

type Stored = { given: GivenBlock[]; gaps: HeightRange[]; coverage: Coverage | null }

/** What a store gets of logs if an operator accepts each gap. */
async function storeAll(
  reader: LogReader,
  { stored = null as Coverage | null, allowGap = false, where = '' } = {},
): Promise<Stored> {
  const given: GivenBlock[] = []
  const gaps: HeightRange[] = []
  let coverage = stored
  for (let round = 0; round < 100; round++) {
    const accepted = merged(gaps)
    const blocks = blocksFor(reader, (block) => given.push(block), { stored: coverage, accepted, allowGap })
    try {
      let pieces = 0
      while (await blocks.readPiece())
        assert.ok(pieces++ < 4_000, `${where}: the same is read again and again`)
      return { given, gaps, coverage: blocks.coverage }
    } catch (error) {
      if (!(error instanceof GapError)) throw error
      gaps.push({ from: error.from, to: error.to })
    }
    coverage = blocks.coverage
    reader.segments.tryAgain()
  }
  assert.fail(`${where}: it does not end`)
}

const heightsOf = ({ given }: Pick<Stored, 'given'>) =>
  given.map(({ height, isIncomplete }) => (isIncomplete ? `${height} incomplete` : height))

test('Of logs with damaged, incomplete and absent blocks, a store and a forwarder get each block that is whole in any segment', async (t) => {
  const runs = scaled(400, 10_000)
  for (let seed = 1; seed <= runs; seed++) {
    const random = createRandom(seed)
    const low = random.pick([1, 11])
    const whole = new Set<number>()
    const logs = Array.from({ length: 1 + random.integer(2) }, () => randomLog(random, low, whole))
    const height = random.integer(2) === 0 ? null : low + 1 + random.integer(14)
    const isWithGap = height !== null && height > low + 1 && random.integer(2) === 0
    const missing = isWithGap ? [low + random.integer(height - low)] : []
    const incomplete = height !== null && random.integer(2) === 0 ? [height] : []
    const allowGap = random.integer(3) === 0
    const described = logs.map(({ described }) => described).join(' | ')
    const where = `seed ${seed}, stored ${height} without ${missing}, part of ${incomplete}, ${allowGap}, ${described}`
    const followed = logs.map(({ log }) => log)
    const stored = height === null ? null : storedTo(height, { from: low, missing, incomplete })
    const { given, gaps } = await storeAll(readLogs(t, ...followed), { stored, allowGap, where })
    const complete = given.filter(({ isIncomplete }) => !isIncomplete)
    const heights = complete.map((block) => block.height)
    const above = (height ?? 0) - incomplete.length
    const notGiven = [...whole].filter((one) => one > above && !heights.includes(one))
    assert.deepEqual([notGiven, new Set(heights).size], [[], heights.length], where)
    const taken = given.filter((one) => one.isIncomplete && one.height > above && whole.has(one.height))
    assert.deepEqual(taken, [], `${where}: incomplete although it is whole in a segment`)
    for (const block of complete) assert.equal(block.events, block.height === 1 ? 4 : 2, where)
    const isNamed = (one: number) => gaps.some(({ from, to }) => from <= one && one <= to)
    const last = Math.max(height ?? 0, ...heights)
    for (let one = height ?? low + 2; !allowGap && ++one < last; )
      assert.ok(heights.includes(one) || isNamed(one), `${where}: block ${one} is missing without a word`)

    const blocks = new CompleteBlocks(readLogs(t, ...followed))
    for (let asked = 0; asked < 40; asked++) {
      const wanted = asked < 30 ? low + asked : low + random.integer(25)
      const block = await blocks.next(BigInt(wanted))
      assert.equal(block !== null, whole.has(wanted), `${where}: block ${wanted} for a forwarder`)
      if (block !== null) assert.equal(block.events.length, wanted === 1 ? 8 : 4, where)
    }
  }
})

describe('Block 1, of two parts,', () => {
  const later = eventsOfBlocks(2, 3)
  type Segments = readonly (readonly [range: [number, number], events: readonly Buffer[]])[]
  const logOf = (segments: Segments) => {
    const log = new MemoryLog()
    for (const [index, [range, events]] of segments.entries()) log.seal(index + 1, range, events)
    return log
  }
  const cut: Record<string, Segments> = {}
  for (let at = 0; at < 8; at++) {
    cut[`event ${at} cannot be read`] = [
      [
        [1, 3],
        [...damageAt(eventsOfBlock(1), at), ...later],
      ],
    ]
    cut[`event ${at} cannot be read in a segment of its own`] = [
      [[1, 1], damageAt(eventsOfBlock(1), at)],
      [[2, 3], later],
    ]
    // Without its beginning, a part is outside of blocks.
    if (at % 4 > 0)
      cut[`event ${at} is missing`] = [
        [
          [1, 3],
          [...without(eventsOfBlock(1), at), ...later],
        ],
      ]
  }
  cut['its segment ends between the parts'] = [
    [[1, 2], GENESIS],
    [[3, 3], eventsOfBlock(3)],
  ]
  cut['its segment ends within a part'] = [
    [[1, 1], eventsOfBlock(1).slice(0, -1)],
    [[2, 3], later],
  ]
  for (const [what, segments] of Object.entries(cut)) {
    test(`is missing if ${what}`, async (t) => {
      const { given, gaps } = await storeAll(readLogs(t, logOf(segments)))
      assert.equal(gaps[0]?.from, 1n)
      assert.ok(!heightsOf({ given }).includes(1))
      assert.equal(await new CompleteBlocks(readLogs(t, logOf(segments))).next(1n), null)
    })

    test(`is taken whole from another log if ${what}`, async (t) => {
      const other = logOf([[[1, 1], eventsOfBlock(1)]])
      for (const logs of [
        [logOf(segments), other],
        [other, logOf(segments)],
      ]) {
        const { given } = await storeAll(readLogs(t, ...logs))
        assert.deepEqual(given[0], { height: 1, events: 4, isIncomplete: false })
        const block = await new CompleteBlocks(readLogs(t, ...logs)).next(1n)
        assert.equal(block?.events.length, 8)
      }
    })
  }

  test('is whole although one of them comes again, damaged', async (t) => {
    for (const again of [GENESIS, FIRST]) {
      const log = logOf([
        [
          [1, 3],
          [...eventsOfBlock(1), ...damageAt(again, 0), ...later],
        ],
      ])
      assert.deepEqual(heightsOf(await storeAll(readLogs(t, log))), [1, 2, 3])
    }
  })

  test('has both if another log has, although a segment ends after one', async (t) => {
    const [one, both] = [
      logOf([
        [[1, 1], GENESIS],
        [[2, 3], later],
      ]),
      logOf([[[1, 1], eventsOfBlock(1)]]),
    ]
    for (const logs of [
      [one, both],
      [both, one],
    ]) {
      const { given } = await storeAll(readLogs(t, ...logs))
      assert.deepEqual(given[0], { height: 1, events: 4, isIncomplete: false })
      assert.equal((await new CompleteBlocks(readLogs(t, ...logs)).next(1n))?.events.length, 8)
    }
  })

  test('is whole once although one of them comes again', async (t) => {
    for (const events of [
      [...GENESIS, ...FIRST, ...GENESIS],
      [...GENESIS, ...FIRST, ...FIRST],
      [...GENESIS, ...GENESIS, ...FIRST],
    ]) {
      const log = logOf([
        [
          [1, 3],
          [...events, ...later],
        ],
      ])
      const { given } = await storeAll(readLogs(t, log))
      assert.deepEqual(given[0], { height: 1, events: 4, isIncomplete: false })
      assert.equal((await new CompleteBlocks(readLogs(t, log)).next(1n))?.events.length, 8)
    }
  })

  test('has all if it has one, and what cannot be read is of block 2', async (t) => {
    for (let at = 0; at < 4; at++) {
      const log = logOf([
        [
          [1, 3],
          [...GENESIS, ...damageAt(later, at)],
        ],
      ])
      assert.deepEqual(heightsOf(await storeAll(readLogs(t, log))), [1, 3], `event ${at}`)
      const blocks = new CompleteBlocks(readLogs(t, log))
      const lengths = [await blocks.next(1n), await blocks.next(2n), await blocks.next(3n)]
      assert.deepEqual(
        lengths.map((block) => block?.events.length),
        [4, undefined, 4],
        `event ${at}`,
      )
    }
  })

  test('may have one, and is whole then once block 2 begins, or its segment has ended', async (t) => {
    for (const segments of [
      [
        [
          [1, 3],
          [...GENESIS, ...later],
        ],
      ],
      [
        [[1, 1], GENESIS],
        [[2, 3], later],
      ],
    ] as const satisfies Segments[]) {
      const { given, gaps } = await storeAll(readLogs(t, logOf(segments)))
      assert.deepEqual([heightsOf({ given }), gaps], [[1, 2, 3], []])
      // A forwarder sends it again when it connects again.
      const reader = readLogs(t, logOf(segments))
      for (let connection = 1; connection <= 2; connection++) {
        const blocks = new CompleteBlocks(reader)
        assert.equal((await blocks.next(1n))?.events.length, 4)
        assert.notEqual(await blocks.next(2n), null)
      }
    }
  })

  test('is waited for while it is written, and read anew if the core stopped between its parts', async (t) => {
    const log = new MemoryLog()
    log.writeOpen(1, [1, 1], GENESIS)
    const reader = readLogs(t, log)
    const given: GivenBlock[] = []
    const blocks = blocksFor(reader, (block) => given.push(block))
    const grown = readLogs(t, log)
    const complete = new CompleteBlocks(grown)
    while (await blocks.readPiece());
    assert.deepEqual([given, await complete.next(1n)], [[], null])
    log.writeOpen(1, [1, 1], eventsOfBlock(1))
    for (const one of [reader, grown]) one.refresh()
    assert.equal((await complete.next(1n))?.events.length, 8)
    while (await blocks.readPiece());
    assert.deepEqual(given, [{ height: 1, events: 4, isIncomplete: false }])

    const stopped = new MemoryLog()
    stopped.writeOpen(1, [1, 1], GENESIS)
    const other = readLogs(t, stopped)
    const anew: GivenBlock[] = []
    const again = blocksFor(other, (block) => anew.push(block))
    while (await again.readPiece());
    stopped.seal(1, [1, 1], GENESIS)
    stopped.seal(2, [1, 1], eventsOfBlock(1))
    stopped.writeOpen(3, [2, 3], later)
    other.refresh()
    while (await again.readPiece());
    assert.deepEqual([anew[0]?.events, anew.length], [4, 3])
  })
})

test('A store and a forwarder take blocks from another log if one cannot be read, whatever the reason', async (t) => {
  for (const code of ['EIO', 'EACCES', 'ENOENT']) {
    const logs = [new MemoryLog(), new MemoryLog()]
    for (const log of logs) log.seal(1, [1, 20], eventsOfBlocks(1, 20))
    logs[0]!.fault = code
    assert.equal((await storeAll(readLogs(t, ...logs))).given.length, 20)
    // What could not be read for the one is not known to the other.
    const blocks = new CompleteBlocks(readLogs(t, ...logs))
    await blocks.next(1n).catch(() => {})
    assert.notEqual(await blocks.next(1n), null, code)
  }
})

test('Of logs none of which can be read the fault is named, and they are read once they can be', async (t) => {
  const logs = [new MemoryLog(), new MemoryLog()]
  for (const log of logs) {
    log.seal(1, [1, 20], eventsOfBlocks(1, 20))
    log.fault = 'EIO'
  }
  const given: GivenBlock[] = []
  const blocks = blocksFor(readLogs(t, ...logs), (block) => given.push(block))
  for (let piece = 0; await blocks.readPiece(); piece++)
    assert.ok(piece < 20, 'they are read again and again')
  assert.match(blocks.fault!.message, /EIO/)
  for (const log of logs) log.fault = null
  while (await blocks.readPiece());
  assert.deepEqual([given.length, blocks.fault], [20, null])
})

describe('A segment that cannot be read is a fault, and not begun again and again,', () => {
  const faultOf = async (blocks: LogBlocks) => {
    for (let piece = 0; await blocks.readPiece(); piece++)
      assert.ok(piece < 20, 'it is begun again and again')
    return blocks.fault?.message ?? ''
  }
  const accepted = [{ from: 5n, to: 5n }]

  for (const [what, segment] of [
    ['a segment after an accepted gap', [6, 9]],
    ['a segment with an accepted gap, and what follows it', [2, 9]],
  ] as const)
    test(`if it is ${what}`, async (t) => {
      const log = new MemoryLog()
      log.seal(1, [2, 4], eventsOfBlocks(2, 4))
      log.seal(2, segment, eventsOfBlocks(6, 9))
      log.fault = 'EIO'
      const given: GivenBlock[] = []
      const stored = storedTo(4, { from: 2 })
      const blocks = blocksFor(readLogs(t, log), (block) => given.push(block), { stored, accepted })
      assert.match(await faultOf(blocks), /EIO/)
      log.fault = null
      while (await blocks.readPiece());
      assert.deepEqual(heightsOf({ given }), [6, 7, 8, 9])
    })

  test('if another segment has only a part of its block', async (t) => {
    const [parted, whole] = [new MemoryLog(), new MemoryLog()]
    parted.seal(1, [11, 11], eventsOfBlock(11))
    parted.seal(2, [12, 12], without(eventsOfBlock(12), 1), { isPart: true })
    whole.writeOpen(1, [11, 18], eventsOfBlocks(11, 18))
    whole.fault = 'EIO'
    for (const stored of [storedTo(12, { from: 11, incomplete: [12] }), storedTo(11, { from: 11 })]) {
      const given: GivenBlock[] = []
      const blocks = blocksFor(readLogs(t, parted, whole), (block) => given.push(block), { stored })
      assert.match(await faultOf(blocks), /EIO/)
      assert.deepEqual(given, [])
    }
  })
})

test('A segment that is gone, when no other one has its block, is an error, and no wait without a word', async (t) => {
  const log = new MemoryLog()
  log.seal(1, [1, 5], eventsOfBlocks(1, 5))
  const blocks = blocksFor(readLogs(t, log), () => {}, { stored: storedTo(2) })
  log.remove(1)
  await assert.rejects(blocks.readPiece(), LogUnreachableError)
})

test('Where gaps are allowed, a block is taken whole from another segment rather than incomplete', async (t) => {
  const [one, other] = [new MemoryLog(), new MemoryLog()]
  const withIncomplete = (height: number, last: number) => [
    ...eventsOfBlocks(1, height - 1),
    ...without(eventsOfBlock(height), 1),
    ...eventsOfBlocks(height + 1, last),
  ]
  one.seal(1, [1, 20], withIncomplete(5, 20))
  other.seal(1, [1, 10], withIncomplete(7, 10))
  const all = Array.from({ length: 20 }, (_, index) => index + 1)
  for (const logs of [
    [one, other],
    [other, one],
  ])
    assert.deepEqual(heightsOf(await storeAll(readLogs(t, ...logs), { allowGap: true })), all)
  const { given, coverage } = await storeAll(readLogs(t, one), { allowGap: true })
  assert.deepEqual([heightsOf({ given })[4], coverage!.gaps.length], ['5 incomplete', 1])
  // A gap of the store, below what it needs: whole or not at all.
  const stored = storedTo(13, { missing: [5] })
  assert.deepEqual(
    heightsOf(await storeAll(readLogs(t, one), { stored, allowGap: true })),
    [14, 15, 16, 17, 18, 19, 20],
  )
})

test('An accepted gap is passed over although another log has the block, if that cannot be read', async (t) => {
  const [one, other] = [new MemoryLog(), new MemoryLog()]
  one.seal(1, [1, 20], [...eventsOfBlocks(1, 4), ...eventsOfBlocks(6, 20)])
  other.seal(1, [1, 10], eventsOfBlocks(1, 10))
  other.fault = 'EIO'
  const reader = readLogs(t, one, other)
  const given: GivenBlock[] = []
  const blocks = blocksFor(reader, (block) => given.push(block))
  while (await blocks.readPiece());
  assert.deepEqual([given.length, blocks.fault !== null], [4, true])
  const accepted = [{ from: 5n, to: 5n }]
  const rest = blocksFor(reader, (block) => given.push(block), { stored: blocks.coverage, accepted })
  while (await rest.readPiece());
  assert.deepEqual([heightsOf({ given }).includes(5), given.length], [false, 19])
})

for (const [what, segments] of [
  [
    'two segments',
    [
      [1, 4],
      [8, 20],
    ],
  ],
  ['one segment', [[1, 20]]],
] as const)
  test(`Several accepted blocks are passed over, if the log that has them cannot be read, and another has ${what} without them`, async (t) => {
    for (const isFirst of [true, false]) {
      const [without, having] = [new MemoryLog(), new MemoryLog()]
      for (const [index, [first, last]] of segments.entries())
        without.seal(
          index + 1,
          [first, last],
          [...eventsOfBlocks(first, Math.min(4, last)), ...eventsOfBlocks(Math.max(8, first), last)],
        )
      having.seal(1, [5, 7], eventsOfBlocks(5, 7))
      having.fault = 'EIO'
      const reader = readLogs(t, ...(isFirst ? [having, without] : [without, having]))
      const given: GivenBlock[] = []
      const accepted = [{ from: 5n, to: 7n }]
      const blocks = blocksFor(reader, (block) => given.push(block), { accepted })
      for (let piece = 0; await blocks.readPiece(); piece++)
        assert.ok(piece < 20, 'it is read again and again')
      assert.deepEqual(
        given.map(({ height }) => height),
        [1, 2, 3, 4, ...Array.from({ length: 13 }, (_, index) => index + 8)],
      )
    }
  })

test('A block after one in a gap of the store is taken from another log, if the segment has neither', async (t) => {
  const [one, other] = [new MemoryLog(), new MemoryLog()]
  one.seal(1, [1, 10], [...damageAt(GENESIS, 1), ...FIRST, ...eventsOfBlocks(9, 10)])
  other.seal(1, [8, 8], eventsOfBlock(8))
  const stored = { ...storedTo(7, { missing: [1] }), blockOne: null }
  const { given, gaps } = await storeAll(readLogs(t, one, other), { stored })
  assert.deepEqual([heightsOf({ given }), gaps], [[8, 9, 10], []])
})

test('A part of the last block, of which the store has a part, is read once', async (t) => {
  const log = new MemoryLog()
  log.seal(1, [5, 5], without(eventsOfBlock(5), 1), { isPart: true })
  const stored = storedTo(5, { from: 2, incomplete: [5] })
  const blocks = blocksFor(readLogs(t, log), () => assert.fail('it is not needed'), { stored })
  assert.equal(await blocks.readPiece(), false)
})

test('Genesis alone is no damage, and block 1 is taken once the rest of it is there', async (t) => {
  const log = new MemoryLog()
  log.writeOpen(1, [1, 1], GENESIS)
  const reader = readLogs(t, log)
  const given: GivenBlock[] = []
  const read = async () => {
    const blocks = blocksFor(reader, (block) => given.push(block))
    while (await blocks.readPiece());
  }
  await read()
  const wait = new LogWait(reader)
  wait.look(1n)
  assert.deepEqual([given.length, wait.reason], [0, null])
  log.writeOpen(1, [1, 1], eventsOfBlock(1))
  reader.refresh()
  await read()
  assert.deepEqual(given, [{ height: 1, events: 4, isIncomplete: false }])
})

test('A damaged segment says nothing of blocks that it never had', async (t) => {
  const log = new MemoryLog()
  log.seal(1, [1, 9], eventsOfBlocks(1, 9))
  log.seal(2, [1, 5], eventsOfBlocks(1, 5), { cutBefore: 12 })
  const reader = readLogs(t, log)
  const { coverage } = await storeAll(reader)
  assert.equal(coverage!.height, 9n)
  assert.match(reader.segments.reasonFor(5n)!, /0000000002-1-5/)
  assert.equal(reader.segments.reasonFor(6n), null)
  const wait = new LogWait(reader)
  wait.look(10n)
  assert.equal(wait.reason, null)
})

test('Events that cannot be read are reported by block, and those in no block once of a segment', async (t) => {
  const log = new MemoryLog()
  const third = eventsOfBlock(3).map((event, at) => (at === 1 || at === 2 ? damaged(event) : event))
  const outside = damageAt(eventsOfBlock(9), 0)[0]!
  log.seal(1, [2, 5], [...eventsOfBlock(2), outside, ...third, ...eventsOfBlocks(4, 5)])
  log.seal(2, [6, 7], [...eventsOfBlock(6), outside, outside, ...eventsOfBlock(7)])
  const said: string[] = []
  const onWarning = (warning: string) => said.push(warning.replace(/:[^:]*bevt.*/, ''))
  const blocks = blocksFor(readLogs(t, log), () => {}, { stored: storedTo(1), allowGap: true, onWarning })
  while (await blocks.readPiece());
  assert.deepEqual(said, [
    'live ingestion: an event outside any block, or the first one of a block, cannot be read',
    'live ingestion: block 3 cannot be read',
    'live ingestion: an event outside any block, or the first one of a block, cannot be read',
  ])
})

test('A log of another chain than the store, and with strict an event that is invalid, end the reading', async (t) => {
  const log = new MemoryLog()
  log.seal(1, [2, 5], eventsOfBlocks(2, 5))
  const stored = { ...storedTo(1), chainId: 'another-chain' }
  await assert.rejects(blocksFor(readLogs(t, log), () => {}, { stored }).readPiece(), ChainError)
  const invalid = new MemoryLog()
  const events = eventsOf([
    { height: 2, chain: LOG_CHAIN, events: [checkpoint({ hash: 'x'.repeat(2_000) })] },
  ])
  invalid.seal(1, [2, 2], events)
  const read = async (strict: boolean) => {
    const given: GivenBlock[] = []
    const options = { stored: storedTo(1), strict }
    await blocksFor(readLogs(t, invalid), (block) => given.push(block), options).readPiece()
    return given.length
  }
  assert.equal(await read(false), 1)
  await assert.rejects(read(true), StrictError)
})

test('How far a segment was read is known until it is left', async (t) => {
  const log = new MemoryLog()
  log.writeOpen(1, [2, 5], eventsOfBlocks(2, 5))
  const reader = readLogs(t, log)
  const blocks = blocksFor(reader, () => {}, { stored: storedTo(1) })
  const readTo = () => blocks.offset?.offset ?? null
  assert.equal(readTo(), null)
  while (await blocks.readPiece());
  assert.equal(readTo(), reader.segments.find(2n)!.bytes)
})

test('After an accepted gap, a segment that could not be read is read on once it can be', async (t) => {
  const [without, having] = [new MemoryLog(), new MemoryLog()]
  without.seal(1, [1, 4], eventsOfBlocks(1, 4))
  without.seal(2, [8, 12], eventsOfBlocks(8, 12))
  having.seal(1, [5, 20], eventsOfBlocks(5, 20))
  having.fault = 'EIO'
  const given: GivenBlock[] = []
  const accepted = [{ from: 5n, to: 7n }]
  const blocks = blocksFor(readLogs(t, having, without), (block) => given.push(block), { accepted })
  while (await blocks.readPiece());
  assert.deepEqual(heightsOf({ given }), [1, 2, 3, 4, 8, 9, 10, 11, 12])
  having.fault = null
  while (await blocks.readPiece());
  assert.deepEqual(heightsOf({ given }).slice(9), [5, 6, 7, 13, 14, 15, 16, 17, 18, 19, 20])
})

test('What a segment does not have is noted from the needed block on, also if it has a later one', async (t) => {
  const [one, other] = [new MemoryLog(), new MemoryLog()]
  // By its name it has 4, too; 6 is damaged.
  one.seal(1, [4, 8], [...damageAt(eventsOfBlock(6), 1), ...eventsOfBlocks(7, 8)])
  other.seal(1, [6, 6], eventsOfBlock(6))
  const reader = readLogs(t, one, other)
  const { given, gaps } = await storeAll(reader, { stored: storedTo(3) })
  assert.deepEqual([heightsOf({ given }), gaps], [[6, 7, 8], [{ from: 4n, to: 5n }]])
  assert.equal(reader.segments.find(4n), null)
})

test('A gap that is allowed is recorded, also if the log that may still get the block stops while that is decided', async (t) => {
  const log = new MemoryLog()
  log.seal(1, [2, 14], [...eventsOfBlocks(2, 10), ...eventsOfBlocks(12, 14)])
  const reader = readLogs(t, log)
  let asked = 0
  t.mock.method(reader.gaps, 'waitsFor', () => (asked++ === 0 ? [2] : []))
  const given: GivenBlock[] = []
  const blocks = blocksFor(reader, (block) => given.push(block), { stored: storedTo(1), allowGap: true })
  while (await blocks.readPiece());
  assert.deepEqual(heightsOf({ given }), [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14])
  assert.deepEqual(
    blocks.coverage!.gaps.map(({ from, to }) => [from, to]),
    [[11n, 11n]],
  )
})

describe('A block that a log may still get', () => {
  const withoutBlock: Record<string, (log: MemoryLog) => void> = {
    'is between two segments': (log) => {
      log.seal(1, [1, 10], eventsOfBlocks(1, 10))
      log.seal(2, [12, 14], eventsOfBlocks(12, 14))
    },
    'is missing within one': (log) =>
      log.seal(1, [1, 14], [...eventsOfBlocks(1, 10), ...eventsOfBlocks(12, 14)]),
    'cannot be read': (log) =>
      log.seal(
        1,
        [1, 14],
        [...eventsOfBlocks(1, 10), ...damageAt(eventsOfBlock(11), 1), ...eventsOfBlocks(12, 14)],
      ),
    'has a part only': (log) => {
      log.seal(1, [1, 10], eventsOfBlocks(1, 10))
      log.seal(2, [11, 11], without(eventsOfBlock(11), 1), { isPart: true })
      log.seal(3, [12, 14], eventsOfBlocks(12, 14))
    },
  }
  for (const [what, write] of Object.entries(withoutBlock))
    test(`is waited for if in another log it ${what}, also where gaps are allowed`, async (t) => {
      for (const allowGap of [false, true]) {
        const [one, behind] = [new MemoryLog(), new MemoryLog()]
        write(one)
        behind.writeOpen(1, [1, 10], eventsOfBlocks(1, 10))
        behind.writeReceiver()
        const reader = readLogs(t, one, behind)
        const given: GivenBlock[] = []
        const blocks = blocksFor(reader, (block) => given.push(block), { allowGap })
        while (await blocks.readPiece());
        assert.equal(given.at(-1)!.height, 10)
        behind.writeOpen(1, [1, 14], eventsOfBlocks(1, 14))
        reader.refresh()
        while (await blocks.readPiece());
        assert.deepEqual(heightsOf({ given }).slice(10), [11, 12, 13, 14])
      }
    })
})

describe('The last block of a store, of which it has a part,', () => {
  const stored = storedTo(25, { incomplete: [25] })

  test('is completed from an older segment, wherever the newest one is damaged before it', async (t) => {
    for (const mostBytes of [200, Number.POSITIVE_INFINITY])
      for (const at of [3, 24 * 4 + 4, 24 * 4 + 5]) {
        const log = new MemoryLog()
        log.mostBytes = mostBytes
        log.seal(1, [20, 25], eventsOfBlocks(20, 25))
        log.seal(2, [1, 26], damageAt(eventsOfBlocks(1, 26), at))
        log.seal(3, [1, 26], eventsOfBlocks(1, 26), { cutBefore: at })
        assert.deepEqual(heightsOf(await storeAll(readLogs(t, log), { stored })), [25, 26])
      }
  })

  test('is passed over if its end cannot be read, and no other log has it', async (t) => {
    const [one, other] = [new MemoryLog(), new MemoryLog()]
    one.seal(1, [18, 25], eventsOfBlocks(18, 25).slice(0, -1))
    other.seal(1, [26, 29], eventsOfBlocks(26, 29))
    assert.deepEqual(heightsOf(await storeAll(readLogs(t, one, other), { stored })), [26, 27, 28, 29])
  })
})

test('A block in a gap of a store is taken although it begins where another one in the gap turns out to be cut', async (t) => {
  const log = new MemoryLog()
  log.seal(1, [1, 6], [...GENESIS.slice(0, -1), ...FIRST, ...eventsOfBlocks(2, 6)])
  const stored = storedTo(4, { missing: [1, 2] })
  assert.deepEqual(heightsOf(await storeAll(readLogs(t, log), { stored })), [2, 5, 6])
})

test('A last block whose beginning cannot be read is missing although nothing follows it in the segment that is written', async (t) => {
  const events = [...eventsOfBlocks(11, 12), ...damageAt(eventsOfBlock(13), 0)]
  const [cut, whole] = [new MemoryLog(), new MemoryLog()]
  cut.writeOpen(1, [11, 13], events)
  whole.writeOpen(1, [11, 13], eventsOfBlocks(11, 13))
  assert.deepEqual(heightsOf(await storeAll(readLogs(t, cut, whole))), [11, 12, 13])
  const reader = readLogs(t, cut)
  assert.deepEqual(heightsOf(await storeAll(reader)), [11, 12])
  assert.match(reader.segments.reasonFor(13n)!, /^0000000001-11\.bevt\.open/)
  const forwarded = new CompleteBlocks(readLogs(t, cut, whole))
  for (const height of [11n, 12n, 13n]) assert.equal((await forwarded.next(height))?.height, height)
  // The segment grows, and is read on.
  const grown = readLogs(t, cut)
  const lone = new CompleteBlocks(grown)
  for (const height of [11n, 12n]) assert.equal((await lone.next(height))?.height, height)
  for (let asked = 0; asked < 2; asked++) assert.equal(await lone.next(13n), null)
  cut.writeOpen(1, [11, 14], [...events, ...eventsOfBlock(14)])
  grown.refresh()
  assert.equal((await lone.next(14n))?.height, 14n)
})

test('Of a gzipped segment that is cut the record is named up to which it could be read', async (t) => {
  const last = 12_000
  const log = new MemoryLog()
  log.seal(1, [2, last], eventsOfBlocks(2, last), { isGzipped: true, isCut: true })
  const given: GivenBlock[] = []
  const warnings: string[] = []
  const reading = blocksFor(readLogs(t, log), (block) => given.push(block), {
    stored: storedTo(1),
    onWarning: (text) => warnings.push(text),
  })
  while (await reading.readPiece());
  const [, record] = /record (\d+), offset \d+: it cannot be inflated/.exec(warnings.join()) ?? []
  // A block has four records.
  assert.ok(given.length > 1_000 && Number(record) > 4 * given.length, `${given.length}: ${warnings}`)
})

test('An event of another chain, wherever it is in a log, costs no more than its block', async (t) => {
  const log = new MemoryLog()
  log.seal(1, [11, 12], [partOf(11, 'h', 'other-chain')[1]!, ...eventsOfBlocks(11, 12)])
  log.seal(2, [13, 15], eventsOfBlocks(13, 15).with(4, partOf(14, 'h', 'other-chain')[0]!))
  const { given, gaps } = await storeAll(readLogs(t, log))
  assert.deepEqual([heightsOf({ given }), gaps], [[11, 12, 13, 15], [{ from: 14n, to: 14n }]])
  const blocks = new CompleteBlocks(readLogs(t, log))
  for (const height of [11n, 12n, 13n, 14n, 15n])
    assert.equal((await blocks.next(height)) !== null, height !== 14n, `${height}`)
})

test('A damaged height in the beginning of a block loses that block, not those up to the height', async (t: TestContext) => {
  const [begin] = eventsOfBlock(94)
  const renamed = Buffer.from(begin!.toString('latin1').replace('94-1', '30-1'), 'latin1')
  const log = new MemoryLog()
  log.seal(
    1,
    [28, 32],
    [...eventsOfBlocks(28, 29), renamed, ...eventsOfBlock(30).slice(1), ...eventsOfBlocks(31, 32)],
  )
  log.seal(2, [33, 40], eventsOfBlocks(33, 40))
  const heights = heightsOf(await storeAll(readLogs(t, log)))
  assert.deepEqual(heights, [28, 29, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40])
})

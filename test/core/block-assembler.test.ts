import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Block } from '#core/blocks/block'
import { type AssemblerCounts, type AssemblerOptions, BlockAssembler } from '#core/blocks/block-assembler'
import type { Coverage } from '#core/domain/coverage'
import type { CheckpointEvent } from '#core/events/event'
import { busEvent, checkpoint, eventsOf, idOf, type MadeBlock } from '../fixtures/events/event-stream.ts'

/** A block with checkpoints of these names. */
const block = (height: number, names = '', rest: Partial<MadeBlock> = {}): MadeBlock => ({
  height,
  events: [...names].map((name) => checkpoint({ hash: name, atBlock: height })),
  ...rest,
})

/** The parts of block 1: genesis and the block itself, which have different hashes. */
const genesis = (names = '', rest: Partial<MadeBlock> = {}) => block(1, names, { hash: 'genesis', ...rest })
const first = (names = '', rest: Partial<MadeBlock> = {}) => block(1, names, { hash: 'first', ...rest })

const open = { ends: false }

/** An event outside the blocks of a stream, by its id. */
const stray = (id: string) => busEvent({ id, ...checkpoint() }, checkpoint({ hash: '!' }).body)

type Stream = readonly (MadeBlock | Buffer)[]

type Assembled = {
  /** `2: 2=a 3=b`, then `after 3` if it replaces stored events after that one, and `incomplete`. */
  blocks: string[]
  counts: AssemblerCounts
  coverage: Coverage | null
  pendingHeight: bigint | null
  error: Error | null
}

/** Assembles a stream as one input, beside a store with the blocks of another one. */
function assemble(stream: Stream, options: Partial<AssemblerOptions> & { ends?: boolean } = {}): Assembled {
  const { ends = true, ...given } = options
  const blocks: string[] = []
  const assembler = new BlockAssembler({
    coverage: null,
    onBlock: (block) => blocks.push(said(block)),
    onLeftOut: () => {},
    mayMiss: () => false,
    strict: false,
    ...given,
  })
  let error: Error | null = null
  try {
    for (const [number, part] of stream.entries()) {
      for (const event of Buffer.isBuffer(part) ? [part] : eventsOf([part])) {
        assembler.accept(event, 0, event.length, { source: 'test', record: number, offset: 0 })
      }
    }
    if (ends) assembler.end()
  } catch (thrown) {
    error = thrown as Error
  }
  const { counts, coverage, pendingHeight } = assembler
  return { blocks, counts, coverage, pendingHeight, error }
}

function said({ height, events, replacesAfter, isIncomplete }: Block): string {
  return [
    `${height}:`,
    ...events.map(({ index, event }) => `${index}=${(event as CheckpointEvent).hash}`),
    ...(replacesAfter === null ? [] : [`after ${replacesAfter}`]),
    ...(isIncomplete ? ['incomplete'] : []),
  ].join(' ')
}

/** The coverage of a store with the blocks of a stream. */
function stored(stream: Stream): Coverage {
  const { coverage, error } = assemble(stream, { mayMiss: () => true })
  assert.equal(error, null)
  return coverage!
}

const gapsOf = (coverage: Coverage | null) =>
  (coverage?.gaps ?? []).map(({ from, to, kind }) => `${kind} ${from} to ${to}`)

type Case = {
  stream: Stream
  /** The stream that the store has. */
  store?: Stream
  options?: Partial<AssemblerOptions>
  blocks?: string[]
  /** Counts above zero, but for records and blocks. */
  counts?: Partial<AssemblerCounts>
  gaps?: string[]
  /** The first block ever committed. */
  began?: bigint
  pending?: bigint
  error?: RegExp
}

const CASES: Record<string, Case> = {
  'blocks in order are handed on at their ends': {
    stream: [block(2, 'ab'), block(3), block(4, 'c')],
    blocks: ['2: 2=a 3=b', '3:', '4: 2=c'],
  },
  'a block that has not ended is not handed on': {
    stream: [block(2, 'a'), block(3, 'b', open)],
    blocks: ['2: 2=a'],
    pending: 3n,
  },
  'a block without an end stops the input when another one begins': {
    stream: [block(2, 'a', open), block(3, 'b')],
    counts: { incompleteBlocks: 1 },
    error: /expected block 2, found block 3: block 2 missing or incomplete/,
  },
  'a block without an end is a gap where gaps are allowed': {
    stream: [block(2, 'a'), block(3, 'b', open), block(4, 'c')],
    options: { mayMiss: () => true },
    blocks: ['2: 2=a', '4: 2=c'],
    counts: { incompleteBlocks: 1 },
    gaps: ['missing 3 to 3'],
  },
  'an empty store begins with the lowest block that has begun': {
    stream: [block(5, 'a', open), block(3, 'b'), block(4), block(5, 'a')],
    blocks: ['3: 2=b', '4:', '5: 2=a'],
    counts: { incompleteBlocks: 1 },
    gaps: [],
    began: 3n,
  },
  'a block that begins again is taken from its second beginning': {
    stream: [block(2, 'a', open), block(2, 'ab')],
    blocks: ['2: 2=a 3=b'],
    counts: { incompleteBlocks: 1 },
  },
  'events before the first block, between blocks and of other heights are passed over': {
    stream: [
      stray('1-7'),
      block(2, 'a'),
      stray('2-4'),
      block(3, 'b', open),
      stray('2-9'),
      stray('4-1'),
      ...endOf(3, 3),
    ],
    blocks: ['2: 2=a', '3: 2=b'],
    counts: { beforeFirstBlock: 1, outsideBlocks: 3 },
  },
  'an event that comes again is passed over, and the block goes on': {
    stream: [block(2, 'ab', open), stray('2-3'), stray('2-2'), ...endOf(2, 4)],
    blocks: ['2: 2=a 3=b'],
    counts: { repeated: 2 },
  },
  'the index of the last event may not be taken twice': {
    stream: [block(2, 'a', open), ...endOf(2, 2)],
    counts: { repeated: 1 },
    pending: 2n,
  },
  'an event that is missing stops the input': {
    stream: [block(2, 'a'), block(3, 'bcd', { without: [3] })],
    blocks: ['2: 2=a'],
    pending: 3n,
    error: /event 3 of block 3 missing: the whole of block 3 is needed/,
  },
  'several events that are missing are named': {
    stream: [block(2, 'abcd', { without: [2, 3, 4] })],
    pending: 2n,
    error: /events 2 to 4 of block 2 missing/,
  },
  'a block without some of its events is incomplete where gaps are allowed': {
    stream: [block(2, 'abc', { without: [3] }), block(3, 'd')],
    options: { mayMiss: () => true },
    blocks: ['2: 2=a 4=c incomplete', '3: 2=d'],
    gaps: ['incomplete 2 to 2'],
  },
  'a whole block replaces an incomplete one': {
    store: [block(2, 'abc', { without: [3] }), block(3)],
    stream: [block(2, 'abc')],
    blocks: ['2: 2=a 3=b 4=c after 0'],
    gaps: [],
  },
  'an incomplete block does not replace an incomplete one': {
    store: [block(2, 'abc', { without: [3] }), block(3)],
    stream: [block(2, 'abc', { without: [4] })],
    counts: { storedBlocks: 1 },
    gaps: ['incomplete 2 to 2'],
  },
  'a stored block is passed over, without a look at the ids of its events': {
    store: [block(2, 'a'), block(3, 'b')],
    stream: [block(2, 'xyz', { without: [2] }), block(3, 'b'), block(4, 'c')],
    blocks: ['4: 2=c'],
    counts: { storedBlocks: 2 },
  },
  'a block beyond the next one stops the input': {
    store: [block(2), block(3)],
    stream: [block(6)],
    error: /expected block 4, found block 6: blocks 4 to 5 missing or incomplete/,
  },
  'a block beyond the next one leaves a gap where gaps are allowed': {
    store: [block(2), block(3)],
    stream: [block(6, 'a')],
    options: { mayMiss: () => true },
    blocks: ['6: 2=a'],
    gaps: ['missing 4 to 5'],
  },
  'blocks that may be missing are passed over without more': {
    store: [block(2), block(3)],
    stream: [block(6, 'a')],
    options: { mayMiss: ({ from, to }) => from === 4n && to === 5n },
    blocks: ['6: 2=a'],
    gaps: ['missing 4 to 5'],
  },
  'blocks of which only some may be missing stop the input': {
    store: [block(2), block(3)],
    stream: [block(6, 'a')],
    options: { mayMiss: ({ to }) => to === 4n },
    error: /expected block 4, found block 6/,
  },
  'blocks of a gap fill it': {
    store: [block(2), block(6)],
    stream: [block(4, 'a')],
    blocks: ['4: 2=a'],
    gaps: ['missing 3 to 3', 'missing 5 to 5'],
  },
  'blocks below the first one are added': {
    store: [block(5), block(6)],
    stream: [block(3, 'a'), block(4, 'b')],
    blocks: ['3: 2=a', '4: 2=b'],
    gaps: [],
  },
  'blocks further below leave a gap': {
    store: [block(5), block(6)],
    stream: [block(2, 'a')],
    blocks: ['2: 2=a'],
    gaps: ['missing 3 to 4'],
  },
  'block 1 is not whole before another block begins': {
    stream: [genesis('a'), first('b')],
    pending: 1n,
  },
  'block 1 is genesis and the block itself, whose events count on': {
    stream: [genesis('ab'), first('c'), block(2)],
    blocks: ['1: 2=a 3=b 6=c', '2:'],
  },
  'block 1 may have one part': {
    stream: [first('a'), block(2)],
    blocks: ['1: 2=a', '2:'],
  },
  'parts of block 1 that come again are passed over': {
    stream: [genesis('a'), genesis('a'), first('b'), genesis('a'), first('b'), block(2)],
    blocks: ['1: 2=a 5=b', '2:'],
  },
  'a part of block 1 that comes again without an end is passed over': {
    stream: [genesis('a'), genesis('a', open), first('b'), block(2)],
    blocks: ['1: 2=a 5=b', '2:'],
  },
  'block 1 is left out whole if genesis has not all of its events': {
    stream: [genesis('ab', { without: [3] }), first('c'), block(2)],
    options: { mayMiss: () => true },
    blocks: ['2:'],
    counts: { incompleteBlocks: 1 },
    gaps: ['missing 1 to 1'],
  },
  'parts of block 1 that had no end are forgotten once another block has begun': {
    stream: [genesis('a', open), first('b', open), block(2), first('b'), block(3)],
    options: { mayMiss: () => true },
    blocks: ['2:', '1: 2=b', '3:'],
    counts: { incompleteBlocks: 2 },
    gaps: [],
  },
  'a part of block 1 without an end may come again': {
    stream: [genesis('a', open), genesis('a'), first('b'), block(2)],
    blocks: ['1: 2=a 5=b', '2:'],
    counts: { incompleteBlocks: 1 },
  },
  'a part of block 1 without an end stops the input when block 2 begins': {
    stream: [genesis('a'), first('b', open), block(2)],
    counts: { incompleteBlocks: 1 },
    error: /expected block 1, found block 2/,
  },
  'genesis without an end makes block 1 incomplete': {
    stream: [genesis('a', open), first('b'), block(2)],
    counts: { incompleteBlocks: 1 },
    pending: 1n,
    error: /the end of a part of block 1, genesis or the block itself, missing/,
  },
  'a third part of block 1 is refused': {
    stream: [genesis(), first(), block(1, '', { hash: 'third' })],
    pending: 1n,
    error: /block 1 begins a third time with another hash, "third"/,
  },
  'the end of the input makes block 1 whole if block 2 is stored': {
    store: [block(2), block(3)],
    stream: [genesis('a'), first('b')],
    blocks: ['1: 2=a 5=b'],
  },
  'the block itself is added to a stored genesis, with the places after it': {
    store: [genesis('ab'), block(2)],
    stream: [genesis('ab'), first('c'), block(2)],
    blocks: ['1: 6=c after 4'],
    counts: { storedBlocks: 2 },
  },
  'genesis is not added to the block itself, whose places count from the first': {
    store: [first('c'), block(2)],
    stream: [genesis('ab'), first('c'), block(2)],
    blocks: ['1: 2=a 3=b 6=c after 0'],
    counts: { storedBlocks: 1 },
  },
  'a part of block 1 does not replace the other one': {
    store: [genesis('ab'), block(2)],
    stream: [first('c'), block(2)],
    pending: 1n,
    error: /block 1 has two parts.*the store contains one of them and this input has only the other/,
  },
  'a part of block 1 is left where gaps are allowed': {
    store: [genesis('ab'), block(2)],
    stream: [first('c'), block(2)],
    options: { mayMiss: () => true },
    counts: { storedBlocks: 2 },
  },
  'both parts of block 1 are passed over if both are stored': {
    store: [genesis('a'), first('b'), block(2)],
    stream: [genesis('a'), first('b'), block(2), block(3)],
    blocks: ['3:'],
    counts: { storedBlocks: 2 },
  },
  'an event of another chain is refused': {
    stream: [block(2), block(3, '', { chain: 'other' })],
    blocks: ['2:'],
    error:
      /an event of chain "other", but the input began with chain "test-chain": use one store for each chain/,
  },
  'an event of another chain than the store is refused': {
    store: [block(2)],
    stream: [block(3, '', { chain: 'other' })],
    error: /an event of chain "other", but the store contains chain "test-chain"/,
  },
  'an event without a chain is refused': {
    stream: [block(2, '', { chain: '' })],
    error: /not a BusEvent: a chain id of ""/,
  },
  'an event of another version is refused': {
    stream: [busEvent({ id: '2-1', version: 2, ...checkpoint() }, checkpoint().body)],
    error: /an event of version 2; this program reads version 1/,
  },
  'an id that is none is refused': {
    stream: [block(2, '', open), stray('2-x')],
    pending: 2n,
    error: /its id is "2-x"/,
  },
  'an id without an index is refused': {
    stream: [block(2, '', open), stray('2-')],
    pending: 2n,
    error: /its id is "2-"/,
  },
  'an id with an index of ten digits is refused': {
    stream: [block(2, '', open), stray('2-1234567890')],
    pending: 2n,
    error: /its id is "2-1234567890"/,
  },
  'an id of a height with the same beginning is another height': {
    stream: [block(2, '', open), stray('22-2'), ...endOf(2, 2)],
    blocks: ['2:'],
    counts: { outsideBlocks: 1 },
  },
  'an id of a much longer height is another height': {
    stream: [
      block(2, '', open),
      stray('70000000-123'),
      stray('18446744073709551615-999999999'),
      ...endOf(2, 2),
    ],
    blocks: ['2:'],
    counts: { outsideBlocks: 2 },
  },
  'an invalid event is left out and counted': {
    stream: [block(2, 'a', { events: [checkpoint({ hash: 'a' }), INVALID(), checkpoint({ hash: 'b' })] })],
    blocks: ['2: 2=a 4=b'],
  },
  'an invalid event stops a strict input': {
    stream: [block(2, '', { events: [INVALID()] })],
    options: { strict: true },
    pending: 2n,
    error: /in an event of block 2\. Without --strict it would be skipped/,
  },
  'a block of more than 64 MiB is refused': {
    stream: [
      block(2, '', { events: Array.from({ length: 55_000 }, () => checkpoint({ hash: 'x'.repeat(250) })) }),
    ],
    pending: 2n,
    error: /block 2 has 5\d{4} events to keep and no end: more than any real block, the file is damaged/,
  },
}

/** The end of a block, by its index. */
function endOf(height: number, index: number): Buffer[] {
  const made = eventsOf([{ height, events: [] }]).at(-1)!
  const text = made.toString('latin1').replace(`${height}-2`, `${height}-${index}`)
  return [Buffer.from(text, 'latin1')]
}

/** A checkpoint with a text that is too long. */
function INVALID() {
  return checkpoint({ hash: 'x'.repeat(2_000) })
}

const NO_COUNTS = {
  beforeFirstBlock: 0,
  outsideBlocks: 0,
  repeated: 0,
  incompleteBlocks: 0,
  storedBlocks: 0,
  importedBlocks: 0,
}

describe('The assembly of blocks', () => {
  for (const [name, expected] of Object.entries(CASES)) {
    test(name, () => {
      const { stream, store, options = {}, blocks = [], counts = {}, pending = null } = expected
      const coverage = store === undefined ? null : stored(store)
      const found = assemble(stream, { coverage, ...options })
      if (expected.error === undefined) assert.equal(found.error, null)
      else assert.match(found.error?.message ?? 'no error', expected.error)
      assert.deepEqual(found.blocks, blocks)
      const { records: _, blocks: count, leftOut: __, ...others } = found.counts
      assert.equal(count, blocks.length)
      assert.deepEqual(others, { ...NO_COUNTS, ...counts })
      assert.equal(found.pendingHeight, pending)
      if (expected.began !== undefined) assert.equal(found.coverage?.began, expected.began)
      if (expected.gaps !== undefined) assert.deepEqual(gapsOf(found.coverage), expected.gaps)
    })
  }

  test('takes events of imported blocks for stored, and counts them', () => {
    const coverage: Coverage = {
      ...stored([block(2), block(3), block(4)]),
      imported: [{ from: 2n, to: 3n, lacks: 'instruments' }],
    }
    const { blocks, counts } = assemble([block(2, 'a'), block(3, 'b'), block(4, 'c'), block(5, 'd')], {
      coverage,
    })
    assert.deepEqual(blocks, ['5: 2=d'])
    assert.deepEqual([counts.storedBlocks, counts.importedBlocks], [3, 2])
  })

  test('reports what is left out once for each event, with its reason', () => {
    const reasons: string[] = []
    const { counts } = assemble([block(2, '', { events: [INVALID(), INVALID()] })], {
      onLeftOut: (reason) => reasons.push(reason),
    })
    assert.equal(reasons.length, 2)
    assert.deepEqual([...counts.leftOut.values()], [2])
  })

  test('says of which chain events must be, once there is one', () => {
    const options = {
      coverage: null,
      onBlock: () => {},
      onLeftOut: () => {},
      mayMiss: () => false,
      strict: false,
    }
    const assembler = new BlockAssembler(options)
    assert.equal(assembler.chainId, null)
    const [begin] = eventsOf([block(2)])
    assembler.accept(begin!, 0, begin!.length, { source: 'test', record: 1, offset: 0 })
    assert.equal(assembler.chainId, 'test-chain')
    assert.equal(assembler.coverage, null)
    assert.equal(new BlockAssembler({ ...options, coverage: stored([block(2)]) }).chainId, 'test-chain')
  })

  test('hands an id of 64 digits on as it came', () => {
    assert.deepEqual(assemble([block(2, '', { events: [checkpoint({ hash: idOf('d') })] })]).blocks, [
      `2: 2=${idOf('d')}`,
    ])
  })
})

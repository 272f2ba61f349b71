import assert from 'node:assert/strict'
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { generateRecords } from '#tools/generate/generate'
import {
  busEvent,
  dataPoint,
  eventsOf,
  fileOf,
  frame,
  idOf,
  MARKET,
  message,
} from '../fixtures/events/event-stream.ts'
import { scaled } from '../fixtures/sampling.ts'
import { runMeasured } from '../fixtures/services/run-measured.ts'
import { assertSameDump, dumpStore, emptyDump } from '../fixtures/stores/dump-store.ts'
import { ANY_STORE_KIND, describeOn, temporaryFolder } from '../fixtures/stores/stores.ts'

const MB = 1024 * 1024
/** The thread that reads ahead takes about 30 MB. */
const MAX_MEMORY_BYTES = 350_000_000

const ingestMeasured = (test: TestContext, store: string, path: string, flags: string[] = []) =>
  runMeasured(test, ['ingest', '--log-level', 'error', '--store', store, ...flags, path])

/** Writes chunks to a file of the test. */
function fileWith(test: TestContext, chunks: Iterable<Uint8Array>): string {
  const path = join(temporaryFolder(test), 'large.evts')
  const file = openSync(path, 'w')
  for (const chunk of chunks) writeSync(file, chunk)
  closeSync(file)
  return path
}

function* repeat(times: number, chunk: (time: number) => Uint8Array): Generator<Uint8Array> {
  for (let time = 0; time < times; time++) yield chunk(time)
}

/** Each chunk as a separate gzip member. */
function* gzipped(chunks: Iterable<Uint8Array>): Generator<Uint8Array> {
  for (const chunk of chunks) yield gzipSync(chunk)
}

const begin = (height: number): Buffer => eventsOf([{ height, ends: false }])[0]!

/** Events of one kind after the begin of block 2, in chunks with continuing indexes. */
function* blockOf(count: number, kind: number, body: (index: number) => Uint8Array): Generator<Buffer> {
  yield frame([begin(2)])
  const CHUNK = 10_000
  for (let start = 2; start < count; start += CHUNK) {
    yield frame(
      Array.from({ length: CHUNK }, (_, offset) => {
        const index = start + offset
        return busEvent({ id: `2-${index}`, kind }, body(index))
      }),
    )
  }
}

/** The market data of a block with one long list, which repeats one element. */
function longList(field: number, element: Uint8Array, bytes: number): Buffer {
  const one = message({ [field]: element })
  const list = Buffer.alloc(Math.floor(bytes / one.length) * one.length)
  for (let at = 0; at < list.length; at += one.length) list.set(one, at)
  return list
}

const marketDataBlock = (lists: Uint8Array): Buffer =>
  fileOf({ height: 2, events: [{ kind: 111, body: Buffer.concat([message({ 12: MARKET }), lists]) }] })

const party = message({ 1: 'network' })
const penalties = (): Buffer => longList(6, new Uint8Array(), 10 * MB)

const stray = frame(
  Array.from({ length: 10_000 }, () => busEvent({ id: '7-3', kind: 102 }, Buffer.alloc(1000))),
)

/** Malicious input, and its error. */
const HOSTILE: [what: string, chunks: () => Iterable<Uint8Array>, error: RegExp][] = [
  [
    'zeros of a gigabyte, gzipped',
    () => {
      const member = gzipSync(Buffer.alloc(16 * MB))
      return repeat(64, () => member)
    },
    /record 1, offset 0: a record's size of 0/,
  ],
  [
    'noise after a size of 64 MB',
    () => [frame([Buffer.alloc(1)]), Buffer.from([4, 0, 0, 0]), Buffer.alloc(65 * MB, 7)],
    /record 1, offset 0: not a BusEvent/,
  ],
  [
    'a size of 64 MB and zeros, gzipped',
    () => gzipped([Buffer.from([4, 0, 0, 0]), ...repeat(10, () => Buffer.alloc(8 * MB))]),
    /record 1, offset 0: not a BusEvent/,
  ],
  [
    'a list of millions of fee shares',
    () => gzipped([marketDataBlock(longList(26, party, 10 * MB))]),
    /record 2, offset \d+: an event of kind 111 with \d+ bytes/,
  ],
  [
    'an SLA of millions of penalties',
    () => gzipped([marketDataBlock(message({ 32: Buffer.concat([party, penalties()]) }))]),
    /record 2, offset \d+: an event of kind 111 with \d+ bytes/,
  ],
  [
    'a block of data points without an end',
    () => blockOf(150_000, 160, (index) => dataPoint({ timestamp: index, price: '1', twap: '1' }).body),
    /record \d+, offset \d+: block 2 has \d+ events to keep and no end/,
  ],
  [
    'a block of empty checkpoints without an end',
    () => blockOf(300_000, 135, () => new Uint8Array()),
    /record \d+, offset \d+: block 2 has \d+ events to keep and no end/,
  ],
  [
    'block 1 over and over',
    () =>
      repeat(scaled(10, 100), (time) =>
        fileOf(...Array.from({ length: 1000 }, (_, index) => ({ height: 1, hash: `${time} ${index}` }))),
      ),
    /record 5, offset \d+: block 1 begins a third time/,
  ],
  [
    'a gzip header with a comment of 100 MB',
    () => [
      Buffer.from([0x1f, 0x8b, 8, 16, 0, 0, 0, 0, 0, 3]),
      ...repeat(100, () => Buffer.alloc(MB, 120)),
      Buffer.from([0, 7]),
    ],
    /large\.evts, record 0, offset 0: the gzip data is damaged/,
  ],
]

/** Valid or truncated input, however large. */
const LAWFUL: [what: string, chunks: () => Iterable<Uint8Array>, flags: string[], height: string][] = [
  [
    'a bomb of events before the first block',
    () => {
      const member = gzipSync(stray)
      return repeat(scaled(8, 200), () => member)
    },
    [],
    'no block',
  ],
  [
    'skipped records of 60 MB',
    () => {
      const large = { kind: 102, body: Buffer.alloc(60 * MB) }
      return gzipped([fileOf({ height: 2, events: [large, large] })])
    },
    [],
    'blocks up to 2',
  ],
  [
    'a stream full of gaps',
    () =>
      repeat(scaled(8, 100), (time) =>
        fileOf(...Array.from({ length: 1000 }, (_, index) => ({ height: 2 + 2 * (1000 * time + index) }))),
      ),
    ['--allow-gap'],
    `blocks up to ${2000 * scaled(8, 100)}`,
  ],
  [
    'provider lists of a thousand markets',
    () => {
      const lists = longList(26, message({ 1: idOf('e') }), 60_000)
      return repeat(100, (time) => {
        const height = time + 2
        const events = Array.from({ length: 10 }, (_, index) => {
          const market = (10 * time + index).toString(16).padStart(64, '0')
          return { kind: 111, body: Buffer.concat([message({ 12: market }), lists]) }
        })
        return fileOf({ height, events })
      })
    },
    [],
    'blocks up to 101',
  ],
  [
    'a long stream',
    () => generateRecords({ blocks: scaled(3_000, 100_000) }),
    [],
    `blocks up to ${scaled(3_000, 100_000)}`,
  ],
]

describeOn(ANY_STORE_KIND, 'input that could fill the memory', (kind) => {
  for (const [what, chunks, error] of HOSTILE) {
    test(`${what} is reported in one line, with little memory`, async (t) => {
      const store = kind.create(t)
      const { code, errors, memoryBytes } = await ingestMeasured(t, store, fileWith(t, chunks()))
      assert.equal(code, 1)
      assert.equal(errors.length, 1, errors.join('\n'))
      assert.match(errors[0]!, error)
      assert.ok(memoryBytes < MAX_MEMORY_BYTES, `${memoryBytes} bytes of memory`)
      assertSameDump(await dumpStore(store), emptyDump(), what)
    })
  }

  for (const [what, chunks, flags, height] of LAWFUL) {
    test(`${what} is read with little memory`, async (t) => {
      const store = kind.create(t)
      const { code, errors, stdout, memoryBytes } = await ingestMeasured(
        t,
        store,
        fileWith(t, chunks()),
        flags,
      )
      assert.equal(code, 0, errors.join('\n'))
      assert.deepEqual(errors, [])
      assert.match(stdout, new RegExp(`^The store (?:contains ${height}|is empty)\\.$`, 'm'))
      assert.ok(memoryBytes < MAX_MEMORY_BYTES, `${memoryBytes} bytes of memory`)
    })
  }
})

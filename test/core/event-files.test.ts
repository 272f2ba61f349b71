import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { findEventFiles } from '#core/records/event-paths'
import { RecordFramer } from '#core/records/record-framer'
import { EventStreamError } from '#core/records/record-position'
import { assertSays } from '../fixtures/assert-says.ts'
import { fileOf, markedBlocks, readRecording } from '../fixtures/events/event-stream.ts'
import { createRandom } from '../fixtures/random.ts'
import { sampled } from '../fixtures/sampling.ts'
import { asNobody } from '../fixtures/services/nobody.ts'
import { type Outcome, runLyra, startLyra, startProgram } from '../fixtures/services/program.ts'
import { ingest, tryIngest } from '../fixtures/services/service.ts'
import { SAMPLE } from '../fixtures/shared.ts'
import { assertSameDump, dumpOf, dumpStore, emptyDump } from '../fixtures/stores/dump-store.ts'
import { ANY_STORE_KIND, describeOn, fileWith, temporaryFolder } from '../fixtures/stores/stores.ts'

/** Blocks 2 to 5 with a checkpoint each. */
const FILE = fileOf(...markedBlocks(2, 5))

/** The size of the first record of {@link FILE}. */
const RECORD_BYTES = 4 + FILE.readUInt32BE(0)

describe('records', () => {
  test('records are the same however the bytes are split', () => {
    const framed = (cuts: (at: number) => number): string[] => {
      const found: string[] = []
      const framer = new RecordFramer('test', (bytes, start, end, place) => {
        found.push(`${place.record} ${place.offset} ${bytes.toString('hex', start, end)}`)
      })
      for (let at = 0; at < FILE.length; ) {
        const end = Math.min(FILE.length, at + cuts(at))
        framer.push(Buffer.from(FILE.subarray(at, end)))
        at = end
      }
      assert.equal(framer.end(), null)
      return found
    }
    const whole = framed(() => FILE.length)
    assert.equal(whole.length, 12)
    const random = createRandom(1)
    const ways = [() => 1, () => 3, () => RECORD_BYTES, () => RECORD_BYTES + 4, () => random.integer(300)]
    for (const cuts of ways) assert.deepEqual(framed(cuts), whole)
  })

  test('sizes from 8 bytes to 64 MB are accepted, others refused', () => {
    const [least, most] = [8, 64 * 1024 * 1024]
    for (const size of [0, least - 1, least, most, most + 1, 0xffff_ffff]) {
      const head = Buffer.alloc(4)
      head.writeUInt32BE(size)
      const push = () => new RecordFramer('test', () => {}).push(head)
      const refused = { name: 'EventStreamError', message: /record 1, offset 0: .*size/ }
      if (size >= least && size <= most) push()
      else assert.throws(push, refused, `${size}`)
    }
  })

  test('breaks in the record numbering are counted', () => {
    const framer = new RecordFramer('test', () => {})
    for (const sequence of [7n, 8n, 0xffff_ffffn, 0x1_0000_0000n, 3n]) {
      const record = Buffer.alloc(12)
      record.writeUInt32BE(8)
      record.writeBigUInt64BE(sequence, 4)
      framer.push(record)
    }
    assert.equal(framer.sequenceBreaks, 2)
  })
})

describeOn(ANY_STORE_KIND, 'event files', (kind) => {
  /** The tables after ingesting all of {@link FILE}. */
  const expectedDump = (test: TestContext) => dumpOf(test, kind, FILE)

  const half = Math.floor(FILE.length / 2)
  const forms: [what: string, bytes: Buffer][] = [
    ['as it is', FILE],
    ['gzipped', gzipSync(FILE)],
    ['in two gzip members', Buffer.concat([gzipSync(FILE.subarray(0, half)), gzipSync(FILE.subarray(half))])],
  ]
  for (const [index, [what, bytes]] of forms.entries()) {
    test(`a file ${what} is recognised by its content, whatever its name`, async (t) => {
      const store = kind.create(t)
      const name = ['a.evts.gz', 'a.evts', 'a.txt'][index]!
      const report = await ingest(store, fileWith(t, bytes, name))
      assert.deepEqual(report.cutOff, [])
      assertSameDump(await dumpStore(store), await expectedDump(t), name)
    })
  }

  test('a gzip stream cut short gives its good records, and the cut is reported', async (t) => {
    const expected = await expectedDump(t)
    const gzipped = gzipSync(FILE)
    const lengths = Array.from({ length: gzipped.length - 2 }, (_, index) => index + 2)
    for (const length of sampled('change', lengths, kind)) {
      const store = kind.create(t)
      const { report, failure } = await tryIngest(store, gzipped.subarray(0, length))
      if (report.records === 0) assertSays(failure!.message, 'contains no complete event')
      else assert.equal(failure, null, `cut to ${length} bytes`)
      assert.equal(report.cutOff.length, 1, `cut to ${length} bytes`)
      await ingest(store, gzipped)
      assertSameDump(await dumpStore(store), expected, `cut to ${length} bytes, then whole`)
    }
    // The longest is missing only the checksum at its end.
    const store = kind.create(t)
    const { report } = await tryIngest(store, gzipped.subarray(0, -1))
    assert.deepEqual(report.cutOff, [{ source: report.cutOff[0]!.source, offset: FILE.length, bytes: 0 }])
    assertSameDump(await dumpStore(store), expected, 'all but the last byte')
  })

  test('anything after a gzip stream is an error that names the file, and the good data stay', async (t) => {
    const rubbish = ['rubbish', 'A', '\0'.repeat(100), 'A'.repeat(600_000)].map((text) => Buffer.from(text))
    for (const after of [...rubbish, FILE]) {
      const store = kind.create(t)
      const { failure } = await tryIngest(store, Buffer.concat([gzipSync(FILE), after]))
      assert.ok(failure instanceof EventStreamError, String(failure))
      assert.match(failure.message, /some\.evts, record 12, offset \d+: .*gzip/)
      assertSameDump(await dumpStore(store), await expectedDump(t), `${after.length} bytes`)
    }
  })

  const damages: [what: string, damage: (gzipped: Buffer) => void, message: RegExp][] = [
    [
      'noise in the middle',
      (gzipped) => {
        const random = createRandom(5)
        for (let at = gzipped.length >> 1; at < gzipped.length; at++) gzipped[at] = random.integer(256)
      },
      // Bytes inflated before the noise is detected may be no valid event either.
      /some\.evts, record \d+, offset \d+: (the gzip data is damaged|not a BusEvent|a record's size)/,
    ],
    ...[8, 4].map((fromEnd): (typeof damages)[number] => [
      `a wrong ${fromEnd === 8 ? 'check sum' : 'length'}`,
      (gzipped) => gzipped.writeUInt32LE(1, gzipped.length - fromEnd),
      /some\.evts, record \d+, offset \d+: the gzip data is damaged before byte \d+ .*check sum/,
    ]),
  ]
  for (const [what, damage, message] of damages) {
    test(`gzip data with ${what} are an error, and complete blocks before it stay`, async (t) => {
      const gzipped = gzipSync(readRecording(SAMPLE))
      damage(gzipped)
      const { failure, report } = await tryIngest(kind.create(t), gzipped)
      assert.match(failure!.message, message)
      assert.ok(report.blocks > 100)
    })
  }

  test('a file without an event is an error that changes nothing; one byte is reported as cut off', async (t) => {
    const store = kind.create(t)
    for (const [bytes, cutOff] of [
      [Buffer.alloc(0), 0],
      [gzipSync(Buffer.alloc(0)), 0],
      [Buffer.from([0]), 1],
      [Buffer.from([0x1f]), 1],
    ] as const) {
      const { report, failure } = await tryIngest(store, bytes)
      assertSays(failure!.message, 'contains no complete event')
      assert.equal(report.records, 0)
      assert.equal(report.cutOff.length, cutOff)
    }
    assertSameDump(await dumpStore(store), emptyDump(), 'after empty files')
  })

  const streams: [
    what: string,
    bytes: Buffer,
    start: (test: TestContext, store: string, bytes: Buffer) => Promise<Outcome>,
  ][] = [
    [
      'standard input, byte by byte',
      // By its first bytes alone gzip is not recognised.
      gzipSync(FILE),
      (test, store, bytes) => {
        const run = startLyra(test, `ingest --store ${store} -`, { stdio: ['pipe', 'pipe', 'pipe'] })
        void (async () => {
          for (const byte of bytes.subarray(0, 3)) {
            run.child.stdin!.write(Buffer.from([byte]))
            await new Promise((resolve) => setTimeout(resolve, 5))
          }
          run.child.stdin!.end(bytes.subarray(3))
        })()
        return run.outcome
      },
    ],
    [
      'a named pipe',
      FILE,
      async (test, store, bytes) => {
        const path = join(temporaryFolder(test), 'pipe')
        await startProgram(test, 'mkfifo', [path]).outcome
        const run = startLyra(test, `ingest --store ${store} ${path}`)
        const writer = spawn('sh', ['-c', 'cat > "$1"', 'sh', path], {
          stdio: ['pipe', 'ignore', 'ignore'],
        })
        test.after(() => writer.kill('SIGKILL'))
        writer.stdin.end(bytes)
        return run.outcome
      },
    ],
  ]
  for (const [what, bytes, start] of streams) {
    test(`${what} is ingested like a file`, async (t) => {
      const store = kind.create(t)
      const outcome = await start(t, store, bytes)
      assert.equal(outcome.code, 0, outcome.stderr)
      assertSameDump(await dumpStore(store), await expectedDump(t), what)
    })
  }
})

describe('paths of event files', () => {
  test('files of other names in a directory are skipped and named', async (t) => {
    const folder = temporaryFolder(t)
    writeFileSync(join(folder, 'a.evts'), FILE)
    for (const name of ['README.md', 'b.evts.bak', 'evts', '.a.evts.swp'])
      writeFileSync(join(folder, name), 'text')
    mkdirSync(join(folder, 'more.evts'))
    symlinkSync('nowhere', join(folder, 'gone.evts'))
    await startProgram(t, 'mkfifo', [join(folder, 'pipe.evts')]).outcome
    const { files, foreign } = findEventFiles([folder])
    assert.deepEqual(
      files.map(({ path }) => path),
      [join(folder, 'a.evts')],
    )
    assert.deepEqual(
      foreign.sort(),
      ['.a.evts.swp', 'README.md', 'b.evts.bak', 'evts', 'gone.evts', 'more.evts', 'pipe.evts']
        .map((name) => join(folder, name))
        .sort(),
    )
  })

  test('that cannot be read, or have no event file, are errors that say so', (t) => {
    const folder = temporaryFolder(t)
    const inFolder = (path: string) => join(folder, path)
    for (const name of ['empty', 'others']) mkdirSync(inFolder(name))
    for (const name of ['a', 'others/x.txt']) writeFileSync(inFolder(name), '')
    symlinkSync('loop', inFolder('loop'))
    for (const [path, message] of [
      ['gone.evts', /gone\.evts: no such file or directory$/],
      ['a/b', /a\/b: no such file/],
      ['empty', /empty: contains no event file/],
      ['others', /others: contains no event file/],
      ['loop', /symbolic link loop/],
      ['x'.repeat(300), /x{300}: /],
    ] as const)
      assert.throws(() => findEventFiles([inFolder(path)]), { name: 'EventPathError', message })
  })

  test('a file or directory that may not be read is reported in one line', async (t) => {
    const folder = temporaryFolder(t)
    const nobody = asNobody(t, folder)
    if (nobody === null) return
    writeFileSync(join(folder, 'closed.evts'), FILE, { mode: 0 })
    mkdirSync(join(folder, 'closed'), { mode: 0 })
    for (const name of ['closed.evts', 'closed']) {
      const command = `ingest --log-level error --store a.db ${name}`
      const { code, stderr } = await runLyra(t, command, { cwd: folder, ...nobody })
      assert.deepEqual([code, stderr], [1, `lyra: ${name}: no permission to read it\n`])
    }
  })

  test('a pipe that nobody writes to can be interrupted', async (t) => {
    const folder = temporaryFolder(t)
    await startProgram(t, 'mkfifo', [join(folder, 'pipe')]).outcome
    for (const command of ['ingest', 'serve']) {
      const port = command === 'serve' ? ['--port', '0'] : []
      const run = startLyra(t, [command, ...port, '--store', 'a.db', '--log-level', 'debug', 'pipe'], {
        cwd: folder,
      })
      await run.printed('pipe: reading')
      run.child.kill('SIGINT')
      const { code } = await run.outcome
      assert.equal(code, command === 'ingest' ? 130 : 0)
    }
  })
})

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { GapError } from '#core/blocks/block'
import { EVENT_KIND } from '#core/events/bus-event'
import { ingestFiles } from '#core/ingest/ingest-files'
import type { Writer } from '#core/store/store'
import { assertSameDump, dumpStore, emptyDump, type StoreDump } from './fixtures/dump-store.ts'
import {
  checkpoint,
  dataPoint,
  fileOf,
  joinRecords,
  type MadeBlock,
  marketData,
  provision,
  readRecording,
  recordsOf,
  type StreamRecord,
  timeUpdate,
} from './fixtures/event-stream.ts'
import { dumpOf, ingestBytes, ingestWell, storeOfBytes } from './fixtures/ingest-bytes.ts'
import { runLyra, runWell } from './fixtures/program.ts'
import { createRandom } from './fixtures/random.ts'
import { runsOf, scaled, seedsOf } from './fixtures/sampling.ts'
import { inScope } from './fixtures/scope.ts'
import { ingestWhole, SILENT } from './fixtures/service.ts'
import { recorded, recordingPath, skip } from './fixtures/shared.ts'
import { openStore, STORE_KINDS, type StoreKind, temporaryFolder } from './fixtures/stores.ts'

for (const kind of STORE_KINDS) {
  describe(`repeated and partial ingestion (${kind.name})`, () => {
    for (const name of ['perps-calm', 'smoke']) {
      test(`ingesting ${name} twice changes nothing`, async (t) => {
        const path = recordingPath(`${name}.evts.gz`)
        if (path === null) return skip(t, `${name} is missing`)
        const store = kind.create(t)
        const { report: first } = await ingestWhole(store, path)
        const before = await dumpStore(store)
        const { report: second } = await ingestWhole(store, path)
        assertSameDump(await dumpStore(store), before, name)
        assert.equal(second.blocks, 0)
        assert.equal(second.height, first.height)
        assert.ok(second.heldBlocks >= first.blocks)
      })
    }

    test('a file cut at any byte is completed by the whole file', async (t) => {
      const bytes = readRecording(recorded('perps-long'))
      const expected = await dumpOf(t, kind, bytes)
      const random = createRandom(7)
      for (let run = 0; run < runsOf('store', kind); run++) {
        const cut = random.integer(bytes.length)
        await inScope(async (scope) => {
          const store = await storeOfBytes(scope, kind, bytes.subarray(0, cut))
          await ingestWell(scope, store, bytes)
          assertSameDump(await dumpStore(store), expected, `cut at byte ${cut}`)
        })
      }
    })
  })

  describe(`gaps (${kind.name})`, () => {
    const blocks = (...heights: number[]): MadeBlock[] =>
      heights.map((height) => ({ height, events: [checkpoint({ atBlock: height })] }))

    /** Incomplete streams, and the reported gap. */
    const lacking: [what: string, stream: MadeBlock[], missing: RegExp, committed: string][] = [
      ['a height', blocks(2, 4), /expected block 3, found block 4: height 3 missing/, '2'],
      ['several heights', blocks(2, 9), /heights 3 to 8 missing/, '2'],
      [
        'the end of a block',
        [...blocks(2), { height: 3, ends: false }, ...blocks(4)],
        /height 3 missing or incomplete/,
        '2',
      ],
      [
        'an event',
        [...blocks(2), { height: 3, events: [checkpoint(), timeUpdate()], without: [2] }],
        /event 2 of block 3 missing/,
        '2',
      ],
      [
        'several events',
        [...blocks(2), { height: 3, events: [checkpoint(), timeUpdate(), timeUpdate()], without: [2, 3] }],
        /events 2 to 3 of block 3 missing/,
        '2',
      ],
      [
        'the last event of a block',
        [...blocks(2), { height: 3, events: [checkpoint()], without: [2] }],
        /event 2 of block 3 missing/,
        '2',
      ],
      [
        'the end of genesis',
        [{ height: 1, hash: 'genesis', ends: false }, ...blocks(1, 2)],
        /the end of a part of block 1, genesis or the block itself, missing/,
        'none',
      ],
    ]
    for (const [what, stream, missing, committed] of lacking) {
      test(`without ${what} ingestion stops before the block that reveals the gap`, async (t) => {
        const store = kind.create(t)
        const { report, failure } = await ingestBytes(t, store, fileOf(...stream))
        assert.ok(failure instanceof GapError, String(failure))
        assert.match(failure.message, /some\.evts, record \d+, offset \d+: /)
        assert.match(failure.message, missing)
        assert.match(failure.message, /--allow-gap/)
        assert.equal(report.height ?? 'none', committed)
        assert.deepEqual(report.gaps, [])
      })
    }

    test('the command line stops at a gap with exit status 3, and one line', async (t) => {
      const folder = temporaryFolder(t)
      const path = join(folder, 'gap.evts')
      writeFileSync(path, fileOf(...blocks(2, 4)))
      const store = kind.create(t)
      const args = ['ingest', '--log-level', 'error', '--store', store, path]
      const stopped = await runLyra(t, args)
      assert.equal(stopped.code, 3)
      assert.match(
        stopped.stderr,
        /^lyra: .*gap\.evts, record 4, offset \d+: expected block 3, found block 4: .*\n$/,
      )
      const allowed = await runWell(t, [...args, '--allow-gap'])
      assert.match(allowed.stdout, /gap: height 3 missing/)
    })

    test('a recording with random gaps, filled later, equals the recording', async (t) => {
      const bytes = readRecording(recorded('perps-calm'))
      const records = recordsOf(bytes)
      const expected = await dumpOf(t, kind, bytes)
      for (const seed of seedsOf('service')) {
        await inScope((scope) => fillHoles(scope, kind, records, expected, seed))
      }
    })

    test('a stream full of gaps is ingested without slowing down', async (t) => {
      const heights = Array.from({ length: scaled(2_500, 100_000) }, (_, index) => 2 + 2 * index)
      const store = kind.create(t)
      const file = fileOf(...heights.map((height) => ({ height })))
      const report = await ingestWell(t, store, file, { allowGap: true })
      assert.equal(report.gaps.length, heights.length - 1)
      assert.equal((await dumpStore(store)).gaps!.length, heights.length - 1)
    })

    test('a failed commit leaves nothing of its batch, and the next one is complete', async (t) => {
      // On a cluster rows are committed before what fails here (store/postgres/cluster.ts).
      if (kind.name === 'citus') return t.skip('rows on a cluster are committed before the position')
      const stream = fileOf({ height: 2, events: [dataPoint(), marketData(), provision(), checkpoint()] })
      const expected = await dumpOf(t, kind, stream)
      const store = kind.create(t)
      const writer = await openStore(store).openWriter()
      t.after(() => writer.close())
      const failing: Writer = {
        coverage: () => writer.coverage(),
        makeSeries: (which) => writer.makeSeries(which),
        close: () => writer.close(),
        // The last write is not allowed: everything before it is rolled back.
        commit: (batch, coverage) =>
          writer.commit(batch, { ...coverage, gaps: [{ from: 1n, to: 1n, kind: 'no kind' as 'missing' }] }),
      }
      const input = { files: [{ path: join(temporaryFolder(t), 'some.evts'), bytes: null }], foreign: [] }
      writeFileSync(input.files[0]!.path, stream)
      const options = { input, log: SILENT, allowGap: false, strict: false }
      const { failure } = await ingestFiles({ ...options, writer: failing })
      assert.ok(failure instanceof Error)
      assertSameDump(await dumpStore(store), emptyDump(), 'after a failed commit')
      assert.equal((await ingestFiles({ ...options, writer })).failure, null)
      assertSameDump(await dumpStore(store), expected, 'after a successful one')
    })
  })
}

/** Omits random blocks and events, ingests the rest, then the missing blocks in pieces and any order. */
async function fillHoles(
  scope: TestContext,
  kind: StoreKind,
  records: readonly StreamRecord[],
  expected: StoreDump,
  seed: number,
): Promise<void> {
  const random = createRandom(seed)
  const heights = [...new Set(records.map(({ height }) => height))].sort((a, b) => a - b)
  // The first and the last block define coverage and position: neither can be a gap.
  const inner = heights.slice(1, -1)
  const missing = new Set<number>()
  for (let range = 0; range < 1 + random.integer(6); range++) {
    const start = random.integer(inner.length)
    for (const height of inner.slice(start, start + 1 + random.integer(inner.length / 8))) missing.add(height)
  }
  const holed = new Set<number>()
  for (let hole = 0; hole < 1 + random.integer(8); hole++) holed.add(random.pick(inner))
  const rest = records.filter(({ height, kind: eventKind }) => {
    if (missing.has(height)) return false
    const isFrame = eventKind === EVENT_KIND.beginBlock || eventKind === EVENT_KIND.endBlock
    return isFrame || !holed.has(height) || random.integer(3) > 0
  })
  const store = kind.create(scope)
  await ingestWell(scope, store, joinRecords(rest), { allowGap: true })
  const pieces = random.shuffle([...new Set([...missing, ...holed])])
  while (pieces.length > 0) {
    const piece = new Set(pieces.splice(0, 1 + random.integer(pieces.length)))
    // A whole piece of the stream, or only its missing blocks.
    const low = Math.min(...piece)
    const high = Math.max(...piece)
    const whole = random.integer(2) === 0
    const file = records.filter(({ height }) =>
      whole ? low <= height && height <= high + 1 : piece.has(height),
    )
    await ingestWell(scope, store, joinRecords(file), { allowGap: random.integer(2) === 0 })
  }
  const filled = await dumpStore(store)
  assert.deepEqual(filled.gaps, [], `seed ${seed}`)
  assertSameDump(filled, expected, `seed ${seed}`)
}

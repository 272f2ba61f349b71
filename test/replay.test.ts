import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { GapError } from '#core/blocks/block'
import { ingestFiles } from '#core/ingest/ingest-files'
import type { Writer } from '#core/store/store'
import { assertSameDump, dumpStore, emptyDump } from './fixtures/dump-store.ts'
import {
  checkpoint,
  dataPoint,
  fileOf,
  type MadeBlock,
  marketData,
  provision,
  timeUpdate,
} from './fixtures/event-stream.ts'
import { dumpOf, ingestBytes } from './fixtures/ingest-bytes.ts'
import { runLyra, runWell } from './fixtures/program.ts'
import { SILENT } from './fixtures/service.ts'
import { ANY_STORE_KIND, fileWith, openStore, STORE_KINDS, temporaryFolder } from './fixtures/stores.ts'

for (const kind of STORE_KINDS) {
  describe(`repeated and partial ingestion (${kind.name})`, () => {
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

const blocks = (...heights: number[]): MadeBlock[] =>
  heights.map((height) => ({ height, events: [checkpoint({ atBlock: height })] }))

/** Incomplete streams, and the reported gap. */
const lacking: [what: string, stream: MadeBlock[], missing: RegExp, committed: string][] = [
  ['a block', blocks(2, 4), /expected block 3, found block 4: block 3 missing/, '2'],
  ['several blocks', blocks(2, 9), /blocks 3 to 8 missing/, '2'],
  [
    'the end of a block',
    [...blocks(2), { height: 3, ends: false }, ...blocks(4)],
    /block 3 missing or incomplete/,
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
for (const kind of ANY_STORE_KIND) {
  test(`incomplete input ends before the block that reveals a gap (${kind.name})`, async (t) => {
    for (const [what, stream, missing, committed] of lacking) {
      const { report, failure } = await ingestBytes(t, kind.create(t), fileOf(...stream))
      assert.ok(failure instanceof GapError, what)
      assert.match(failure.message, /some\.evts, record \d+, offset \d+: /)
      assert.match(failure.message, missing)
      assert.match(failure.message, /--allow-gap/)
      assert.deepEqual([report.height ?? 'none', report.gaps], [committed, []], what)
    }
  })
}

test('the command line stops at a gap with exit status 3, and one line', async (t) => {
  const path = fileWith(t, fileOf(...blocks(2, 4)), 'gap.evts')
  const args = ['ingest', '--log-level', 'error', '--store', STORE_KINDS[0]!.create(t), path]
  const message = /^lyra: .*gap\.evts, record 4, offset \d+: expected block 3, found block 4: .*\n$/
  const { code, stderr } = await runLyra(t, args)
  assert.equal(code, 3)
  assert.match(stderr, message)
  assert.match((await runWell(t, [...args, '--allow-gap'])).stdout, /gap: block 3 missing/)
})

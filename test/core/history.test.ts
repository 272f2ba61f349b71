import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { GapError, MissingHistoryError } from '#core/blocks/block'
import { ingestFiles } from '#core/ingest/ingest-files'
import { orderEventFiles } from '#core/records/event-order'
import { findEventFiles } from '#core/records/event-paths'
import { StoreError } from '#core/store/errors'
import type { Writer } from '#core/store/store'
import { assertSays } from '../fixtures/assert-says.ts'
import {
  auction,
  type Content,
  checkpoint,
  dataPoint,
  eventsOf,
  fileOf,
  frame,
  joinRecords,
  type MadeBlock,
  marked,
  markedBlocks,
  marketData,
  provision,
  readRecording,
  recordsOf,
  timeUpdate,
} from '../fixtures/events/event-stream.ts'
import { metricsOf, statusOf } from '../fixtures/requests/http.ts'
import { runLyra, runWell } from '../fixtures/services/program.ts'
import { ingest, SILENT, serve, storeOf, storeOfBytes, tryIngest } from '../fixtures/services/service.ts'
import { SAMPLE } from '../fixtures/shared.ts'
import { assertSameDump, dumpOf, dumpStore, emptyDump } from '../fixtures/stores/dump-store.ts'
import {
  ANY_STORE_KIND,
  describeOn,
  fileWith,
  heightIn,
  openStore,
  SQLITE,
  STORE_KINDS,
  temporaryFolder,
} from '../fixtures/stores/stores.ts'

const block = (height: number, ...events: Content[]): MadeBlock => ({ height, events })
/** Pieces of the sample, split within the blocks of these heights. */
function piecesOf(heights: readonly number[]): Buffer[] {
  const records = recordsOf(readRecording(SAMPLE))
  const cuts = heights.map((wanted) => records.findIndex(({ height }) => height === wanted) + 3)
  const edges = [0, ...cuts, records.length]
  return edges.slice(1).map((end, index) => joinRecords(records.slice(edges[index], end)))
}

describeOn(STORE_KINDS, 'blocks below the first height', (kind) => {
  test('leave a gap up to the old first height, which is named with exit 3 until it is filled', async (t) => {
    const store = await storeOfBytes(t, kind, fileOf(...markedBlocks(20, 24)))
    const low = fileWith(t, fileOf(...markedBlocks(2, 4), ...markedBlocks(8, 9)))
    const added = await runLyra(t, `ingest --store ${store} ${low}`)
    assert.equal(added.code, 3)
    assertSays(added.stderr, 'still missing below block 20...blocks 5 to 7, blocks 10 to 19...--allow-gap')
    // While history is added, current data are served.
    assert.equal(await statusOf(await serve(t, store), '/ready'), 200)
    // An input without lower blocks does not fail for this gap.
    const { gaps } = await ingest(store, fileOf(...markedBlocks(24, 26)))
    assert.deepEqual(gaps, [
      { from: '5', to: '7', kind: 'missing', start: '4000000000', end: '8000000000' },
      { from: '10', to: '19', kind: 'missing', start: '9000000000', end: '20000000000' },
    ])
    await ingest(store, fileOf(...markedBlocks(5, 21)))
    assertSameDump(await dumpStore(store), await dumpOf(t, kind, fileOf(...markedBlocks(2, 26))), 'filled')
  })

  test('may be missing, with exit 0, if gaps are allowed; metrics count only gaps above the first height', async (t) => {
    const store = kind.create(t)
    await ingest(store, fileOf(...markedBlocks(20, 21), marked(24)), { allowGap: true })
    const { gaps } = await ingest(store, fileOf(...markedBlocks(2, 3)), { allowGap: true })
    assert.deepEqual(gaps, [
      { from: '4', to: '19', kind: 'missing', start: '3000000000', end: '20000000000' },
      { from: '22', to: '23', kind: 'missing', start: '21000000000', end: '24000000000' },
    ])
    assert.match(await metricsOf(await serve(t, store)), /^lyra_missing_blocks 2$/m)
    await ingest(store, fileOf(...markedBlocks(2, 3)))
    const more = await tryIngest(store, fileOf(marked(4)))
    assert.ok(more.failure instanceof MissingHistoryError)
  })
})

describeOn(STORE_KINDS, 'block 1 in two parts', (kind) => {
  const genesis: MadeBlock = { height: 1, hash: 'genesis', events: [auction(), checkpoint({ hash: 'aa' })] }
  const one = block(1, auction(), checkpoint({ hash: 'bb' }))
  const rest = markedBlocks(2, 4)

  test('is reported if each call contains only one part', async (t) => {
    const store = await storeOfBytes(t, kind, fileOf(genesis, ...rest))
    const before = await dumpStore(store)
    const { failure } = await tryIngest(store, fileOf(one))
    assert.ok(failure instanceof GapError)
    assertSays(failure.message, 'both parts in one call')
    await ingest(store, fileOf(one), { allowGap: true })
    assertSameDump(await dumpStore(store), before, 'unchanged')
  })

  test('is completed by a call with both parts, whichever the store has', async (t) => {
    const whole = await dumpOf(t, kind, fileOf(genesis, one, ...rest))
    for (const [what, part] of [
      ['genesis', genesis],
      ['the block itself', one],
    ] as const) {
      const store = await storeOfBytes(t, kind, fileOf(part, ...rest))
      await ingest(store, fileOf(genesis, one, ...rest))
      assertSameDump(await dumpStore(store), whole, what)
    }
  })
})

describeOn(STORE_KINDS, 'files of one call', (kind) => {
  test('are one stream, whatever their names, like an archive and the buffer of a live core', async (t) => {
    const folder = temporaryFolder(t)
    // A block split between two files is complete, also in gzipped files.
    const pieces = piecesOf([300, 804])
    writeFileSync(
      join(folder, 'datanode-buffer-2023-10-05-10-00-00-1-seqnumspan-1-2000.bevt.gz'),
      gzipSync(pieces[0]!),
    )
    writeFileSync(join(folder, 'datanode-buffer-2023-10-05-11-00-00-2-seqnumspan-2001-7000.bevt'), pieces[1]!)
    writeFileSync(join(folder, 'datanode-buffer-1-10000000.bevt'), pieces[2]!)
    const store = kind.create(t)
    const report = await ingest(store, folder)
    assert.deepEqual([report.blocks, report.gaps], [905, []])
    assertSameDump(
      await dumpStore(store),
      await dumpStore(await storeOf(t, kind, SAMPLE)),
      'archive and buffer',
    )
  })

  test('that split a block between calls leave it pending, and report that', async (t) => {
    const [first, second] = piecesOf([400])
    const store = kind.create(t)
    const report = await ingest(store, first!)
    assert.deepEqual([report.height, report.pendingHeight], ['399', '400'])
    const { failure } = await tryIngest(store, second!)
    assert.ok(failure instanceof GapError)
    assertSays(failure.message, 'block 400 missing')
    const whole = await storeOf(t, kind, SAMPLE)
    assert.equal((await ingest(whole, first!)).pendingHeight, null, 'the store has it')
    const other = await storeOfBytes(t, kind, second!)
    const below = await tryIngest(other, first!)
    assert.ok(below.failure instanceof MissingHistoryError)
    assertSays(below.failure.message, 'block 400')
  })
})

describe('the order of event files', () => {
  test('is by first event, then by sequence number, then by path; unreadable files are last', async (t) => {
    const folder = temporaryFolder(t)
    const write = (name: string, bytes: Buffer) => writeFileSync(join(folder, name), bytes)
    const events = eventsOf([marked(7)])
    write('a.evts', fileOf(marked(10)))
    write('b.evts', frame(events.slice(1), 90n))
    write('c.evts', frame(events, 70n))
    write('d.evts', frame(events, 60n))
    write('e.evts.gz', gzipSync(frame(events, 60n)))
    write('f.evts', Buffer.from('no event file at all'))
    write('g.evts', Buffer.alloc(0))
    write('h.evts', fileOf(marked(9)))
    copyFileSync(SAMPLE, join(folder, 'i.evts'))
    const ordered = await orderEventFiles(findEventFiles([folder]).files)
    const names = ordered.map(({ path }) => path.slice(folder.length + 1, folder.length + 2)).join('')
    assert.equal(names, 'idecbhafg')
  })

  test('keeps standard input in its place', async (t) => {
    const folder = temporaryFolder(t)
    const paths = [9, 5, 8, 3].map((height) => {
      const path = join(folder, `${height}.evts`)
      writeFileSync(path, fileOf(marked(height)))
      return path
    })
    const input = findEventFiles([paths[0]!, paths[1]!, '-', paths[2]!, paths[3]!])
    const ordered = await orderEventFiles(input.files)
    assert.deepEqual(
      ordered.map(({ path }) => path),
      [paths[1], paths[0], '-', paths[3], paths[2]],
    )
  })
})

for (const kind of STORE_KINDS) {
  test(`a failed commit leaves nothing of its batch, and the next one is complete (${kind.name})`, async (t) => {
    // On a cluster rows are committed before what fails here (store/postgres/cluster/cluster.ts).
    if (kind.name === 'citus') return t.skip('rows on a cluster are committed before the position')
    const stream = fileOf({ height: 2, events: [dataPoint(), marketData(), provision(), checkpoint()] })
    const expected = await dumpOf(t, kind, stream)
    const store = kind.create(t)
    const writer = await openStore(store).openWriter()
    t.after(() => writer.close())
    const failing: Writer = {
      coverage: () => writer.coverage(),
      buildSeries: (which) => writer.buildSeries(which),
      close: () => writer.close(),
      // The last write is not allowed: everything before it is rolled back.
      commit: (batch, coverage) =>
        writer.commit(batch, {
          ...coverage,
          gaps: [{ from: 1n, to: 1n, kind: 'no kind' as 'missing', start: null, end: null }],
        }),
    }
    const input = findEventFiles([fileWith(t, stream)])
    const options = { input, logger: SILENT, allowGap: false, strict: false }
    const { failure } = await ingestFiles({ ...options, writer: failing })
    assert.ok(failure instanceof Error)
    assertSameDump(await dumpStore(store), emptyDump(), 'after a failed commit')
    assert.equal((await ingestFiles({ ...options, writer })).failure, null)
    assertSameDump(await dumpStore(store), expected, 'after a successful one')
  })
}

test('a second writer of a SQLite store that cannot be locked commits nothing', async (t) => {
  if (SQLITE === undefined) return
  const store = SQLITE.create(t)
  mkdirSync(`${store}-lock`)
  const [first, second] = [await openStore(store).openWriter(), await openStore(store).openWriter()]
  t.after(() => Promise.all([first.close(), second.close()]))
  const ingest = (height: number, writer: Writer) =>
    ingestFiles({
      input: findEventFiles([fileWith(t, fileOf({ height, events: [checkpoint()] }))]),
      writer,
      logger: SILENT,
      allowGap: false,
      strict: false,
    })
  const overtaken: Writer = {
    commit: (batch, held) => second.commit(batch, held),
    buildSeries: (which, signal) => second.buildSeries(which, signal),
    close: () => second.close(),
    coverage: async () => {
      const coverage = await second.coverage()
      assert.equal((await ingest(2, first)).failure, null)
      return coverage
    },
  }
  const { failure } = await ingest(3, overtaken)
  assert.ok(failure instanceof StoreError)
  assertSays(failure.message, 'another program writes to this store; stop it, or let it finish first')
  assert.equal(await heightIn(store), 2)
})

/** Incomplete streams, and the reported gap. */
const incomplete: [what: string, stream: MadeBlock[], missing: RegExp, committed: string][] = [
  ['a block', [marked(2), marked(4)], /expected block 3, found block 4: block 3 missing/, '2'],
  ['several blocks', [marked(2), marked(9)], /blocks 3 to 8 missing/, '2'],
  [
    'the end of a block',
    [marked(2), { height: 3, ends: false }, marked(4)],
    /block 3 missing or incomplete/,
    '2',
  ],
  [
    'an event',
    [marked(2), { height: 3, events: [checkpoint(), timeUpdate()], without: [2] }],
    /event 2 of block 3 missing/,
    '2',
  ],
  [
    'several events',
    [marked(2), { height: 3, events: [checkpoint(), timeUpdate(), timeUpdate()], without: [2, 3] }],
    /events 2 to 3 of block 3 missing/,
    '2',
  ],
  [
    'the last event of a block',
    [marked(2), { height: 3, events: [checkpoint()], without: [2] }],
    /event 2 of block 3 missing/,
    '2',
  ],
  [
    'the end of genesis',
    [{ height: 1, hash: 'genesis', ends: false }, marked(1), marked(2)],
    /the end of a part of block 1, genesis or the block itself, missing/,
    'none',
  ],
]
for (const kind of ANY_STORE_KIND) {
  test(`incomplete input ends before the block that reveals a gap (${kind.name})`, async (t) => {
    for (const [what, stream, missing, committed] of incomplete) {
      const { report, failure } = await tryIngest(kind.create(t), fileOf(...stream))
      assert.ok(failure instanceof GapError, what)
      assert.match(failure.message, /some\.evts, record \d+, offset \d+: /)
      assert.match(failure.message, missing)
      assertSays(failure.message, '--allow-gap')
      assert.deepEqual([report.height ?? 'none', report.gaps], [committed, []], what)
    }
  })
}

test('the command line stops at a gap with exit status 3, and one line', async (t) => {
  const path = fileWith(t, fileOf(marked(2), marked(4)), 'gap.evts')
  const args = ['ingest', '--log-level', 'error', '--store', STORE_KINDS[0]!.create(t), path]
  const message = /^lyra: .*gap\.evts, record 4, offset \d+: expected block 3, found block 4: .*\n$/
  const { code, stderr } = await runLyra(t, args)
  assert.equal(code, 3)
  assert.match(stderr, message)
  assertSays((await runWell(t, [...args, '--allow-gap'])).stdout, 'gap: block 3 missing')
})

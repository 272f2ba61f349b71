import assert from 'node:assert/strict'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { GapError, MissingHistoryError } from '#core/blocks/block'
import type { Coverage } from '#core/domain/coverage'
import { orderEventFiles } from '#core/records/event-order'
import { findEventFiles } from '#core/records/event-paths'
import { readCoverage } from '#core/store/readings/coverage'
import { assertSameDump, dumpStore, type StoreDump } from './fixtures/dump-store.ts'
import {
  auction,
  type Content,
  checkpoint,
  eventsOf,
  fileOf,
  frame,
  joinRecords,
  type MadeBlock,
  readRecording,
  recordsOf,
} from './fixtures/event-stream.ts'
import { metricsOf, statusOf } from './fixtures/http.ts'
import { ingestBytes, ingestWell, storeOfBytes } from './fixtures/ingest-bytes.ts'
import { runLyra } from './fixtures/program.ts'
import { ingestWhole, serve, storeOf } from './fixtures/service.ts'
import { SAMPLE } from './fixtures/shared.ts'
import { readFrom, STORE_KINDS, type StoreKind, temporaryFolder } from './fixtures/stores.ts'

const block = (height: number, ...events: Content[]): MadeBlock => ({ height, events })
const marked = (height: number): MadeBlock => block(height, checkpoint({ atBlock: height }))
const blocks = (from: number, to: number): MadeBlock[] =>
  Array.from({ length: to - from + 1 }, (_, index) => marked(from + index))

/** Pieces of a recording, split before the records of these numbers. */
function piecesOf(path: string, cuts: readonly number[]): Buffer[] {
  const records = recordsOf(readRecording(path))
  const edges = [0, ...cuts, records.length]
  return edges.slice(1).map((end, index) => joinRecords(records.slice(edges[index], end)))
}

/** The numbers of the records with which blocks of these heights begin. */
function beginsOf(path: string, heights: readonly number[]): number[] {
  const records = recordsOf(readRecording(path))
  return heights.map((wanted) => records.findIndex(({ height }) => height === wanted))
}

/** The coverage of a store. */
async function coverageOf(store: string): Promise<Coverage> {
  return (await readFrom(store, readCoverage))!
}

async function wholeDump(scope: TestContext, kind: StoreKind, ...paths: string[]): Promise<StoreDump> {
  const store = await storeOf(scope, kind, paths)
  return dumpStore(store)
}

for (const kind of STORE_KINDS) {
  describe(`blocks below the first height (${kind.name})`, () => {
    test('leave a gap up to the old first height, which is named with exit 3 until it is filled', async (t) => {
      const folder = temporaryFolder(t)
      const [low, middle, high] = ['low', 'middle', 'high'].map((name) => join(folder, `${name}.evts`))
      writeFileSync(high!, fileOf(...blocks(20, 24)))
      writeFileSync(low!, fileOf(...blocks(2, 4), ...blocks(8, 9)))
      writeFileSync(middle!, fileOf(...blocks(5, 21)))
      const store = kind.create(t)
      const run = (...args: string[]) => runLyra(t, ['ingest', '--store', store, ...args])
      assert.equal((await run(high!)).code, 0)
      const added = await run(low!)
      assert.equal(added.code, 3)
      assert.match(added.stderr, /still missing below block 20.*blocks 5 to 7, blocks 10 to 19.*--allow-gap/)
      const { first, gaps } = await coverageOf(store)
      assert.equal(first, 2n)
      assert.deepEqual(
        gaps.map(({ from, to, kind: what }) => [from, to, what]),
        [
          [5n, 7n, 'missing'],
          [10n, 19n, 'missing'],
        ],
      )
      // While history is added, current data are served.
      const base = await serve(t, store)
      assert.equal(await statusOf(base, '/ready'), 200)
      // An input without lower blocks does not fail for this gap.
      writeFileSync(high!, fileOf(...blocks(24, 26)))
      assert.equal((await run(high!)).code, 0)
      assert.equal((await run(middle!)).code, 0)
      const whole = join(folder, 'whole.evts')
      writeFileSync(whole, fileOf(...blocks(2, 26)))
      assertSameDump(await dumpStore(store), await wholeDump(t, kind, whole), 'filled')
    })

    test('may be missing, with exit 0, if gaps are allowed', async (t) => {
      const store = await storeOfBytes(t, kind, fileOf(...blocks(20, 22)))
      const { failure, report } = await ingestBytes(t, store, fileOf(...blocks(2, 3)), { allowGap: true })
      assert.equal(failure, null)
      assert.deepEqual(report.gaps, [{ from: '4', to: '19', kind: 'missing' }])
      const again = await ingestBytes(t, store, fileOf(...blocks(2, 3)))
      assert.equal(again.failure, null, 'nothing new from below')
      const more = await ingestBytes(t, store, fileOf(marked(4)))
      assert.ok(more.failure instanceof MissingHistoryError)
    })

    test('a gap above the height at which the store began counts as missing, one below does not', async (t) => {
      const store = kind.create(t)
      await ingestBytes(t, store, fileOf(...blocks(20, 21), marked(24)), { allowGap: true })
      await ingestBytes(t, store, fileOf(marked(3)), { allowGap: true })
      const base = await serve(t, store)
      assert.match(await metricsOf(base), /^lyra_missing_blocks 2$/m)
    })
  })

  describe(`block 1 in two parts (${kind.name})`, () => {
    const genesis: MadeBlock = { height: 1, hash: 'genesis', events: [auction(), checkpoint({ hash: 'aa' })] }
    const one = block(1, auction(), checkpoint({ hash: 'bb' }))
    const rest = blocks(2, 4)

    test('is reported if each call contains only one part', async (t) => {
      for (const [first, second] of [
        [genesis, one],
        [one, genesis],
      ] as const) {
        const store = await storeOfBytes(t, kind, fileOf(first, ...rest))
        const before = await dumpStore(store)
        const { failure } = await ingestBytes(t, store, fileOf(second))
        assert.ok(failure instanceof GapError)
        assert.match(failure.message, /both parts in one call/)
        assertSameDump(await dumpStore(store), before, 'unchanged')
        const allowed = await ingestBytes(t, store, fileOf(second), { allowGap: true })
        assert.equal(allowed.failure, null)
        assertSameDump(await dumpStore(store), before, 'still unchanged')
      }
    })
  })

  describe(`files of one call (${kind.name})`, () => {
    test('are one stream, whatever their names, like an archive and the buffer of a live core', async (t) => {
      const folder = temporaryFolder(t)
      const cuts = beginsOf(SAMPLE, [300, 804])
      // A block split between two files is complete, also in gzipped files.
      const pieces = piecesOf(
        SAMPLE,
        cuts.map((cut) => cut + 3),
      )
      writeFileSync(
        join(folder, 'datanode-buffer-2023-10-05-10-00-00-1-seqnumspan-1-2000.bevt.gz'),
        gzipSync(pieces[0]!),
      )
      writeFileSync(
        join(folder, 'datanode-buffer-2023-10-05-11-00-00-2-seqnumspan-2001-7000.bevt'),
        pieces[1]!,
      )
      writeFileSync(join(folder, 'datanode-buffer-1-10000000.bevt'), pieces[2]!)
      const store = kind.create(t)
      const { report } = await ingestWhole(store, folder)
      assert.deepEqual([report.blocks, report.gaps], [905, []])
      assertSameDump(await dumpStore(store), await wholeDump(t, kind, SAMPLE), 'archive and buffer')
    })

    test('that split a block between calls leave it pending, and report that', async (t) => {
      const [first, second] = piecesOf(SAMPLE, [beginsOf(SAMPLE, [400])[0]! + 3])
      const store = kind.create(t)
      const report = await ingestWell(t, store, first!)
      assert.equal(report.pendingHeight, '400')
      const { failure } = await ingestBytes(t, store, second!)
      assert.ok(failure instanceof GapError)
      assert.match(failure.message, /block 400 missing/)
      const other = await storeOfBytes(t, kind, second!)
      const below = await ingestBytes(t, other, first!)
      assert.ok(below.failure instanceof MissingHistoryError)
      assert.match(below.failure.message, /block 400/)
    })
  })
}

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

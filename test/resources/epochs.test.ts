import assert from 'node:assert/strict'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { epochs } from '#core/resources/epochs/description'
import { epoch, fileOf, type MadeBlock, readRecording, recordsOf } from '../fixtures/events/event-stream.ts'
import { fieldsOf, numberIn } from '../fixtures/events/wire-fields.ts'
import { importWhole } from '../fixtures/imports/import.ts'
import { loadReferenceTables, runSql } from '../fixtures/imports/reference-database.ts'
import { EPOCHS, segmentWithEpochs } from '../fixtures/imports/segment-with-epochs.ts'
import { segmentPaths, writeSegment } from '../fixtures/imports/segments.ts'
import { restoreOldStore } from '../fixtures/old-stores/old-store.ts'
import { getPage, ndjsonRows } from '../fixtures/requests/http.ts'
import { runWell } from '../fixtures/services/program.ts'
import { ingest, serve, storeOf } from '../fixtures/services/service.ts'
import { MONTH, recordingPath, referencePath, skip } from '../fixtures/shared.ts'
import { checkWithFiles } from '../fixtures/stores/check.ts'
import { assertSameDump, dumpStore } from '../fixtures/stores/dump-store.ts'
import { StreamFollower } from '../fixtures/stores/follow-store.ts'
import { serverOfFile } from '../fixtures/stores/postgres-server.ts'
import {
  ANY_STORE_KIND,
  describeOn,
  fileWith,
  STORE_KINDS,
  temporaryFolder,
} from '../fixtures/stores/stores.ts'

type Node = { epoch: string; start?: string; expiry?: string; end?: string; endBlock?: string }

/** Go's zero time in Unix nanoseconds. */
const GO_ZERO = -6_795_364_578_871_345_152n

const START = 1
const END = 2

/** All rows of a store, in order. */
async function exported(t: TestContext, store: string): Promise<Node[]> {
  const { stdout } = await runWell(t, ['export', 'epochs', '--oldest-first', '--store', store])
  return ndjsonRows(stdout).map(({ node }) => node as unknown as Node)
}

/** The epochs of a recording, summed up from its bytes by an independent decoder. */
function epochsIn(recording: string): Node[] {
  const nodes = new Map<bigint, Node>()
  for (const { kind, bytes, height } of recordsOf(readRecording(recording))) {
    if (kind !== 131) continue
    const [body] = fieldsOf(bytes.subarray(12)).get(131)!
    const fields = fieldsOf(body as Uint8Array)
    const time = (no: number) => {
      const value = BigInt.asIntN(64, numberIn(fields, no))
      return value === 0n || value === GO_ZERO ? undefined : String(value)
    }
    const sets = {
      start: time(3),
      expiry: time(4),
      ...(numberIn(fields, 2) === 2n ? { end: time(5), endBlock: String(height) } : {}),
    }
    const node = nodes.get(numberIn(fields, 1)) ?? { epoch: String(numberIn(fields, 1)) }
    for (const [name, value] of Object.entries(sets))
      if (value !== undefined) node[name as keyof Node] = value
    nodes.set(numberIn(fields, 1), node)
  }
  return [...nodes.values()].sort((a, b) => Number(a.epoch) - Number(b.epoch))
}

const RECORDINGS: [name: string, path: string | null][] = [
  ['month', MONTH],
  ['smoke', recordingPath('smoke.evts.gz')],
  ['system', recordingPath('system.evts.gz')],
  ['nullchain', recordingPath('nullchain.evts.gz') ?? recordingPath('nullchain-60.evts.gz')],
]

/** Epoch 7 starts in block 5 and ends in block 9; START and END of others set less, or come again. */
const BLOCKS: MadeBlock[] = [
  { height: 5, events: [epoch(7, START, { start: 50, expiry: 80, end: GO_ZERO })] },
  // The core does not know when it starts.
  { height: 6, events: [epoch(8, START, { start: GO_ZERO, expiry: 0, end: GO_ZERO })] },
  { height: 7, events: [epoch(9, START, { start: 70, expiry: 79 }), epoch(3, 0), epoch(2n ** 63n)] },
  { height: 8, events: [epoch(9, START, { start: 80, expiry: 0 })] },
  { height: 9, events: [epoch(7, END, { start: 0, expiry: GO_ZERO, end: 90 })] },
  { height: 10, events: [epoch(8, END, { start: 60, expiry: 85, end: 100 })] },
  { height: 11, events: [epoch(9, END, { start: 0, expiry: 81, end: 0 })] },
  { height: 12, events: [epoch(9, END, { start: 0, expiry: 82, end: 120 }), epoch(6, END)] },
  { height: 13, events: [epoch(8, START, { start: 61, expiry: 0 })] },
]

const EXPECTED: Node[] = [
  { epoch: '6', start: '1', expiry: '2', end: '3', endBlock: '12' },
  { epoch: '7', start: '50', expiry: '80', end: '90', endBlock: '9' },
  { epoch: '8', start: '61', expiry: '85', end: '100', endBlock: '10' },
  { epoch: '9', start: '80', expiry: '82', end: '120', endBlock: '12' },
]

describeOn(STORE_KINDS, 'epochs', (kind) => {
  for (const [name, path] of RECORDINGS) {
    test(`are those of the events of ${name}`, async (t) => {
      if (path === null) return skip(t, `${name} is missing`)
      const expected = epochsIn(path)
      assert.ok(expected.length > 0)
      const store = await storeOf(t, kind, path)
      assert.deepEqual(await exported(t, store), expected)
    })
  }

  test('have what their starts and ends set, which the other does not unset, whatever order blocks arrive in', async (t) => {
    const inOrder = BLOCKS.map((block) => [block])
    const mixed = [BLOCKS.filter(({ height }) => height % 2 === 0), BLOCKS]
    for (const parts of [[BLOCKS], inOrder, inOrder.toReversed(), mixed]) {
      const store = kind.create(t)
      for (const part of parts) {
        await ingest(store, fileOf(...part), { allowGap: true })
        for (const files of [part, BLOCKS])
          assert.deepEqual((await checkWithFiles(store, fileWith(t, fileOf(...files)))).told, [])
      }
      assert.deepEqual(await exported(t, store), EXPECTED)
      const before = await dumpStore(store)
      await ingest(store, fileOf(...BLOCKS))
      assertSameDump(await dumpStore(store), before, 'replayed')
    }
  })

  test('are listed without end and endBlock while they run', async (t) => {
    const store = kind.create(t)
    await ingest(store, fileOf(...BLOCKS.slice(0, 3)))
    const base = await serve(t, store)
    const page = await getPage(base, '/api/v2/epochs')
    assert.deepEqual(
      page.edges.map(({ node }) => node),
      [{ epoch: '9', start: '70', expiry: '79' }, { epoch: '8' }, { epoch: '7', start: '50', expiry: '80' }],
    )
  })

  test('are streamed with their start, and again with their end', async (t) => {
    const store = kind.create(t)
    const follower = new StreamFollower(store, epochs, {})
    const blocks: MadeBlock[] = [
      { height: 5, events: [epoch(7, START, { start: 50, expiry: 80 })] },
      { height: 6, events: [] },
      {
        height: 9,
        events: [epoch(7, END, { start: 50, expiry: 80, end: 90 }), epoch(8, START, { start: 90 })],
      },
    ]
    for (const block of blocks) {
      await ingest(store, fileOf(block), { allowGap: true })
      await follower.look()
    }
    assert.deepEqual(
      [...follower.sent].map(([row, times]) => [JSON.parse(row), times]),
      [
        [{ epoch: '7', start: '50', expiry: '80' }, 1],
        [{ epoch: '7', start: '50', expiry: '80', end: '90', endBlock: '9' }, 1],
        [{ epoch: '8', start: '90', expiry: '2' }, 1],
      ],
    )
    // A start in a gap that is filled changes the row of an epoch whose end has been sent.
    const gap: MadeBlock = { height: 7, events: [epoch(7, START, { start: 51, expiry: 80 })] }
    await ingest(store, fileOf(gap), { allowGap: true })
    await follower.look()
    assert.deepEqual(await follower.missing(), [])
  })

  test('are missing in a store of an earlier version below its next block', async (t) => {
    const store = await restoreOldStore(t, kind)
    await runWell(t, `migrate --store ${store}`)
    assert.deepEqual(await exported(t, store), [])
    const { since } = await dumpStore(store)
    assert.ok(
      since!.some((row) => row.startsWith('["epochs","906",')),
      String(since),
    )
  })
})

const serverFor = serverOfFile()

describeOn(ANY_STORE_KIND, 'imported epochs', (kind) => {
  test('are those of the events, from the database of a data node', async (t) => {
    const tables = referencePath('tables/month.tables.sql.gz')
    if (tables === null) return skip(t, 'month is missing')
    const server = serverFor(t)
    if (server === null) return
    const database = await loadReferenceTables(t, server, tables)
    const store = kind.create(t)
    const { report } = await importWhole(store, database)
    assert.deepEqual(report.notImported, [])
    assert.deepEqual(await exported(t, store), epochsIn(MONTH))
    assert.deepEqual((await checkWithFiles(store, MONTH)).told, [])

    await runSql(
      database,
      `update epochs set start_time = '1754-08-30 22:43:41.128654Z', expire_time = '1970-01-01Z' where id = 2 and end_time is null;
      update epochs set start_time = 'infinity' where id = 3 and end_time is null`,
    )
    const other = kind.create(t)
    const { report: ofOther } = await importWhole(other, database)
    assert.deepEqual(ofOther.leftOut, { 'invalid time': 1 })
    assert.deepEqual(await exported(t, other), epochsIn(MONTH))
  })

  test('are those of the events, from segments, also one by one and again', async (t) => {
    if (referencePath('segments/month-1000') === null) return skip(t, 'month is missing')
    const paths = segmentPaths('month-1000')
    const store = kind.create(t)
    for (const path of [...paths, ...paths.toReversed()]) await importWhole(store, path)
    const rows = await exported(t, store)
    // The epoch of block 2,000 runs.
    const expected = epochsIn(MONTH).slice(0, rows.length)
    const { end: _, endBlock, ...running } = expected.at(-1)!
    assert.ok(Number(endBlock) > 2_000 && Number(expected.at(-2)!.endBlock) <= 2_000)
    assert.deepEqual(rows, [...expected.slice(0, -1), running])
    assert.deepEqual((await checkWithFiles(store, MONTH)).told, [])
  })

  test('are missing if the source has no table of them', async (t) => {
    const original = await segmentWithEpochs()
    const path = join(temporaryFolder(t), basename(segmentPaths('perps-calm-300')[0]!))
    await writeSegment(path, original)
    const store = kind.create(t)
    await importWhole(store, path)
    const rows = (await exported(t, store)).map(({ epoch, endBlock }) => [epoch, endBlock])
    assert.deepEqual(rows, [
      ['1', '10'],
      ['2', '20'],
      ['3', '30'],
      ['4', undefined],
    ])
    await writeSegment(path, original, { edit: (entries) => entries.delete(EPOCHS) })
    const { report } = await importWhole(kind.create(t), path)
    assert.ok(report.notImported.some(({ resource }) => resource === 'epochs'))
  })
})

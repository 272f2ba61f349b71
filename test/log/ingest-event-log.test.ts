import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { findEventInput } from '#core/log/event-input'
import { readEventFiles } from '#core/records/read-records'
import { readCoverage } from '#core/store/queries/coverage'
import { eventsOf, frame, marked, markedBlocks } from '../fixtures/events/event-stream.ts'
import { writeBlocks, writerOf } from '../fixtures/logs/written-log.ts'
import { runLyra, runWell } from '../fixtures/services/program.ts'
import { SILENT } from '../fixtures/services/service.ts'
import { readFrom, temporaryFolder } from '../fixtures/stores/stores.ts'

/** A log with a sealed segment and one that is being written, whose writer was killed within a block. */
async function logOf(t: TestContext): Promise<string> {
  const folder = join(temporaryFolder(t), 'log')
  await writeBlocks(folder, [1, 10])
  const writer = await writerOf(folder)
  // Back to an earlier block, which begins another segment.
  for (const event of eventsOf(markedBlocks(8, 20))) writer.take(event)
  writer.write()
  await writer.settled()
  for (const event of eventsOf([marked(21)]).slice(0, -1)) writer.take(event)
  writer.write()
  return folder
}

const openIn = (folder: string) => readdirSync(folder).find((name) => name.endsWith('.open'))!

const lastOf = async (store: string) => (await readFrom(store, readCoverage))?.height

describe('An event log that is ingested as a folder', () => {
  test('gives all blocks that are committed, those of the segment that is being written, too, and nothing after', async (t) => {
    const folder = await logOf(t)
    const store = join(temporaryFolder(t), 'lyra.db')
    // What a writer has written last may be anything.
    appendFileSync(join(folder, openIn(folder)), Buffer.alloc(100, 0xff))
    const { stderr, stdout } = await runWell(t, `ingest ${folder} --store ${store}`)
    assert.equal(await lastOf(store), 20n)
    assert.doesNotMatch(`${stderr}${stdout}`, /not named|cut|ends within/)
  })

  test('gives nothing of a segment without a committed block, and all of one whose new name was lost', async (t) => {
    const folder = await logOf(t)
    const [sealed] = readdirSync(folder).filter((name) => name.endsWith('.bevt'))
    renameSync(join(folder, sealed!), join(folder, '0000000001-1.bevt.open'))
    writeFileSync(join(folder, '0000000009-30.bevt.open'), 'begun')
    const names = findEventInput([folder]).files.map(({ path }) => path)
    assert.deepEqual(names, [
      join(folder, '0000000001-1.bevt.open'),
      join(folder, openIn(folder).replace(/^0+1-1/, '0000000002-8')),
    ])
    const store = join(temporaryFolder(t), 'lyra.db')
    await runWell(t, `ingest ${folder} --store ${store}`)
    assert.equal(await lastOf(store), 20n)
  })

  test('gives the segment that was open at first as far as it went then, although it was sealed before its turn', async (t) => {
    const folder = join(temporaryFolder(t), 'log')
    mkdirSync(folder)
    const writer = await writerOf(folder)
    const add = async (from: number, last: number) => {
      for (const event of eventsOf(markedBlocks(from, last))) writer.take(event)
      writer.write()
      await writer.settled()
    }
    await add(1, 10)
    const { files } = findEventInput([folder])
    assert.match(files[0]!.path, /\.open$/)
    await add(11, 12)
    // A jump begins another segment.
    await add(30, 31)
    await writer.close()
    assert.ok(readdirSync(folder).includes('0000000001-1-12.bevt'))
    let records = 0
    const read = { bytesRead: 0, cutOff: [], sequenceBreaks: 0 }
    await readEventFiles(files, read, { sink: () => records++, logger: SILENT, onChunk: () => {} })
    assert.equal(records, eventsOf(markedBlocks(1, 10)).length)
  })

  test('without a head, and any other folder, is a folder of event files', async (t) => {
    const folder = await logOf(t)
    rmSync(join(folder, 'head.json'))
    const { files, foreign } = findEventInput([folder])
    assert.deepEqual([files.length, foreign.length], [1, 3])
    const other = temporaryFolder(t)
    writeFileSync(join(other, 'some.bevt'), frame(eventsOf(markedBlocks(1, 3))))
    writeFileSync(join(other, 'head.json'), '{"version":2}')
    assert.deepEqual(findEventInput([other]).foreign, [join(other, 'head.json')])
  })

  test('has no foreign files while its head is being replaced', async (t) => {
    const folder = await logOf(t)
    writeFileSync(join(folder, 'head.json.new'), '')
    assert.deepEqual(findEventInput([folder]).foreign, [])
  })

  test('of a later version is refused', async (t) => {
    const folder = await logOf(t)
    writeFileSync(join(folder, 'head.json'), '{"version":2}')
    const { code, stderr } = await runLyra(
      t,
      `ingest ${folder} --store ${join(temporaryFolder(t), 'lyra.db')}`,
    )
    assert.equal(code, 1)
    assert.match(stderr, /has version 2, this program reads version 1/)
  })
})

import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import type { Coverage } from '#core/domain/coverage'
import { NODE_DISK } from '#core/log/files/log-disk'
import { readersFolder, readReader } from '#core/log/files/reader-files'
import { FolderSource } from '#core/log/read/folder/folder-source'
import { FollowedLog } from '#core/log/read/followed-log'
import { UrlSource } from '#core/log/read/url/url-source'
import { StoreNotes } from '#service/live/commit/store-notes'
import { SILENT } from '../fixtures/services/service.ts'
import { temporaryFolder } from '../fixtures/stores/stores.ts'

const READER = 'store-1'

/** The folder of a log that a receiver has made. */
const logFolder = (t: TestContext) => {
  const folder = temporaryFolder(t)
  mkdirSync(readersFolder(folder))
  return folder
}

const followed = (folder: string) => new FollowedLog(new FolderSource(folder))
const at = (height: bigint) => ({ height, timestamp: height * 10n }) as Coverage
const noteIn = (folder: string) => readReader(NODE_DISK, folder, READER)

test('Each log with a folder knows the last block of the store, and that it must keep what follows', (t) => {
  const folders = [logFolder(t), logFolder(t)]
  const logs = [...folders.map(followed), new FollowedLog(new UrlSource('http://127.0.0.1:9/'))]
  const notes = new StoreNotes(logs, READER, SILENT)
  notes.begin()
  const expected = { name: READER, isRequired: true, isClean: false, upgrade: null }
  for (const folder of folders) assert.deepEqual(noteIn(folder), { ...expected, height: null, time: null })
  notes.noteStored(at(7n))
  for (const folder of folders) assert.deepEqual(noteIn(folder), { ...expected, height: 7n, time: 70n })
})

test('A store of which nothing is known yet does not take back what a log knows', (t) => {
  const folder = logFolder(t)
  new StoreNotes([followed(folder)], READER, SILENT).noteStored(at(7n))
  new StoreNotes([followed(folder)], READER, SILENT).begin()
  assert.equal(noteIn(folder)?.height, 7n)
})

test('A log that is not there yet is told later, without a warning', (t) => {
  const folder = join(temporaryFolder(t), 'log')
  const lines: string[] = []
  const logger = pino({}, { write: (line) => lines.push(line) })
  const notes = new StoreNotes([followed(folder)], READER, logger)
  notes.begin()
  notes.noteStored(at(7n))
  mkdirSync(readersFolder(folder), { recursive: true })
  notes.tryAgain()
  assert.equal(noteIn(folder)?.height, 7n)
  assert.deepEqual(lines, [])
})

test('A log that cannot note how far the store is, is reported each time that it begins', (t) => {
  const folder = temporaryFolder(t)
  const lines: string[] = []
  const notes = new StoreNotes([followed(folder)], READER, pino({}, { write: (line) => lines.push(line) }))
  const readers = readersFolder(folder)
  for (let outage = 1; outage <= 2; outage++) {
    writeFileSync(readers, 'no folder')
    for (let height = 1n; height < 4n; height++) {
      notes.noteStored(at(height))
      assert.equal(lines.length, outage)
    }
    rmSync(readers)
    mkdirSync(readers)
    notes.tryAgain()
    assert.equal(readdirSync(readers).length, 1)
    rmSync(readers, { recursive: true })
  }
  assert.match(lines[1]!, /cannot note how far the store is/)
})

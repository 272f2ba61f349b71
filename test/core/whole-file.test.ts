import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { FileBeingWrittenError, writeWhole } from '#core/concurrency/whole-file'
import { temporaryFolder } from '../fixtures/stores/stores.ts'

describe('A file that is written beside its place', () => {
  test('is written by one run at a time, and gets its name once it is whole', async (t) => {
    const folder = temporaryFolder(t)
    const file = join(folder, 'rows.csv')
    writeFileSync(file, 'earlier')
    const end = Promise.withResolvers<void>()
    const first = writeWhole(file, async (partial) => {
      writeFileSync(partial, 'first')
      await end.promise
    })
    await assert.rejects(
      writeWhole(file, async () => assert.fail('a second run must not write')),
      FileBeingWrittenError,
    )
    assert.equal(readFileSync(file, 'utf8'), 'earlier')
    end.resolve()
    await first
    assert.equal(readFileSync(file, 'utf8'), 'first')
    await writeWhole(file, async (partial) => writeFileSync(partial, 'second'))
    assert.equal(readFileSync(file, 'utf8'), 'second')
    assert.deepEqual(readdirSync(folder), ['rows.csv'])
  })

  test('stays as it was if anything fails, and what a killed run has left goes', async (t) => {
    const folder = temporaryFolder(t)
    const file = join(folder, 'copy.db')
    writeFileSync(file, 'earlier')
    for (const left of ['copy.db.partial', 'copy.db.partial-journal', 'copy.db.partial-lock'])
      writeFileSync(join(folder, left), left.endsWith('lock') ? '' : 'left')
    const failing = writeWhole(file, async (partial) => {
      assert.deepEqual(readdirSync(folder), ['copy.db', 'copy.db.partial-lock'])
      writeFileSync(partial, 'half')
      throw new Error('enough')
    })
    await assert.rejects(failing, /enough/)
    assert.deepEqual(readdirSync(folder), ['copy.db'])
    assert.equal(readFileSync(file, 'utf8'), 'earlier')
  })

  test('is the one that a link names', async (t) => {
    const folder = temporaryFolder(t)
    mkdirSync(join(folder, 'data'))
    const file = join(folder, 'data/rows.csv')
    const link = join(folder, 'rows.csv')
    writeFileSync(file, 'earlier')
    symlinkSync(file, link)
    await writeWhole(link, async (partial) => writeFileSync(partial, 'new'))
    assert.equal(readlinkSync(link), file)
    assert.equal(readFileSync(file, 'utf8'), 'new')
    assert.deepEqual(readdirSync(join(folder, 'data')), ['rows.csv'])
    // By way of a folder that is a link, to a file that is not there yet.
    symlinkSync('data', join(folder, 'linked'))
    symlinkSync('../later.csv', join(folder, 'data/later.csv'))
    await writeWhole(join(folder, 'linked/later.csv'), async (partial) => writeFileSync(partial, 'new'))
    assert.equal(readlinkSync(join(folder, 'data/later.csv')), '../later.csv')
    assert.equal(readFileSync(join(folder, 'later.csv'), 'utf8'), 'new')
  })
})

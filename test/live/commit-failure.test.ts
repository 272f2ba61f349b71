import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pino } from 'pino'
import { GapError } from '#core/blocks/block'
import type { Coverage } from '#core/domain/coverage'
import { FolderSource } from '#core/log/read/folder/folder-source'
import { FollowedLog } from '#core/log/read/followed-log'
import { LogReader } from '#core/log/read/log-reader'
import { LogUnreachableError } from '#core/log/read/log-source'
import { StoreError } from '#core/store/errors'
import { CommitFailure } from '#service/live/commit/commit-failure'
import { StoreNotes } from '#service/live/commit/store-notes'
import { SILENT } from '../fixtures/services/service.ts'
import { temporaryFolder } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

test('A fault of blocks ends for a standby once the writer has passed them, one of the store at once', async (t) => {
  const reader = new LogReader([])
  t.after(() => reader.close())
  const { signal } = new AbortController()
  const at = (height: bigint) => ({ height }) as Coverage
  for (const [error, passed] of [
    [new StoreError('the store is away'), 7n],
    [new LogUnreachableError('a segment cannot be read'), 8n],
    [new GapError('blocks 8 to 9 missing', 8n, 9n, { source: 'log', record: 1, offset: 0 }), 8n],
  ] as const) {
    const failure = new CommitFailure({ reader, logger: SILENT, signal, onChange: () => {} })
    await assert.rejects(failure.reporting(() => Promise.reject(error)))
    for (const height of [7n, 7n, 8n]) {
      failure.otherHasWritten(at(height))
      assert.equal(failure.message === null, height >= passed, `${error} ${height}`)
    }
  }
})

test('A log that cannot note how far the store is, is reported each time that it begins', async (t) => {
  const folder = temporaryFolder(t)
  const lines: string[] = []
  const notes = new StoreNotes(
    [new FollowedLog(new FolderSource(folder))],
    'store-1',
    pino({}, { write: (line) => lines.push(line) }),
  )
  const readers = join(folder, 'readers')
  for (let outage = 1; outage <= 2; outage++) {
    writeFileSync(readers, 'no folder')
    for (let height = 1n; height < 4n; height++) {
      notes.stored({ height, timestamp: height } as Coverage)
      await until(() => lines.length === outage, 'a warning')
    }
    rmSync(readers)
    mkdirSync(readers)
    notes.tryAgain()
    await until(() => readdirSync(readers).length > 0, 'a note')
    rmSync(readers, { recursive: true })
  }
  assert.match(lines[1]!, /cannot note how far the store is/)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GapError } from '#core/blocks/block'
import type { Coverage } from '#core/domain/coverage'
import { LogReader } from '#core/log/read/log-reader'
import { LogUnreachableError } from '#core/log/read/log-source'
import { StoreError } from '#core/store/errors'
import { CommitFailure } from '#service/live/commit/commit-failure'
import { SILENT } from '../fixtures/services/service.ts'

const POSITION = { source: 'log', record: 1, offset: 0 }

test('A fault of blocks ends for a standby once the writer has passed them, one of the store at once', async (t) => {
  const reader = new LogReader([])
  t.after(() => reader.close())
  const { signal } = new AbortController()
  const at = (height: bigint) => ({ height }) as Coverage
  for (const [error, passed] of [
    [new StoreError('the store is away'), 7n],
    [new LogUnreachableError('a segment cannot be read'), 8n],
    [new GapError('blocks 8 to 9 missing', 8n, 9n, POSITION), 8n],
    [new GapError('the rest of block 7 missing', 7n, 7n, POSITION), 8n],
  ] as const) {
    const progress = { height: 7n }
    const failure = new CommitFailure({ reader, progress, logger: SILENT, signal, onChange: () => {} })
    await assert.rejects(failure.reporting(() => Promise.reject(error)))
    for (const height of [7n, 7n, 8n]) {
      failure.otherHasWritten(at(height))
      assert.equal(failure.message === null, height >= passed, `${error} ${height}`)
    }
  }
})

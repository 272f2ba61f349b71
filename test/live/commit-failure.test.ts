import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ChainError, GapError } from '#core/blocks/block'
import type { Coverage } from '#core/domain/coverage'
import { LogReader } from '#core/log/read/log-reader'
import { LogUnreachableError } from '#core/log/read/log-source'
import { StoreError, StoreRefusedError, StoreUnavailableError } from '#core/store/errors'
import { CommitFailure } from '#service/live/commit/commit-failure'
import { SILENT } from '../fixtures/services/service.ts'

const POSITION = { source: 'log', record: 1, offset: 0 }

/** The failure of a committer without logs, whose store has 7 blocks. */
function failureOf(t: TestContext) {
  const reader = new LogReader([])
  t.after(() => reader.close())
  const progress = { height: 7n }
  const abort = new AbortController()
  let changes = 0
  const onChange = () => changes++
  const { signal } = abort
  const failure = new CommitFailure({ reader, progress, logger: SILENT, signal, onChange })
  const fail = (error: Error) =>
    assert.rejects(
      failure.reporting(() => Promise.reject(error)),
      error,
    )
  return { failure, fail, progress, abort, changes: () => changes }
}

test('A fault becomes the failure with its cause, and what can be done', async (t) => {
  const away = new StoreError('the disk is full')
  for (const [error, says] of [
    [away, 'the disk is full'],
    [new StoreUnavailableError('the store cannot be read', { cause: away }), 'the disk is full'],
    [new GapError('blocks 8 to 9 missing', 8n, 9n, POSITION), /To do without them: lyra gap accept 8 9$/],
    [new ChainError('chain b', POSITION), /give each chain its own --event-log, or --follow a log of this/],
    [new StoreRefusedError('no rights'), null],
    [new TypeError('a mistake'), null],
  ] as const) {
    const { failure, changes } = failureOf(t)
    await assert.rejects(failure.reporting(() => Promise.reject(error)))
    if (says === null) assert.equal(failure.message, null)
    else assert.match(failure.message!, typeof says === 'string' ? new RegExp(`^${says}$`) : says)
    assert.equal(changes(), says === null ? 0 : 1)
  }
})

test('At the end nothing fails any more', async (t) => {
  const { failure, fail, abort } = failureOf(t)
  abort.abort()
  await fail(new StoreError('the disk is full'))
  assert.equal(failure.message, null)
})

test('A fault that is met again is passed by what the store has gained since it began', async (t) => {
  const { failure, fail, progress } = failureOf(t)
  const fault = new LogUnreachableError('a segment cannot be read')
  await fail(fault)
  progress.height = 8n
  await fail(fault)
  failure.noteStored({ height: 8n } as Coverage)
  assert.equal(failure.message, null)
})

test('A fault of blocks ends for a standby once the writer has passed them, one of the store at once', async (t) => {
  const at = (height: bigint) => ({ height }) as Coverage
  for (const [error, passed] of [
    [new StoreError('the store is away'), 7n],
    [new LogUnreachableError('a segment cannot be read'), 8n],
    [new GapError('blocks 8 to 9 missing', 8n, 9n, POSITION), 8n],
    [new GapError('the rest of block 7 missing', 7n, 7n, POSITION), 8n],
  ] as const) {
    const { failure, fail } = failureOf(t)
    await fail(error)
    for (const height of [7n, 7n, 8n]) {
      failure.noteStored(at(height))
      assert.equal(failure.message === null, height >= passed, `${error} ${height}`)
    }
  }
})

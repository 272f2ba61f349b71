import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type LogDisk, NODE_DISK } from '#core/log/files/log-disk'
import { DiskRetries } from '#core/log/write/disk-retries'
import { SILENT } from '../fixtures/services/service.ts'

const fault = (code: string) => Object.assign(new Error(code), { code })

/** Work that notes its name, and that the disk refuses a few times before. */
function work(name: string, done: string[], ...faults: string[]): () => void {
  return () => {
    const code = faults.shift()
    if (code !== undefined) throw fault(code)
    done.push(name)
  }
}

/** Retries of a disk, what their listener is told, and how often the disk was waited for. */
function retriesOf({ hasRoom = false } = {}) {
  const told = { faults: [] as (string | null)[], failures: [] as string[], waits: 0 }
  const disk: LogDisk = {
    ...NODE_DISK,
    untilSpace: async () => {
      told.waits++
      if (told.waits > 100) throw new Error('waits without end')
    },
  }
  const retries = new DiskRetries(
    { disk, folder: '/log', logger: SILENT },
    {
      onFault: (message) => told.faults.push(message),
      onFailed: ({ message }) => told.failures.push(message),
      makeRoom: () => hasRoom,
    },
  )
  return { retries, told }
}

const FULL = 'the event log cannot be written (ENOSPC): free disk space for it'

describe('What a disk refuses', () => {
  test('is done again until it is accepted, and what comes in turn only after it', async () => {
    const { retries, told } = retriesOf()
    const done: string[] = []
    retries.doInTurn(work('first', done, 'ENOSPC', 'EIO'))
    retries.doInTurn(work('second', done))
    const flushed = retries.do(work('flush', done, 'EIO'))
    assert.equal(retries.fault, FULL.replace('ENOSPC', 'EIO'))
    await retries.waiting
    await flushed
    assert.deepEqual(done, ['flush', 'first', 'second'])
    assert.equal(told.faults[0], FULL)
    assert.equal(told.faults.at(-1), null)
    assert.equal(told.waits, 2)
    assert.deepEqual([retries.fault, retries.waiting, retries.hasFailed], [null, null, false])
  })

  test('is done again at once if something could be deleted, but not if the disk fails', async () => {
    for (const [code, waits] of [
      ['ENOSPC', 0],
      ['EIO', 1],
    ] as const) {
      const { retries, told } = retriesOf({ hasRoom: true })
      await retries.do(work('write', [], code))
      assert.equal(told.waits, waits, code)
    }
  })

  test('is given up once a fault does not pass: nothing is done again, and whoever waits is told', async () => {
    const { retries, told } = retriesOf()
    const done: string[] = []
    const refused = retries.do(work('full', done, ...Array(1_000).fill('ENOSPC')))
    await assert.rejects(retries.do(work('broken', done, 'EBADF')), { code: 'EBADF' })
    await assert.rejects(refused, { code: 'EBADF' })
    await assert.rejects(retries.waiting!, { code: 'EBADF' })
    await assert.rejects(retries.do(work('later', done, 'ENOSPC')), { code: 'EBADF' })
    retries.doInTurn(work('in turn', done))
    await new Promise((resolve) => setImmediate(resolve))
    const { waits } = told
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(told.waits, waits)
    assert.deepEqual(done, [])
    assert.deepEqual(told.failures, ['EBADF'])
    assert.ok(retries.hasFailed)
  })
})

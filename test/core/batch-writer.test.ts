import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Coverage } from '#core/domain/coverage'
import { BatchWriter } from '#core/ingest/batch-writer'
import type { GainedRows } from '#core/store/queries-protocol'

/** More bytes than a batch may contain. */
const HEAVY = 64 * 1024 * 1024

/** The coverage of a store with blocks 1 to `height`, whose times are their heights. */
function coverageUpTo(height: bigint): Coverage {
  const ends = { first: 1n, firstTimestamp: 1n, began: 1n, height, timestamp: height }
  return { chainId: 'test-chain', ...ends, blockOne: null, gaps: [], since: [], imported: [] }
}

/** A writer whose commits end on request. */
function createSlowWriter() {
  const commits: { height: bigint; end: () => void; fail: (error: Error) => void }[] = []
  const writer = {
    coverage: async () => null,
    commit: (_: unknown, { height }: Coverage) =>
      new Promise<GainedRows>((resolve, reject) =>
        commits.push({ height, end: () => resolve(new Map()), fail: reject }),
      ),
    buildSeries: async () => {},
    close: async () => {},
  }
  return { writer, commits }
}

/** A batch writer over it, and the batches committed. */
function createBatches() {
  const { writer, commits } = createSlowWriter()
  const committed: bigint[] = []
  const batches = new BatchWriter(writer, ({ height }) => committed.push(height))
  const add = () =>
    batches.change(HEAVY, (batch) => {
      batch.blocks++
    })
  return { batches, commits, committed, add }
}

/** Whether a promise is settled. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  const note = () => {
    settled = true
  }
  promise.then(note, note)
  for (let turn = 0; turn < 3; turn++) await nextTurn()
  return settled
}

describe('batches', () => {
  test('are collected while the previous one is committed, one commit at a time', async () => {
    const { batches, commits, committed, add } = createBatches()
    add()
    await batches.commitIfDue({ coverage: coverageUpTo(1n) })
    assert.equal(batches.isDue(), false)
    add()
    const second = batches.commitIfDue({ coverage: coverageUpTo(2n) })
    assert.equal(await isSettled(second), false)
    assert.deepEqual([commits.length, committed], [1, []])
    commits[0]!.end()
    await second
    assert.deepEqual([commits.map(({ height }) => height), committed], [[1n, 2n], [1n]])
    const rest = batches.commit(coverageUpTo(2n))
    assert.equal(await isSettled(rest), false)
    commits[1]!.end()
    await rest
    assert.deepEqual([committed, batches.committedBlocks], [[1n, 2n], 2])
  })

  test("ask for the store's coverage only when they are due, since it may contain many gaps", async () => {
    const { batches, commits, add } = createBatches()
    let asked = 0
    const held = {
      get coverage() {
        asked++
        return coverageUpTo(1n)
      },
    }
    await batches.commitIfDue(held)
    assert.equal(asked, 0)
    add()
    await batches.commitIfDue(held)
    assert.equal(asked, 1)
    await batches.commitIfDue(held)
    assert.equal(asked, 1)
    commits[0]!.end()
    await batches.commit(null)
  })

  test('are no longer committed after a failure', async () => {
    const { batches, commits, committed, add } = createBatches()
    add()
    await batches.commitIfDue({ coverage: coverageUpTo(1n) })
    commits[0]!.fail(new Error('the disk is full'))
    add()
    await assert.rejects(batches.commitIfDue({ coverage: coverageUpTo(2n) }), /the disk is full/)
    await assert.rejects(batches.commit(coverageUpTo(2n)), /the disk is full/)
    await assert.rejects(batches.commit(null), /the disk is full/)
    assert.deepEqual([commits.length, committed, batches.committedBlocks], [1, [], 0])
  })
})

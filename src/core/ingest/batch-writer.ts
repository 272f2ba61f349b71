import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Block } from '../blocks/block.ts'
import { projectBlock } from '../blocks/project-block.ts'
import type { Coverage } from '../domain/coverage.ts'
import { type Batch, batchRows, createBatch } from '../model/batch.ts'
import type { Writer } from '../store/store.ts'
import { countRows, noRows } from './report.ts'

/** A batch is committed once it is this large or this old: readers and Ctrl-C never wait long. */
const MAX_BATCH_ROWS = 20_000
const MAX_BATCH_WEIGHT = 32 * 1024 * 1024
const MAX_BATCH_MS = 400

/**
 * Gathers complete blocks and commits many at once; gathers the next ones during a commit.
 *
 * @param onCommit called after each commit
 */
export function createBatchWriter(writer: Writer, onCommit: (coverage: Coverage) => void = () => {}) {
  let batch = createBatch()
  let batchWeight = 0
  let startedAt = 0
  /** The last commit started. If it fails, the next caller gets its error. */
  let underWay: Promise<void> = Promise.resolve()
  let isUnderWay = false

  function add(block: Block): void {
    change(block.weight, (batch) => projectBlock(batch, block))
  }

  /** Adds something of about `weight` bytes of memory to the batch. */
  function change(weight: number, apply: (batch: Batch) => void): void {
    if (isEmpty()) startedAt = performance.now()
    batchWeight += weight
    apply(batch)
  }

  function isEmpty(): boolean {
    return batch.blocks === 0 && batchRows(batch) === 0
  }

  /** Whether the batch must be committed before more is added. */
  function isDue(): boolean {
    return (
      !isEmpty() &&
      (batchRows(batch) >= MAX_BATCH_ROWS ||
        batchWeight >= MAX_BATCH_WEIGHT ||
        performance.now() - startedAt >= MAX_BATCH_MS)
    )
  }

  /**
   * Starts to commit the gathered rows, if due. The coverage is only requested then, since it may be a long list of
   * gaps. Waits only for the previous commit. Call it often: it also processes the database's answers.
   */
  async function commitIfDue(held: { readonly coverage: Coverage | null }): Promise<void> {
    const coverage = isDue() ? held.coverage : null
    if (coverage !== null) await begin(coverage)
    if (isUnderWay) await nextTurn()
  }

  /** Commits the gathered rows with the resulting `coverage`. */
  async function commit(coverage: Coverage | null): Promise<void> {
    if (!isEmpty() && coverage !== null) await begin(coverage)
    await underWay
  }

  /** As {@link commit}, even if nothing was gathered: the coverage itself may have changed. */
  async function commitAll(coverage: Coverage): Promise<void> {
    await begin(coverage)
    await underWay
  }

  /**
   * Commits at the end of the input, including complete blocks before an error in the input; after any other error,
   * nothing. Returns the failure, or that of the commit.
   *
   * @param isOfInput whether the failure is an error in the input
   * @param signal stops making series; the next writer makes the rest
   */
  async function finish(
    failure: Error | null,
    isOfInput: boolean,
    coverage: Coverage | null,
    signal?: AbortSignal,
  ): Promise<Error | null> {
    try {
      await commit(failure === null || isOfInput ? coverage : null)
      await writer.makeSeries('all', signal)
      return failure
    } catch (error) {
      return error as Error
    }
  }

  async function begin(coverage: Coverage): Promise<void> {
    await underWay
    const gathered = batch
    batch = createBatch()
    batchWeight = 0
    isUnderWay = true
    underWay = write(gathered, coverage).finally(() => {
      isUnderWay = false
    })
    underWay.catch(() => {})
  }

  async function write(gathered: Batch, coverage: Coverage): Promise<void> {
    const gained = await writer.commit(gathered, coverage)
    self.committedBlocks += gathered.blocks
    countRows(self.rows, gained)
    self.committed = coverage
    onCommit(coverage)
    await writer.makeSeries('due')
  }

  const self = {
    rows: noRows(),
    /** The coverage at the last commit; null before the first. */
    committed: null as Coverage | null,
    committedBlocks: 0,
    ...{ add, change, isDue, commitIfDue, commit, commitAll, finish },
  }
  return self
}

export type BatchWriter = ReturnType<typeof createBatchWriter>

import { setImmediate as nextRound } from 'node:timers/promises'
import type { Block } from '../blocks/block.ts'
import { projectBlock } from '../blocks/project-block.ts'
import type { Coverage } from '../domain/coverage.ts'
import { type Batch, batchRows, createBatch } from '../model/batch.ts'
import type { Writer } from '../store/store.ts'
import { countRows, noRows } from './report.ts'

/** A batch of this size or age is committed, so that readers and Ctrl-C never wait long. */
const MAX_BATCH_ROWS = 20_000
const MAX_BATCH_WEIGHT = 32 * 1024 * 1024
const MAX_BATCH_MS = 400

/** Collects complete blocks and commits many at once; during a commit it collects the next ones. */
export class BatchWriter {
  /** Number of rows that commits have added. */
  readonly rows = noRows()
  readonly #writer: Writer
  readonly #onCommit: (coverage: Coverage) => void
  #batch = createBatch()
  #weight = 0
  #startedAt = 0
  #committed: Coverage | null = null
  #committedBlocks = 0
  /** The last commit that was started. If it fails, the next caller gets its error. */
  #underWay: Promise<void> = Promise.resolve()
  #isUnderWay = false

  /** @param onCommit called after each commit */
  constructor(writer: Writer, onCommit: (coverage: Coverage) => void = () => {}) {
    this.#writer = writer
    this.#onCommit = onCommit
  }

  /** The coverage at the last commit; null before the first. */
  get committed(): Coverage | null {
    return this.#committed
  }

  get committedBlocks(): number {
    return this.#committedBlocks
  }

  add(block: Block): void {
    this.change(block.weight, (batch) => projectBlock(batch, block))
  }

  /** Adds a change of about `weight` bytes of memory to the batch. */
  change(weight: number, apply: (batch: Batch) => void): void {
    if (this.#isEmpty()) this.#startedAt = performance.now()
    this.#weight += weight
    apply(this.#batch)
  }

  /** Whether the batch is large or old enough to be committed. */
  isDue(): boolean {
    return (
      !this.#isEmpty() &&
      (batchRows(this.#batch) >= MAX_BATCH_ROWS ||
        this.#weight >= MAX_BATCH_WEIGHT ||
        performance.now() - this.#startedAt >= MAX_BATCH_MS)
    )
  }

  /**
   * Starts to commit the collected rows, if due. It reads the coverage only then, since that may be a long list of gaps. It
   * waits only for the previous commit, and rejects if that one failed. Call it often: this also processes the database's
   * answers.
   */
  async commitIfDue(source: { readonly coverage: Coverage | null }): Promise<void> {
    const coverage = this.isDue() ? source.coverage : null
    if (coverage !== null) await this.#startCommit(coverage)
    if (this.#isUnderWay) await nextRound()
  }

  /** Commits the collected rows with the resulting `coverage`, and waits for the commit. */
  async commit(coverage: Coverage | null): Promise<void> {
    if (!this.#isEmpty() && coverage !== null) await this.#startCommit(coverage)
    await this.#underWay
  }

  /** As {@link commit}, even without rows: the coverage itself may have changed. */
  async commitAll(coverage: Coverage): Promise<void> {
    await this.#startCommit(coverage)
    await this.#underWay
  }

  /**
   * Commits at the end of the input. After an error in the input, it commits the complete blocks before it; after any other
   * error, nothing. Returns the error, or that of the commit.
   *
   * @param isOfInput whether an error is one in the input
   * @param signal stops building series; the next writer builds the rest
   */
  async finish(
    failure: Error | null,
    isOfInput: boolean,
    coverage: Coverage | null,
    signal?: AbortSignal,
  ): Promise<Error | null> {
    try {
      await this.commit(failure === null || isOfInput ? coverage : null)
      await this.#writer.buildSeries('all', signal)
      return failure
    } catch (error) {
      return error as Error
    }
  }

  #isEmpty(): boolean {
    return this.#batch.blocks === 0 && batchRows(this.#batch) === 0
  }

  async #startCommit(coverage: Coverage): Promise<void> {
    await this.#underWay
    const gathered = this.#batch
    this.#batch = createBatch()
    this.#weight = 0
    this.#isUnderWay = true
    this.#underWay = this.#commitBatch(gathered, coverage).finally(() => {
      this.#isUnderWay = false
    })
    this.#underWay.catch(() => {})
  }

  /** One commit: it writes the batch, reports it, and builds the series that are due. */
  async #commitBatch(gathered: Batch, coverage: Coverage): Promise<void> {
    const gained = await this.#writer.commit(gathered, coverage)
    this.#committedBlocks += gathered.blocks
    countRows(this.rows, gained)
    this.#committed = coverage
    this.#onCommit(coverage)
    await this.#writer.buildSeries('due')
  }
}

import type { Coverage } from '../../domain/coverage.ts'
import type { Batch } from '../../resources/batch.ts'
import { changesOf, noteChanges } from '../changes.ts'
import { UnmadeSeries } from '../derived/unmade-series.ts'
import { RANGES, type RangesName, readCoverage, streamValues } from '../readings/coverage.ts'
import { WRITE_STREAM } from '../statements.ts'
import { StoreError, type Writer, type WriterOptions } from '../store.ts'
import type { MarketNumbers } from '../writing/market-numbers.ts'
import { writeSteps } from '../writing/write-batch.ts'
import { Connection, refuseReadOnly, withSqliteErrors } from './connection.ts'
import { logBytes, MAX_LOG_BYTES } from './log-check.ts'
import { runSqliteReading, runSqliteSteps } from './run-steps.ts'

const READ_COMMITS = `
  select cast(commits as text), cast(log_from as text), cast(upkeep_commits as text) from store_file`

const COUNT_COMMIT = 'update store_file set commits = commits + 1, log_from = $1'

/** Interval in milliseconds for retrying to empty the WAL, even if little is written. */
const EMPTY_LOG_RETRY_MS = 5_000

/** The store's state after the writer's last commit. */
type Known = {
  coverage: Coverage | null
  /** The number of commits so far, by this writer, all before it, and upkeep. */
  commits: bigint
  /** Commits by upkeep, which deletes rows while a writer is active (upkeep.ts). */
  upkeepCommits: bigint
  /** Commits of the file when its present WAL began (log-check.ts). */
  logFrom: bigint
}

/** Opens a writer on a separate connection; makes the store or brings its schema up to date where needed. */
export function openSqliteWriter(path: string, { durable = false, onNotice }: WriterOptions = {}): Writer {
  refuseReadOnly(path)
  const connection = Connection.openMigrated(path, onNotice)
  if (durable) connection.flushEveryCommit()
  return new SqliteWriter(path, connection)
}

/** Writes over a connection that it closes. */
export class SqliteWriter implements Writer {
  readonly #path: string
  readonly #connection: Connection
  readonly #log: WriterLog
  /** Numbers of the markets seen; emptied when a commit fails, for it may have taken some back. */
  readonly #markets: MarketNumbers = new Map()
  readonly #unmade = new UnmadeSeries()
  #known: Known

  constructor(path: string, connection: Connection) {
    this.#path = path
    this.#connection = connection
    this.#log = new WriterLog(path, connection)
    this.#known = withSqliteErrors(path, () => this.#readKnown())
  }

  async coverage(): Promise<Coverage | null> {
    this.#known = withSqliteErrors(this.#path, () => this.#readKnown())
    return this.#known.coverage
  }

  async commit(batch: Batch, coverage: Coverage): Promise<void> {
    this.#write(() => {
      runSqliteSteps(this.#connection, writeSteps(batch, this.#markets, this.#unmade))
      this.#writeCoverage(coverage)
      this.#connection.runAll(noteChanges(changesOf(batch)))
    })
    this.#known.coverage = coverage
  }

  async makeSeries(which: 'due' | 'all', signal?: AbortSignal): Promise<void> {
    if (which === 'all') this.#write(() => runSqliteSteps(this.#connection, this.#unmade.learn([])))
    for (const some of this.#unmade.take(which)) {
      if (signal?.aborted) return
      this.#write(() => runSqliteSteps(this.#connection, this.#unmade.make(some)))
    }
  }

  #write(work: () => void): void {
    const connection = this.#connection
    try {
      withSqliteErrors(this.#path, () => {
        this.#refuseOtherFile()
        if (this.#log.keepShort()) this.#known.logFrom = this.#known.commits
        connection.transaction('immediate', () => {
          this.#refuseOtherWriter()
          work()
          connection.run(COUNT_COMMIT, [this.#known.logFrom])
        })
      })
      this.#known.commits += 1n
    } catch (error) {
      this.#markets.clear()
      this.#unmade.clear()
      throw error
    }
  }

  async close(): Promise<void> {
    this.#connection.closeWritten()
  }

  #readKnown(): Known {
    const connection = this.#connection
    return connection.transaction('deferred', () => {
      const [commits, logFrom, upkeepCommits] = connection.row(READ_COMMITS) as [string, string, string]
      // Read after the counter, which upkeep may raise at any time: counted commits are then in the file.
      const isLogEmpty = logBytes(this.#path) === 0
      return {
        coverage: runSqliteReading(connection, readCoverage()),
        commits: BigInt(commits),
        upkeepCommits: BigInt(upkeepCommits),
        logFrom: BigInt(isLogEmpty ? commits : logFrom),
      }
    })
  }

  #writeCoverage(coverage: Coverage): void {
    this.#connection.run(WRITE_STREAM, streamValues(coverage))
    this.#writeRanges('gaps', coverage)
    this.#writeRanges('imported', coverage)
  }

  #writeRanges(name: RangesName, after: Coverage): void {
    if (after[name] === this.#known.coverage?.[name]) return
    const { remove, insert, valuesOf } = RANGES[name]
    this.#connection.run(remove)
    for (const values of valuesOf(after)) this.#connection.run(insert, values)
  }

  /** Two programs that write to one store would each continue from the other's changes. */
  #refuseOtherWriter(): void {
    const known = this.#known
    const [commits, , upkeep] = this.#connection.row(READ_COMMITS) as [string, string, string]
    const upkeepCommits = BigInt(upkeep)
    if (BigInt(commits) - upkeepCommits === known.commits - known.upkeepCommits) {
      this.#known = { ...known, commits: BigInt(commits), upkeepCommits }
      return
    }
    throw new StoreError(`${this.#path}: another program writes to this store; let it finish first`)
  }

  #refuseOtherFile(): void {
    if (this.#connection.isInPlace) return
    throw new StoreError(
      `${this.#path}: the store was deleted or replaced while in use; nothing more is written. Restart`,
    )
  }
}

/** The log of a store that is written to. */
class WriterLog {
  readonly #path: string
  readonly #connection: Connection
  /** The size at which it is to be copied to the file. */
  #copyAt = MAX_LOG_BYTES
  #retryAt = 0

  constructor(path: string, connection: Connection) {
    this.#path = path
    this.#connection = connection
  }

  /**
   * Copies a long WAL to the file; returns whether the WAL is empty. It keeps growing while an older snapshot is being
   * read.
   */
  keepShort(): boolean {
    const bytes = logBytes(this.#path)
    if (bytes === 0) {
      // Someone who has read for long has emptied it (shorten-log.ts).
      this.#copyAt = MAX_LOG_BYTES
      return true
    }
    if (bytes < this.#copyAt && (bytes < MAX_LOG_BYTES || performance.now() < this.#retryAt)) return false
    const isEmpty = this.#connection.truncateLog()
    this.#copyAt = (isEmpty ? 0 : bytes) + MAX_LOG_BYTES
    this.#retryAt = performance.now() + EMPTY_LOG_RETRY_MS
    return isEmpty
  }
}

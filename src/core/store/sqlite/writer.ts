import type { Coverage } from '../../domain/coverage.ts'
import type { Batch } from '../../model/batch.ts'
import { refusePartOfCopy } from '../admin/part-of-copy.ts'
import { awaitLock } from '../admin/standby.ts'
import { changeStatements, changesOf } from '../changes.ts'
import { SeriesBuilder } from '../charts/series-builder.ts'
import { StoreError } from '../errors.ts'
import { readCoverage } from '../queries/coverage.ts'
import type { GainedRows, Mutation } from '../queries-protocol.ts'
import type { Writer, WriterOptions } from '../store.ts'
import type { MarketNumbers } from '../write/market-numbers.ts'
import { writeBatch } from '../write/write-batch.ts'
import { coverageStatements, writtenCoverage } from '../write/write-coverage.ts'
import type { Connection } from './connection.ts'
import { refuseReadOnly, withSqliteErrors } from './errors.ts'
import { openMigrated } from './migrate.ts'
import { runSqliteMutation, runSqliteQuery } from './run-sql.ts'
import { MAX_WAL_BYTES, walBytes } from './wal-check.ts'
import { describeLockFault, tryLock } from './writer-lock.ts'

const READ_COMMITS = `
  select cast(commits as text), cast(log_from as text), cast(upkeep_commits as text) from store_file`

const COUNT_COMMIT = 'update store_file set commits = commits + 1, log_from = $1'

/** How often emptying the WAL is tried again, even if little is written, in milliseconds. */
const EMPTY_WAL_RETRY_MS = 5_000

/** The store's state after the writer's last commit. */
type StoredState = {
  coverage: Coverage | null
  /** The number of commits so far: by this writer, earlier writers and upkeep. */
  commits: bigint
  /** The number of commits by upkeep, which deletes rows while a writer is active (upkeep.ts). */
  upkeepCommits: bigint
  /** The number of the file's commits when its present WAL began (wal-check.ts). */
  walFrom: bigint
}

/**
 * Opens a writer on a separate connection, and creates the store or upgrades its schema if necessary. By a lock on a file
 * beside the store there is one writer at a time: another one waits here, as a standby, until the first is gone.
 */
export async function openSqliteWriter(path: string, options: WriterOptions = {}): Promise<Writer> {
  refuseReadOnly(path)
  let lockFault: Error | null = null
  const unlock = await awaitLock(path, options, () =>
    tryLock(path, (error) => {
      lockFault = error
    }),
  )
  try {
    const connection = openMigrated(path, options.onNotice)
    if (lockFault !== null) options.onNotice?.(describeLockFault(path, lockFault))
    // A commit then returns only once a power loss can no longer undo it.
    if (options.durable) connection.exec('pragma synchronous = full')
    return new SqliteWriter(path, connection, { onClosed: unlock })
  } catch (error) {
    unlock()
    throw error
  }
}

type SqliteWriterOptions = {
  /** Whether series are never built: the store is temporary. */
  hasNoSeries?: boolean
  /** Called once the connection is closed. */
  onClosed?: () => void
}

/** The writer over a connection, which it closes. */
export class SqliteWriter implements Writer {
  readonly #path: string
  readonly #connection: Connection
  readonly #options: SqliteWriterOptions
  readonly #wal: WalTruncation
  /** The numbers of the markets seen so far. Emptied if a commit fails, because that may have undone some. */
  readonly #markets: MarketNumbers = new Map()
  readonly #builder = new SeriesBuilder()
  #stored: StoredState

  constructor(path: string, connection: Connection, options: SqliteWriterOptions = {}) {
    this.#path = path
    this.#connection = connection
    this.#options = options
    this.#wal = new WalTruncation(path, connection)
    this.#stored = withSqliteErrors(path, () => this.#readStoredState())
  }

  async coverage(): Promise<Coverage | null> {
    this.#stored = withSqliteErrors(this.#path, () => {
      runSqliteQuery(this.#connection, refusePartOfCopy(this.#path))
      return this.#readStoredState()
    })
    return this.#stored.coverage
  }

  async commit(batch: Batch, coverage: Coverage): Promise<GainedRows> {
    const connection = this.#connection
    const gained: GainedRows = new Map()
    this.#write(() => {
      runSqliteMutation(connection, writeBatch(batch, this.#markets, this.#builder), gained)
      connection.runAll(coverageStatements(writtenCoverage(this.#stored.coverage, coverage)))
      connection.runAll(changeStatements(changesOf(batch)))
    })
    this.#stored.coverage = coverage
    return gained
  }

  async buildSeries(which: 'due' | 'all', signal?: AbortSignal): Promise<void> {
    if (this.#options.hasNoSeries) return
    const writeSeries = (mutation: () => Mutation) =>
      this.#write(() => {
        runSqliteMutation(this.#connection, mutation())
        // Answers do not change, but a commit that records nothing is taken for another program's (latest-freshness.ts).
        this.#connection.runAll(changeStatements([]))
      })
    await this.#builder.build(which, writeSeries, signal)
  }

  async close(): Promise<void> {
    try {
      this.#connection.closeWritten()
    } finally {
      this.#options.onClosed?.()
    }
  }

  /** Runs work in a transaction, and counts the commit. */
  #write(work: () => void): void {
    const connection = this.#connection
    try {
      withSqliteErrors(this.#path, () => {
        connection.refuseOtherFile()
        if (this.#wal.truncateIfLong()) this.#stored.walFrom = this.#stored.commits
        connection.transaction('immediate', () => {
          this.#refuseOtherWriter()
          work()
          connection.run(COUNT_COMMIT, [this.#stored.walFrom])
        })
        // If it has been removed meanwhile, nobody can read this commit.
        connection.refuseOtherFile()
      })
      this.#stored.commits += 1n
    } catch (error) {
      this.#markets.clear()
      this.#builder.clear()
      // Without its file SQLite fails in many ways.
      connection.refuseOtherFile()
      throw error
    }
  }

  #readStoredState(): StoredState {
    return this.#connection.transaction('deferred', () => {
      const { commits, walFrom, upkeepCommits } = this.#readCommits()
      // Read after the counter, which upkeep may increase at any time: the counted commits are then in the file.
      const isWalEmpty = walBytes(this.#path) === 0
      return {
        coverage: runSqliteQuery(this.#connection, readCoverage()),
        commits,
        upkeepCommits,
        walFrom: isWalEmpty ? commits : walFrom,
      }
    })
  }

  #readCommits(): Omit<StoredState, 'coverage'> {
    const counts = this.#connection.row(READ_COMMITS)!.map((count) => BigInt(count!))
    const [commits, walFrom, upkeepCommits] = counts as [bigint, bigint, bigint]
    return { commits, walFrom, upkeepCommits }
  }

  /** Fails if another program has written to the store: each of the two would continue from the other's changes. */
  #refuseOtherWriter(): void {
    const stored = this.#stored
    const { commits, upkeepCommits } = this.#readCommits()
    if (commits - upkeepCommits === stored.commits - stored.upkeepCommits) {
      this.#stored = { ...stored, commits, upkeepCommits }
      return
    }
    throw new StoreError(
      `${this.#path}: another program writes to this store; stop it, or let it finish first`,
    )
  }
}

/** Empties a long WAL, unless an older snapshot is being read: it then grows on, and emptying is tried again now and then. */
class WalTruncation {
  readonly #path: string
  readonly #connection: Connection
  /** The size from which it is copied to the file. */
  #copyAt = MAX_WAL_BYTES
  #retryAt = 0

  constructor(path: string, connection: Connection) {
    this.#path = path
    this.#connection = connection
  }

  /** Copies the WAL to the file if it is long and that is due. Returns whether the WAL is empty. */
  truncateIfLong(): boolean {
    const bytes = walBytes(this.#path)
    if (bytes === 0) {
      // A reader that has ended has emptied it (shorten-wal.ts).
      this.#copyAt = MAX_WAL_BYTES
      return true
    }
    const isDue = bytes >= MAX_WAL_BYTES && performance.now() >= this.#retryAt
    if (bytes < this.#copyAt && !isDue) return false
    const isEmpty = this.#connection.truncateWal()
    this.#copyAt = (isEmpty ? 0 : bytes) + MAX_WAL_BYTES
    this.#retryAt = performance.now() + EMPTY_WAL_RETRY_MS
    return isEmpty
  }
}

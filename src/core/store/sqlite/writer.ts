import type { Coverage } from '../../domain/coverage.ts'
import type { Batch } from '../../model/batch.ts'
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
const EMPTY_LOG_RETRY_MS = 5_000

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
    const writer = createSqliteWriter(path, connection)
    return { ...writer, close: () => writer.close().finally(unlock) }
  } catch (error) {
    unlock()
    throw error
  }
}

/** Creates the writer over a connection, which it closes. */
export function createSqliteWriter(path: string, connection: Connection): Writer {
  const keepWalShort = walKeeper(path, connection)
  /** The numbers of the markets seen so far. Emptied if a commit fails, because that may have undone some. */
  const markets: MarketNumbers = new Map()
  const builder = new SeriesBuilder()
  let stored = withSqliteErrors(path, readStoredState)

  async function coverage(): Promise<Coverage | null> {
    stored = withSqliteErrors(path, readStoredState)
    return stored.coverage
  }

  async function commit(batch: Batch, coverage: Coverage): Promise<GainedRows> {
    const gained: GainedRows = new Map()
    write(() => {
      runSqliteMutation(connection, writeBatch(batch, markets, builder), gained)
      connection.runAll(coverageStatements(writtenCoverage(stored.coverage, coverage)))
      connection.runAll(changeStatements(changesOf(batch)))
    })
    stored.coverage = coverage
    return gained
  }

  function buildSeries(which: 'due' | 'all', signal?: AbortSignal): Promise<void> {
    const writeSeries = (mutation: () => Mutation) =>
      write(() => {
        runSqliteMutation(connection, mutation())
        // Answers do not change, but a commit that records nothing is taken for another program's (latest-freshness.ts).
        connection.runAll(changeStatements([]))
      })
    return builder.build(which, writeSeries, signal)
  }

  function write(work: () => void): void {
    try {
      withSqliteErrors(path, () => {
        connection.refuseOtherFile()
        if (keepWalShort()) stored.walFrom = stored.commits
        connection.transaction('immediate', () => {
          refuseOtherWriter()
          work()
          connection.run(COUNT_COMMIT, [stored.walFrom])
        })
        // If it has been removed meanwhile, nobody can read this commit.
        connection.refuseOtherFile()
      })
      stored.commits += 1n
    } catch (error) {
      markets.clear()
      builder.clear()
      // Without its file SQLite fails in many ways.
      connection.refuseOtherFile()
      throw error
    }
  }

  function readStoredState(): StoredState {
    return connection.transaction('deferred', () => {
      const { commits, walFrom, upkeepCommits } = readCommits()
      // Read after the counter, which upkeep may increase at any time: the counted commits are then in the file.
      const isWalEmpty = walBytes(path) === 0
      return {
        coverage: runSqliteQuery(connection, readCoverage()),
        commits,
        upkeepCommits,
        walFrom: isWalEmpty ? commits : walFrom,
      }
    })
  }

  function readCommits(): Omit<StoredState, 'coverage'> {
    const [commits, walFrom, upkeepCommits] = connection.row(READ_COMMITS)!.map((count) => BigInt(count!))
    return { commits: commits!, walFrom: walFrom!, upkeepCommits: upkeepCommits! }
  }

  /** Fails if another program has written to the store: each of the two would continue from the other's changes. */
  function refuseOtherWriter(): void {
    const { commits, upkeepCommits } = readCommits()
    if (commits - upkeepCommits === stored.commits - stored.upkeepCommits) {
      stored = { ...stored, commits, upkeepCommits }
      return
    }
    throw new StoreError(`${path}: another program writes to this store; stop it, or let it finish first`)
  }

  return { coverage, commit, buildSeries, close: async () => connection.closeWritten() }
}

/**
 * Creates the function that copies a long WAL to the file, and returns whether the WAL is empty. The WAL keeps growing
 * while an older snapshot is being read.
 */
function walKeeper(path: string, connection: Connection): () => boolean {
  /** The size from which it is copied to the file. */
  let copyAt = MAX_WAL_BYTES
  let retryAt = 0
  return () => {
    const bytes = walBytes(path)
    if (bytes === 0) {
      // A reader that has ended has emptied it (shorten-wal.ts).
      copyAt = MAX_WAL_BYTES
      return true
    }
    if (bytes < copyAt && (bytes < MAX_WAL_BYTES || performance.now() < retryAt)) return false
    const isEmpty = connection.truncateWal()
    copyAt = (isEmpty ? 0 : bytes) + MAX_WAL_BYTES
    retryAt = performance.now() + EMPTY_LOG_RETRY_MS
    return isEmpty
  }
}

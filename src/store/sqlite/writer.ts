import type { Coverage } from '../../domain/coverage.ts'
import type { Batch } from '../../resources/batch.ts'
import { changesOf, noteChanges } from '../changes.ts'
import { RANGES, type RangesName, readCoverage, streamValues } from '../readings/coverage.ts'
import { WRITE_STREAM } from '../statements.ts'
import { StoreError, type Writer, type WriterOptions } from '../store.ts'
import type { MarketNumbers } from '../writing/market-numbers.ts'
import { writeSteps } from '../writing/write-batch.ts'
import { Connection, explained, refuseReadOnly } from './connection.ts'
import { logBytes } from './log-check.ts'
import { runReading, runSteps } from './run-steps.ts'

const READ_COMMITS = `
  select cast(commits as text), cast(log_from as text), cast(upkeep_commits as text) from store_file`

const COUNT_COMMIT = 'update store_file set commits = commits + 1, log_from = $1'

/** The log is copied to the file once it holds this many bytes. */
const MAX_LOG_BYTES = 4 * 1024 * 1024

/** How often a log that could not be emptied is tried again, milliseconds, however little is written meanwhile. */
const RETRY_MS = 5_000

/** What the store holds after the writer's last commit. */
type Known = {
  coverage: Coverage | null
  /** The number of commits so far, by this writer, all before it, and upkeep. */
  commits: bigint
  /** How many of them are upkeep's, which takes rows out beside a writer at work (pruner.ts). */
  upkeepCommits: bigint
  /** How many of them the file held when its present log began (log-check.ts). */
  logFrom: bigint
}

/** Opens a writer on a separate connection; makes the store or brings its schema up to date where needed. */
export function openSqliteWriter(path: string, { durable = false, onNotice }: WriterOptions = {}): Writer {
  refuseReadOnly(path)
  const connection = Connection.openMigrated(path, onNotice)
  if (durable) connection.flushEveryCommit()
  /** Numbers of the markets seen; emptied when a commit fails, for it may have taken some back. */
  const markets: MarketNumbers = new Map()
  let known = explained(path, readKnown)
  /** The log's size at which it is to be copied to the file. */
  let copyAt = MAX_LOG_BYTES
  let retryAt = 0

  function writeRanges(name: RangesName, after: Coverage): void {
    if (after[name] === known.coverage?.[name]) return
    const { remove, insert, valuesOf } = RANGES[name]
    connection.run(remove)
    for (const values of valuesOf(after)) connection.run(insert, values)
  }

  function writeRows(batch: Batch, after: Coverage): void {
    // Before the rows, which look into it.
    writeRanges('imported', after)
    runSteps(connection, writeSteps(batch, { before: known.coverage, after }, markets))
  }

  function writeCoverage(coverage: Coverage): void {
    connection.run(WRITE_STREAM, streamValues(coverage))
    writeRanges('gaps', coverage)
    writeRanges('resourceGaps', coverage)
  }

  function readKnown(): Known {
    return connection.transaction('deferred', () => {
      const [commits, logFrom, upkeepCommits] = connection.row(READ_COMMITS) as [string, string, string]
      // Read after the count, which upkeep may raise at any time: what is counted stands in the file then.
      const isLogEmpty = logBytes(path) === 0
      return {
        coverage: runReading(connection, readCoverage()),
        commits: BigInt(commits),
        upkeepCommits: BigInt(upkeepCommits),
        logFrom: BigInt(isLogEmpty ? commits : logFrom),
      }
    })
  }

  /** Two programs that write to one store would each continue from what the other has changed. */
  function refuseOtherWriter(): void {
    const [commits, , upkeep] = connection.row(READ_COMMITS) as [string, string, string]
    const upkeepCommits = BigInt(upkeep)
    if (BigInt(commits) - upkeepCommits === known.commits - known.upkeepCommits) {
      known = { ...known, commits: BigInt(commits), upkeepCommits }
      return
    }
    throw new StoreError(`${path}: another program writes to this store; let one of them finish first`)
  }

  function refuseOtherFile(): void {
    if (connection.isInPlace) return
    throw new StoreError(
      `${path}: the store has been removed or replaced meanwhile; nothing more is written. Start again`,
    )
  }

  /** Copies a long log to the file. While a reader of an older snapshot is in the way it grows on. */
  function keepLogShort(): void {
    const bytes = logBytes(path)
    if (bytes === 0) {
      // Someone who has read for long has emptied it (shorten-log.ts).
      known.logFrom = known.commits
      copyAt = MAX_LOG_BYTES
      return
    }
    if (bytes < copyAt && (bytes < MAX_LOG_BYTES || performance.now() < retryAt)) return
    const isEmpty = connection.truncateLog()
    if (isEmpty) known.logFrom = known.commits
    copyAt = (isEmpty ? 0 : bytes) + MAX_LOG_BYTES
    retryAt = performance.now() + RETRY_MS
  }

  return {
    coverage: async () => {
      known = explained(path, readKnown)
      return known.coverage
    },

    commit: async (batch, coverage) => {
      try {
        explained(path, () => {
          refuseOtherFile()
          keepLogShort()
          connection.transaction('immediate', () => {
            refuseOtherWriter()
            writeRows(batch, coverage)
            writeCoverage(coverage)
            connection.run(COUNT_COMMIT, [known.logFrom])
            connection.runAll(noteChanges(changesOf(batch)))
          })
        })
        known = { ...known, coverage, commits: known.commits + 1n }
      } catch (error) {
        markets.clear()
        throw error
      }
    },

    close: async () => connection.closeWritten(),
  }
}

import type { Coverage, Gap } from '../domain/coverage.ts'
import type { Batch } from '../resources/batch.ts'
import type { StoreVersion } from './changes.ts'
import type { BackupOptions, ClusterFaults, DatabaseCheck, StoreFacts } from './inspection.ts'
import type { Freshness, Lines, LinesQuery, Page, PageQuery, Position, Reading } from './pages/page.ts'
import type { Pruner } from './pruning/pruner.ts'
import type { TableReader, TableWriter } from './tables.ts'

/** Which part of what a store holds is asked for: gaps by height, and rows by market, each from a place on. */
export type HoldingsQuery = {
  /** Rows of this market alone; null: of all. */
  marketId: string | null
  /** Gaps that begin at this height or above it; null: none. */
  fromHeight: bigint | null
  /** Markets whose id is greater than this; null: none. */
  afterMarket: string | null
  /** Gaps at most, and markets at most in each list; null: all. */
  limit: number | null
}

/** Everything that a store holds. */
export const ALL_HOLDINGS: HoldingsQuery = { marketId: null, fromHeight: 0n, afterMarket: '', limit: null }

/** The gaps that keep a store from being current, in short. */
export type GapSummary = {
  count: number
  /** The lowest ones. */
  first: Gap[]
  /** The time of the last block, Unix nanoseconds. */
  timestamp: bigint
}

/** How many rows of a market there are, and the times of the first and the last. */
export type HeldOfMarket = { marketId: string; count: string; firstTimestamp: string; lastTimestamp: string }

/** How much there is of each resource; numbers are text. Of those that are not named here, how many rows. */
export type HeldRows = {
  /** Times are those of the blocks that they came in. */
  checkpoints: { count: string; firstTimestamp: string | null; lastTimestamp: string | null }
  fundingPeriodDataPoints: HeldOfMarket[]
  /** Times are those at which periods began. */
  fundingPeriods: HeldOfMarket[]
  instruments: { count: string }
  /** `atBlock` is the block of the market's latest list. */
  liquidityProviders: { marketId: string; count: string; atBlock: string }[]
}

/** What a store holds, in counts and ends; numbers are text. */
export type Holdings = HeldRows & {
  /** With the gaps that were asked for. */
  coverage: Coverage
  /** Where the rest of gaps and markets begins; null if this is all. */
  next: Pick<HoldingsQuery, 'fromHeight' | 'afterMarket'> | null
  /** Null if nothing has been pruned. */
  prunedBefore: PrunedBefore | null
}

/**
 * How far rows have been pruned: those of an earlier time (Unix nanoseconds), those of
 * a lower height; null where never by that measure. Rows of before may have come since, with a gap that was
 * filled.
 */
export type PrunedBefore = { timestamp: string | null; height: string | null }

/** What readings need to know of a store. */
export type StoreTraits = {
  /** Whether the tables are spread over the machines of a cluster. */
  isSpread: boolean
}

/**
 * Reads from a store. Every call is one snapshot.
 *
 * Each method rejects with {@link StoreUnavailableError} while the store cannot be read.
 */
export type Reader = {
  page(query: PageQuery): Promise<Page>
  /** Runs the statements of a reading; the reading is made anew for each store that is tried. */
  read<T>(reading: (traits: StoreTraits) => Reading<T>): Promise<T>
  /**
   * How the store stands, and what has changed since a version; null: anything may have. Of several servers it is the
   * one that is furthest on: a page that another one gives may be of an earlier version, which the page names.
   */
  freshness(since: StoreVersion | null): Promise<Freshness>
  /**
   * As {@link Reader.freshness}, if that has been asked in this round of the event loop and the store then stood at
   * the version: what was sent to this process before cannot know of a newer one. Null if it is to be asked.
   */
  recentFreshness?(since: StoreVersion): Freshness | null
  /** Opens one snapshot for any number of pages, on a separate connection. */
  openSnapshot(): Promise<Snapshot>
  close(): Promise<void>
  /** The log of a store in a file. */
  log?: StoreLog
  /** What is wrong with the cluster, if the store can be spread over one; null if it is not. */
  clusterFaults?(): Promise<ClusterFaults | null>
  /** The replicas that are read from, if there are any. */
  replicas?(): ReplicaState[]
}

/**
 * What is committed and not copied to the store's file yet, of a store in a file. A reader of an old snapshot keeps
 * it from being emptied.
 */
export type StoreLog = {
  /** Its size now; 0 if there is none. */
  bytes(): number
  /** Copies a log that has grown long, and empties it unless an old snapshot is still being read. */
  shorten(): void
}

/**
 * The store as it was at one moment, whatever is written meanwhile, until it is closed: a short-lived thing, since
 * the database keeps what has been replaced since for as long.
 */
export type Snapshot = {
  /** The last block of the snapshot; null in an empty store. */
  position: Position | null
  page(query: PageQuery): Promise<Page>
  /** The rows of a page as lines of an export, if the database writes them. */
  lines?(query: LinesQuery): Promise<Lines>
  /** Runs the statements of a reading, one after another: each is yielded and wants its rows. */
  read<T>(reading: Reading<T>): Promise<T>
  close(): Promise<void>
}

/** How a replica stands. */
export type ReplicaState = {
  name: string
  /** The last height that it named; null if it is empty, or was never reached. */
  height: string | null
  /** Why it is not asked; null while it is. */
  fault: string | null
}

/** Writes to a store; there is one writer at a time. */
export type Writer = {
  /** What the store holds; null if it is empty. */
  coverage(): Promise<Coverage | null>
  /** Commits what a run of blocks changes together with what the store then holds: all of it, or nothing. */
  commit(batch: Batch, coverage: Coverage): Promise<void>
  close(): Promise<void>
}

/** How a writer is opened. */
export type WriterOptions = {
  /** Ends waiting: for another writer to go, for a database to come back. */
  signal?: AbortSignal
  /** Whether a commit is to be safe from a loss of power when it returns. */
  durable?: boolean
  /** Called with a line for every wait. */
  onNotice?: (message: string) => void
  /** Called when it begins to wait for another writer to go, and when that is gone. */
  onStandby?: (isStandby: boolean) => void
}

/** How a reader is opened. */
export type ReaderOptions = {
  /** Whether the thread pauses now and then in a long page, so that others get the processor; for an embedded store. */
  pausesInLongPages?: boolean
  /** Called with a line if the server gives no further connection. */
  onNotice?: (message: string) => void
}

/** A place that holds a network's data, opened for reading and for writing by separate connections. */
export type Store = {
  /** How the store is named to people: never with a password in it. */
  name: string
  /** As much of the name as anyone may be shown: no folder, host or user. */
  publicName: string
  /** Whether the database is a library within this program: who reads occupies the thread that asks. */
  isEmbedded: boolean
  /** Null if the store has none. */
  log: StoreLog | null
  /** Opens for writing; makes the store, or brings its schema up to date, where needed. */
  openWriter(options?: WriterOptions): Promise<Writer>
  /** Opens for reading what is there already. Throws, as all that follow, if the schema is not the program's. */
  openReader(options?: ReaderOptions): Promise<Reader>
  /** The version of the store's schema; 0 if there is no store yet. */
  schemaVersion(): Promise<number>
  /** Makes the store, or brings its schema up to date, all at once; `onNotice` is called with the progress. */
  migrate(onNotice?: (message: string) => void): Promise<void>
  /** Spreads the tables over the machines of a cluster; absent if the store cannot be on several. */
  distribute?(): Promise<void>
  /** Opens the tables as they are, in one snapshot. */
  openTableReader(): Promise<TableReader>
  /** Opens the tables as they are, to be written. */
  openTableWriter(): Promise<TableWriter>
  /** Opens for deleting old rows, beside a writer. */
  openPruner(): Promise<Pruner>
  /** What the store is; changes nothing, and throws {@link StoreError} if there is no store. */
  inspect(): Promise<StoreFacts>
  /** Has the database check its files, tables and indexes; changes nothing. */
  checkDatabase(): Promise<DatabaseCheck>
  /**
   * Writes a copy of the store, as of one moment, to a file, while the store is in use; absent if its database has tools of
   * its own for that.
   *
   * @throws {StoreError} if the file exists already.
   */
  backup?(file: string, options?: BackupOptions): Promise<void>
  /** How to copy the store to a file with the tools of its database; absent if the store does it. */
  backupAdvice?(file: string): Promise<string>
}

/** A store that cannot be used until an operator intervenes; the message says how. */
export class StoreError extends Error {
  override name = 'StoreError'
}

/** The store's server cannot be reached at the moment: it is down, starts, or has too many connections. */
export class StoreAwayError extends StoreError {
  override name = 'StoreAwayError'
}

/** The store refuses this user, is not there, or is of another chain: nothing that comes by itself mends that. */
export class StoreRefusedError extends StoreError {
  override name = 'StoreRefusedError'
}

/** A store of another chain than `--chain` names. */
export function otherChain(name: string, chain: string, held: string): StoreRefusedError {
  return new StoreRefusedError(
    `--chain is ${JSON.stringify(chain)}, but ${name} is of chain ${JSON.stringify(held)}: give that chain, or another --store`,
  )
}

/** A store that is temporarily unavailable. */
export class StoreUnavailableError extends Error {
  override name = 'StoreUnavailableError'
}

/** What a reader rejects with: a store that cannot be used counts as temporarily unavailable. */
export function asUnavailable(error: unknown): unknown {
  return error instanceof StoreError ? new StoreUnavailableError(error.message, { cause: error }) : error
}

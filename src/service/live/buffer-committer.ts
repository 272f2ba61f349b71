import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { ChainError, GapError, StrictError } from '#core/blocks/block'
import { BlockAssembler } from '#core/blocks/block-assembler'
import type { Coverage } from '#core/domain/coverage'
import type { LeftOutReason } from '#core/events/left-out'
import { BatchWriter } from '#core/ingest/batch-writer'
import { RecordFramer, type RecordSink } from '#core/records/record-framer'
import { EventStreamError, type RecordPosition } from '#core/records/record-position'
import {
  otherChain,
  StoreError,
  StoreLockedError,
  StoreRefusedError,
  StoreUnavailableError,
} from '#core/store/errors'
import { readAcceptedGaps, readCoverage } from '#core/store/queries/coverage'
import { readStore } from '#core/store/read-store'
import type { Store, Writer } from '#core/store/store'
import { type BufferedEvents, BufferReadError } from './buffered-events.ts'
import type { BufferPosition } from './event-buffer.ts'
import { untilGapClosed } from './gap-closing.ts'

/** Wait before retrying a write that the store refused, milliseconds. */
const COMMIT_RETRY_MS = 1_000

/** The writer's lock is let go once no core has been connected, and nothing was left to commit, for so many looks. */
const IDLE_LOOKS = 5
const IDLE_LOOK_MS = 1_000

export type CommitterOptions = {
  store: Store
  /** The required chain of events; null: that of the store, or of an empty store's first complete block. */
  chain: string | null
  allowGap: boolean
  strict: boolean
  log: Logger
  signal: AbortSignal
  onLeftOut: (reason: LeftOutReason, position: RecordPosition) => void
}

/** The end of a time as the store's writer: everything before the position was read, and is committed but for an open block. */
type Lapse = { readUpTo: BufferPosition; isWhole: boolean }

export type CommitterListener = {
  /** Whether a core is connected. */
  isCoreConnected(): boolean
  /** The store was opened, and has blocks. */
  onOpened(coverage: Coverage): void
  onCommit(coverage: Coverage): void
  /** Everything before a position is committed. */
  onRelease(before: BufferPosition): void
  /** The failure has changed. */
  onChange(): void
}

/**
 * Commits the buffered events and new ones. It is the store's writer only while it has something to commit or a core is
 * connected: another service, or a command, may write meanwhile.
 */
export function createBufferCommitter(
  buffer: BufferedEvents,
  options: CommitterOptions,
  listener: CommitterListener,
) {
  const { store, chain, log, signal } = options
  /** The fault that keeps the ingestion from committing; null without one. */
  let failure: string | null = null
  /** The position up to which the buffer is committed; null unless the run has ended between two blocks. */
  let committedUpTo: BufferPosition | null = null
  /** The file being read, for naming the place of a gap. */
  let file = 0
  /** Whether this is the store's writer. */
  let isWriter = false

  /** Commits until the signal is aborted (null), or the store refuses this user (why). */
  async function run(): Promise<StoreRefusedError | null> {
    let from: BufferPosition | null = null
    /** Everything before it has been read. */
    let readUpTo: BufferPosition | null = null
    let isStoreReady = false
    while (!signal.aborted) {
      try {
        if (!isStoreReady) {
          await reportingFaults(prepareStore)
          isStoreReady = true
          resumed()
        }
        await buffer.untilMore(readUpTo ?? buffer.start(), signal)
        if (signal.aborted) break
        const lapse = await openAndCommit(from ?? buffer.start())
        readUpTo = lapse.readUpTo
        from = lapse.isWhole ? lapse.readUpTo : null
      } catch (error) {
        if (signal.aborted) break
        if (error instanceof StoreRefusedError) return error
        if (!(error instanceof StoreError || error instanceof EventStreamError)) throw error
        from = readUpTo = null
        if (error instanceof GapError) from = await untilGapClosed(error, file, buffer, store, signal)
        // Waiting cannot repair the input.
        else if (error instanceof EventStreamError) await once(signal, 'abort')
        else await sleep(COMMIT_RETRY_MS, undefined, { signal }).catch(() => {})
      }
    }
    return null
  }

  const onNotice = (message: string) => log.warn(message)

  /** Makes the store, or brings it up to date, unless another process is its writer, which has done so. */
  async function prepareStore(): Promise<void> {
    let writer: Writer | null = null
    try {
      writer = await store.openWriter({ signal, onNotice, isImpatient: true })
      opened(await writer.coverage())
    } catch (error) {
      if (!(error instanceof StoreLockedError)) throw error
      log.warn(`${error.message}; standing by`)
      opened(await readStore(store, readCoverage))
    } finally {
      await writer?.close()
    }
  }

  function opened(stored: Coverage | null): void {
    if (stored === null) return
    if (chain !== null && stored.chainId !== chain) throw otherChain(store.name, chain, stored.chainId)
    listener.onOpened(stored)
  }

  async function reportingFaults<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (thrown) {
      // A reader's fault, of which the cause is known.
      const { cause } = thrown as Error
      const error = thrown instanceof StoreUnavailableError && cause instanceof StoreError ? cause : thrown
      const isExpected = error instanceof StoreError || error instanceof EventStreamError
      if (!signal.aborted && isExpected && !(error instanceof StoreRefusedError))
        fail(`${error.message}${remedyOf(error)}`)
      throw error
    }
  }

  async function openAndCommit(from: BufferPosition): Promise<Lapse> {
    let writer: Writer | null = null
    try {
      return await reportingFaults(async () => {
        writer = await store.openWriter({ durable: true, signal, onNotice })
        isWriter = true
        return commitFrom(from, writer)
      })
    } finally {
      // After another failure, the cause is the same.
      await (writer as Writer | null)?.close().catch((error: Error) => failure ?? fail(error.message))
      isWriter = false
    }
  }

  /** Commits from a buffer position on, until the signal is aborted, nothing is left to do for long, or an error occurs. */
  async function commitFrom(from: BufferPosition, writer: Writer): Promise<Lapse> {
    const batches = new BatchWriter(writer, listener.onCommit)
    const held = await writer.coverage()
    opened(held)
    const accepted = await readStore(store, readAcceptedGaps)
    const createAssembler = () =>
      new BlockAssembler({
        ...options,
        accepted,
        coverage: held,
        onBlock: (block) => batches.add(block),
      })
    let assembler = createAssembler()
    const accept: RecordSink = (bytes, start, end, record) => {
      try {
        assembler.accept(bytes, start, end, record)
      } catch (error) {
        // Until a block is complete, a store has no chain: another core may have connected.
        if (!(error instanceof ChainError) || assembler.coverage !== null) throw error
        log.warn(`live ingestion: ${error.message}. No block was complete before it: its events are dropped`)
        assembler = createAssembler()
        assembler.accept(bytes, start, end, record)
      }
      if (chain === null || assembler.chainId === chain) return
      throw new ChainError(
        `an event of chain ${JSON.stringify(assembler.chainId)}, but --chain is ${JSON.stringify(chain)}`,
        record,
      )
    }
    let position = from
    let framer: RecordFramer | null = null
    const lapse = new AbortController()
    const either = AbortSignal.any([signal, lapse.signal])
    let idleLooks = 0
    const looking = setInterval(() => {
      idleLooks = buffer.isAtEnd(position) && !listener.isCoreConnected() ? idleLooks + 1 : 0
      if (idleLooks >= IDLE_LOOKS) lapse.abort()
    }, IDLE_LOOK_MS)
    const commit = async () => {
      await batches.commit(assembler.coverage)
      if (assembler.pendingHeight === null) {
        buffer.release(position)
        listener.onRelease(position)
      }
      resumed()
    }
    try {
      for (;;) {
        const piece = await buffer.read(position, either)
        if (piece === null) {
          await commit()
          const isWhole = assembler.pendingHeight === null
          committedUpTo = isWhole ? position : null
          return { readUpTo: position, isWhole }
        }
        framer ??= new RecordFramer(piece.path, accept, piece.offset)
        file = piece.file
        framer.push(piece.bytes)
        position = piece.next
        if (piece.lastOfFile) {
          refuseCutRecord(framer)
          framer = null
        }
        if (batches.isDue() || buffer.isAtEnd(position)) await commit()
      }
    } catch (error) {
      // The whole blocks before it are good.
      if (error instanceof EventStreamError || error instanceof BufferReadError)
        await batches.commit(assembler.coverage)
      throw error
    } finally {
      clearInterval(looking)
    }
  }

  function fail(message: string): void {
    if (failure !== message) log.error(`live ingestion: ${message}`)
    failure = message
    listener.onChange()
  }

  function resumed(): void {
    if (failure === null) return
    log.info('live ingestion: resumed')
    failure = null
    listener.onChange()
  }

  return {
    get failure(): string | null {
      return failure
    },
    get committedUpTo(): BufferPosition | null {
      return committedUpTo
    },
    get isWriter(): boolean {
      return isWriter
    },
    run,
  }
}

export type BufferCommitter = ReturnType<typeof createBufferCommitter>

/** @throws {EventStreamError} for a file that ends within a record although another one follows. */
function refuseCutRecord(framer: RecordFramer): void {
  const cut = framer.end()
  if (cut === null) return
  throw new EventStreamError('the file ends within a record: it is damaged here', {
    ...framer.position,
    record: framer.position.record + 1,
    offset: cut.offset,
  })
}

/** A remedy for events in the buffer that cannot be ingested, added to the error's message. */
function remedyOf(error: Error): string {
  if (error instanceof GapError) return `. To do without them: lyra gap accept ${error.from} ${error.to}`
  if (!(error instanceof EventStreamError) || error instanceof StrictError) return ''
  if (error instanceof ChainError)
    return '. The buffer has events of that chain: give each chain its own --buffer, too'
  return (
    '. The buffer cannot be read past this point: stop the service, move this file and those with higher numbers out of ' +
    'the buffer, start it again (docs/repair.md, a damaged buffer file)'
  )
}

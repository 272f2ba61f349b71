import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { ChainError, GapError, StrictError } from '#core/blocks/block'
import { createBlockAssembler } from '#core/blocks/block-assembler'
import type { Coverage } from '#core/domain/coverage'
import type { LeftOutReason } from '#core/events/left-out'
import { createBatchWriter } from '#core/ingest/batch-writer'
import { RecordFramer, type RecordSink } from '#core/records/record-framer'
import { EventStreamError, type RecordPosition } from '#core/records/record-position'
import { readStore } from '#core/store/read-store'
import { readAcceptedGaps } from '#core/store/readings/coverage'
import { otherChain, type Store, StoreError, StoreRefusedError, type Writer } from '#core/store/store'
import { type BufferedEvents, BufferReadError } from './buffered-events.ts'
import type { BufferPosition } from './event-buffer.ts'
import { untilGapClosed } from './gap-closing.ts'

/** Wait before retrying a write that the store refused, milliseconds. */
const COMMIT_RETRY_MS = 1_000

export type CommitterOptions = {
  store: Store
  /** The required chain of events; null: that of the store, or of an empty store's first complete block. */
  chain: string | null
  allowGap: boolean
  strict: boolean
  log: Logger
  signal: AbortSignal
  onStandby?: (isStandby: boolean) => void
  onLeftOut: (reason: LeftOutReason, position: RecordPosition) => void
}

export type CommitterListener = {
  /** The store was opened, and has blocks. */
  onOpened(coverage: Coverage): void
  onCommit(coverage: Coverage): void
  /** Everything before a position is committed. */
  onRelease(before: BufferPosition): void
  /** The failure has changed. */
  onChange(): void
}

/** Commits the buffered events and new ones. */
export function createBufferCommitter(
  buffer: BufferedEvents,
  options: CommitterOptions,
  listener: CommitterListener,
) {
  const { store, chain, log, signal, onStandby } = options
  /** The fault that keeps the ingestion from committing; null without one. */
  let failure: string | null = null
  /** The position up to which the buffer is committed; null unless the run has ended between two blocks. */
  let committedUpTo: BufferPosition | null = null
  /** The file being read, for naming the place of a gap. */
  let file = 0

  /** Commits until the signal is aborted (null), or the store refuses this user (why). */
  async function run(): Promise<StoreRefusedError | null> {
    let from: BufferPosition | null = null
    while (!signal.aborted) {
      try {
        await openAndCommit(from ?? buffer.start())
      } catch (error) {
        if (signal.aborted) break
        if (error instanceof StoreRefusedError) return error
        if (!(error instanceof StoreError || error instanceof EventStreamError)) throw error
        from = null
        if (error instanceof GapError) from = await untilGapClosed(error, file, buffer, store, signal)
        // Waiting cannot repair the input.
        else if (error instanceof EventStreamError) await once(signal, 'abort')
        else await sleep(COMMIT_RETRY_MS, undefined, { signal }).catch(() => {})
      }
    }
    return null
  }

  async function openAndCommit(from: BufferPosition): Promise<void> {
    let writer: Writer | null = null
    try {
      writer = await store.openWriter({
        durable: true,
        signal,
        onNotice: (message) => log.warn(message),
        ...(onStandby && { onStandby }),
      })
      await commitFrom(from, writer)
    } catch (error) {
      const isExpected = error instanceof StoreError || error instanceof EventStreamError
      if (!signal.aborted && isExpected && !(error instanceof StoreRefusedError))
        fail(`${error.message}${remedyOf(error)}`)
      throw error
    } finally {
      // After another failure, the cause is the same.
      await writer?.close().catch((error: Error) => failure ?? fail(error.message))
    }
  }

  /** Commits from a buffer position on, until the signal is aborted or an error occurs. */
  async function commitFrom(from: BufferPosition, writer: Writer): Promise<void> {
    const batches = createBatchWriter(writer, listener.onCommit)
    const held = await writer.coverage()
    if (held !== null) {
      if (chain !== null && held.chainId !== chain) throw otherChain(store.name, chain, held.chainId)
      listener.onOpened(held)
    }
    const accepted = await readStore(store, readAcceptedGaps)
    const createAssembler = () =>
      createBlockAssembler({
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
        const piece = await buffer.read(position, signal)
        if (piece === null) {
          await commit()
          committedUpTo = assembler.pendingHeight === null ? position : null
          return
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

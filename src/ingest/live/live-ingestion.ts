import { createReadStream } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { ChainError, GapError, StrictError } from '../../blocks/block.ts'
import { BlockAssembler } from '../../blocks/block-assembler.ts'
import type { Coverage } from '../../domain/coverage.ts'
import type { LeftOutReason } from '../../events/left-out.ts'
import { RecordFramer, type RecordSink } from '../../records/record-framer.ts'
import { EventStreamError, type RecordPosition } from '../../records/record-position.ts'
import { readStore } from '../../store/read-store.ts'
import { readCoverage } from '../../store/readings/coverage.ts'
import {
  otherChain,
  type Store,
  StoreAwayError,
  StoreError,
  StoreRefusedError,
  type Writer,
} from '../../store/store.ts'
import { BatchWriter } from '../batch-writer.ts'
import type { ForwardSettings, ForwardState } from '../forward/forward-state.ts'
import { startForwarding } from '../forward/start-forwarding.ts'
import { createAllowList } from './allow-list.ts'
import { type BufferPosition, EventBuffer } from './event-buffer.ts'
import { FaultLog } from './fault-log.ts'
import { findBlock } from './find-block.ts'
import { IncomingCheck, type PinnedChain, RefusedMessageError } from './incoming-check.ts'
import { type ConnectionFault, isFaultOfCore, listenPair, type PairListener } from './pair-socket.ts'
import { repairBufferFile } from './repair.ts'

/** A buffer file is followed by another one at this size. */
const MAX_FILE_BYTES = 64 * 1024 * 1024

const PIECE_BYTES = 1024 * 1024

/** How long ingestion waits before it tries again what the store has refused. */
const RETRY_MS = 1_000

/** The state of a live ingestion. */
export type LiveState = {
  /** The core that is connected; null where none is. */
  peer: string | null
  /** Events received since the start. */
  received: number
  /** Bytes in the buffer that are not committed. */
  bufferedBytes: number
  /** What keeps the ingestion from committing; null while nothing does. */
  failure: string | null
  /** Connections closed by the service since the start, by reason. */
  faults: Partial<Record<ConnectionFault, number>>
  /** How the forwarding stands; null where nothing is forwarded. */
  forward: ForwardState | null
}

export type LiveOptions = {
  store: Store
  host: string
  port: number
  /** Addresses and networks that may dial in; none: all may. */
  from: readonly string[]
  /** The chain that events must be of; null: that of the store, and of the first whole block of an empty one. */
  chain: string | null
  /** Folder of the buffer. */
  buffer: string
  /** Folder that takes buffer files once they are committed; null: they are removed. */
  archive: string | null
  /** Where to pass on what the core sends; null: nowhere. */
  forward: ForwardSettings | null
  allowGap: boolean
  strict: boolean
  log: Logger
  logLevel: string
  signal: AbortSignal
  onStandby?: (isStandby: boolean) => void
  onState: (state: LiveState) => void
  onCommit: (coverage: Coverage) => void
  onLeftOut: (reason: LeftOutReason, position: RecordPosition) => void
}

/** A live ingestion that listens, and buffers what it receives. */
export type LiveIngestion = {
  port: number
  /**
   * Commits what is and comes in the buffer, until the signal is aborted.
   *
   * @throws {StoreRefusedError} where the store refuses this user.
   */
  run(): Promise<void>
}

/**
 * Listens for the core. What arrives goes to the buffer on disk first, and is committed from there: the core
 * does not send again what was sent.
 */
export async function startLiveIngestion(options: LiveOptions): Promise<LiveIngestion> {
  const { store, log, signal, onState } = options
  const state: LiveState = {
    peer: null,
    received: 0,
    bufferedBytes: 0,
    failure: null,
    faults: {},
    forward: null,
  }
  const forwarding =
    options.forward === null
      ? null
      : startForwarding(options.forward, { buffer: options.buffer, logLevel: options.logLevel, log })
  const buffer = new EventBuffer({
    folder: options.buffer,
    archive: options.archive,
    maxFileBytes: Math.min(MAX_FILE_BYTES, (options.forward?.limitBytes ?? Number.POSITIVE_INFINITY) / 16),
    onNotice: (message) => log.error(message),
    follower: forwarding?.follower ?? null,
  })
  const { chain } = options
  const faults = new FaultLog(log)
  const incoming = new IncomingCheck(await pinnedChain(store, chain, buffer.paths), ({ height }) => {
    if (connectionFault !== null) recoveryHeight ??= height
  })
  /** What was wrong with what a core sent; null once a block that came afterwards is committed. */
  let connectionFault: string | null = null
  /** The first whole block that has come since. */
  let recoveryHeight: bigint | null = null
  let commitFault: string | null = null

  function report(): void {
    state.failure = commitFault ?? connectionFault
    state.bufferedBytes = buffer.bytes
    state.forward = forwarding?.state() ?? null
    onState(state)
  }

  function takeMessage(message: Buffer): void {
    const { isWhole, dropsBlock } = incoming.check(message)
    if (dropsBlock) buffer.dropOpenBlock()
    state.received++
    buffer.append(message, isWhole)
  }

  /** Nothing more is read before what has been read is written: a killed process loses as little as can be. */
  function writeMessages(): void {
    const blocked = buffer.write()
    if (blocked === null) return
    socket.pause()
    void blocked.then(socket.resume)
  }

  const listener: PairListener = {
    onConnected: (peer) => {
      log.info(`core connected from ${peer}`)
      state.peer = peer
      incoming.connected()
      report()
    },
    onDisconnected: (peer, reason) => {
      log.warn(`core at ${peer} gone: ${reason}`)
      state.peer = null
      report()
    },
    onMessage: takeMessage,
    onRead: writeMessages,
    onFault: (fault, message) => {
      state.faults[fault] = (state.faults[fault] ?? 0) + 1
      faults.add(fault, message)
      if (isFaultOfCore(fault)) {
        // What the connection has sent of a block cannot be trusted to be whole; the core sends it again.
        incoming.dropOpenBlock()
        buffer.dropOpenBlock()
        connectionFault = withoutAddress(message)
        recoveryHeight = null
      }
      report()
    },
  }
  for (const path of buffer.paths) {
    const cut = await repairBufferFile(path)
    if (cut > 0) log.warn(`${path}: ${cut} bytes after the last whole event removed`)
  }
  buffer.refresh()
  const socket = await listenPair(
    { host: options.host, port: options.port, allowed: createAllowList(options.from) },
    listener,
  )

  function committed(coverage: Coverage): void {
    incoming.pinned ??= { id: coverage.chainId, pinnedBy: 'the store holds' }
    if (recoveryHeight !== null && coverage.height >= recoveryHeight) {
      connectionFault = null
      recoveryHeight = null
    }
    options.onCommit(coverage)
  }

  const timer = setInterval(() => {
    faults.flush()
    report()
  }, 1_000)
  signal.addEventListener('abort', () => clearInterval(timer), { once: true })
  forwarding?.start()

  function fail(message: string): void {
    if (commitFault !== message) log.error(`live ingestion: ${message}`)
    commitFault = message
    report()
  }

  /** Commits from a place in the buffer on, until the signal is aborted or something stands in the way. */
  async function commitBuffer(writer: Writer, from: BufferPosition): Promise<void> {
    const batches = new BatchWriter(writer, committed)
    const held = await writer.coverage()
    if (held !== null) {
      if (chain !== null && held.chainId !== chain) throw otherChain(store.name, chain, held.chainId)
      incoming.pinned ??= { id: held.chainId, pinnedBy: 'the store holds' }
    }
    const createAssembler = () =>
      new BlockAssembler({
        coverage: held,
        onBlock: (block) => batches.add(block),
        onLeftOut: options.onLeftOut,
        allowGap: options.allowGap,
        strict: options.strict,
      })
    let assembler = createAssembler()
    const accept: RecordSink = (bytes, start, end, record) => {
      try {
        assembler.accept(bytes, start, end, record)
      } catch (error) {
        // Until a block is whole a store is of no chain: another core may have dialled in.
        if (!(error instanceof ChainError) || assembler.coverage !== null) throw error
        log.warn(`live ingestion: ${error.message}. No block was whole before: what came of it is dropped`)
        assembler = createAssembler()
        assembler.accept(bytes, start, end, record)
      }
      if (chain === null || assembler.chainId === chain) return
      throw new ChainError(
        `an event of chain ${JSON.stringify(assembler.chainId)}, where --chain names ${JSON.stringify(chain)}`,
        record,
      )
    }
    let position = from
    let framer: RecordFramer | null = null
    const commit = async () => {
      await batches.commit(assembler.coverage)
      if (assembler.pendingHeight === null) buffer.release(position)
      if (commitFault !== null) {
        log.info('live ingestion: resumed')
        commitFault = null
        report()
      }
    }
    try {
      for (;;) {
        const piece = await buffer.read(position, PIECE_BYTES, signal)
        if (piece === null) {
          await commit()
          committedUpTo = assembler.pendingHeight === null ? position : null
          return
        }
        framer ??= new RecordFramer(piece.path, accept, piece.offset)
        reading = piece.file
        framer.push(piece.bytes)
        position = piece.next
        if (piece.lastOfFile) framer = null
        if (batches.isDue || buffer.isAtEnd(position)) await commit()
      }
    } catch (error) {
      if (error instanceof EventStreamError) await batches.commit(assembler.coverage)
      throw error
    }
  }

  /** The file that is being read, for saying where a gap showed. */
  let reading = 0

  /**
   * Waits until a gap is closed: by an operator who has ingested the missing blocks (null), or by the core, which
   * has sent them again (their place in the buffer).
   */
  async function untilClosed(gap: GapError): Promise<BufferPosition | null> {
    const stop = new AbortController()
    const either = AbortSignal.any([signal, stop.signal])
    try {
      return await Promise.race([
        untilHeld(store, gap.to, either).then(() => null),
        findBlock(buffer, { file: reading, offset: gap.position.offset }, gap.from, either),
      ])
    } finally {
      stop.abort()
    }
  }

  /** Up to where all of the buffer is committed, once the ingestion has ended. */
  let committedUpTo: BufferPosition | null = null

  async function run(): Promise<void> {
    let writer: Writer | null = null
    const closeWriter = async () => {
      const closed = writer?.close()
      writer = null
      // After another fault it has the same cause.
      await closed?.catch((error: Error) => commitFault ?? fail(error.message))
    }
    let from: BufferPosition | null = null
    let refusal: StoreRefusedError | null = null
    while (!signal.aborted) {
      try {
        writer = await store.openWriter({
          durable: true,
          signal,
          onNotice: (message) => log.warn(message),
          ...(options.onStandby && { onStandby: options.onStandby }),
        })
        await commitBuffer(writer, from ?? buffer.start)
      } catch (error) {
        if (signal.aborted) break
        if (error instanceof StoreRefusedError) {
          refusal = error
          break
        }
        if (!(error instanceof StoreError || error instanceof EventStreamError)) throw error
        fail(`${error.message}${remedyOf(error)}`)
        await closeWriter()
        from = null
        if (error instanceof GapError) from = await untilClosed(error)
        else if (error instanceof EventStreamError) await aborted(signal)
        else await sleep(RETRY_MS, undefined, { signal }).catch(() => {})
      } finally {
        await closeWriter()
      }
    }
    await socket.close()
    faults.flush(true)
    await buffer.close()
    if (committedUpTo !== null) buffer.release(committedUpTo)
    await forwarding?.stop()
    clearInterval(timer)
    report()
    if (refusal !== null) throw refusal
  }

  return { port: socket.port, run }
}

/** Waits until the store holds the blocks up to a height, whoever ingests them. */
async function untilHeld(store: Store, height: bigint, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(RETRY_MS, undefined, { signal }).catch(() => {})
    const coverage = await coverageOf(store).catch(() => null)
    if (coverage !== null && coverage.height >= height) return
  }
}

/** Waits for the end: nothing that the program could wait for repairs the input. */
function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

/** What to do about events in the buffer that cannot be ingested; a gap and strictness name their own. */
function remedyOf(error: Error): string {
  if (!(error instanceof EventStreamError) || error instanceof GapError || error instanceof StrictError)
    return ''
  return (
    '. The buffer cannot be read beyond this place: stop the service, move this file and those of higher numbers out of ' +
    'the buffer, start it again (docs/operating.md, a buffer that cannot be read)'
  )
}

/** The chain that events must be of: that of --chain, of the store, or of the first whole block in the buffer. */
async function pinnedChain(
  store: Store,
  chain: string | null,
  paths: readonly string[],
): Promise<PinnedChain | null> {
  if (chain !== null) return { id: chain, pinnedBy: '--chain names' }
  const coverage = await coverageOf(store).catch((error: unknown) => {
    if (error instanceof StoreAwayError) return null
    throw error
  })
  if (coverage !== null) return { id: coverage.chainId, pinnedBy: 'the store holds' }
  const check = new IncomingCheck(null)
  for (const path of paths) {
    const framer = new RecordFramer(path, (bytes, start, end) => check.check(bytes.subarray(start, end)))
    try {
      for await (const chunk of createReadStream(path)) {
        framer.push(chunk as Buffer)
        if (check.pinned !== null) return { id: check.pinned.id, pinnedBy: 'the buffer holds' }
      }
    } catch (error) {
      // What is wrong with the buffer is said when it is read for the store.
      if (!(error instanceof EventStreamError || error instanceof RefusedMessageError)) throw error
    }
  }
  return null
}

function coverageOf(store: Store): Promise<Coverage | null> {
  return readStore(store, readCoverage)
}

/** Anyone may be shown the fault; the log names the core's address. */
function withoutAddress(message: string): string {
  return message.replace(/^\S+: /, 'the core: ')
}

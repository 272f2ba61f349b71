import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { GapError } from '../blocks/block.ts'
import { BlockAssembler } from '../blocks/block-assembler.ts'
import type { Coverage } from '../domain/coverage.ts'
import { createEnvelope, EVENT_KIND, readEnvelope } from '../events/bus-event.ts'
import type { LeftOutReason } from '../events/decode.ts'
import { BatchWriter } from '../intake/batch-writer.ts'
import { EventStreamError, type Place } from '../records/place.ts'
import { RecordFramer } from '../records/record-framer.ts'
import { type Store, StoreError, type Writer } from '../store/store.ts'
import { type BufferPosition, EventBuffer } from './event-buffer.ts'
import { findBlock } from './find-block.ts'
import { type ConnectionFault, listenPair } from './pair-socket.ts'
import { repairBufferFile } from './repair.ts'

/** A buffer file is followed by another one at this size. */
const MAX_FILE_BYTES = 64 * 1024 * 1024

/** Events that may wait in memory for the disk; the core has to wait beyond that. */
const MAX_PENDING_BYTES = 32 * 1024 * 1024

const PIECE_BYTES = 1024 * 1024

/** How long the intake waits before it tries again what the store has refused. */
const RETRY_MS = 1_000

/** How a live intake stands. */
export type LiveState = {
  /** The core that is connected; null where none is. */
  peer: string | null
  /** Events received since the start. */
  received: number
  /** Bytes in the buffer that are not committed. */
  bufferedBytes: number
  /** What keeps the intake from committing; null while nothing does. */
  failure: string | null
  /** Connections closed by this side since the start, by reason. */
  faults: Partial<Record<ConnectionFault, number>>
}

export type LiveOptions = {
  store: Store
  host: string
  port: number
  /** Folder of the buffer. */
  buffer: string
  /** Folder that takes buffer files once they are committed; null: they are removed. */
  archive: string | null
  allowGap: boolean
  strict: boolean
  log: Logger
  signal: AbortSignal
  onState: (state: LiveState) => void
  onCommit: (coverage: Coverage) => void
  onLeftOut: (reason: LeftOutReason, place: Place) => void
}

/** A live intake that listens, and buffers what it receives. */
export type LiveIntake = {
  port: number
  /** Commits what is and comes in the buffer, until the signal is aborted. */
  run(): Promise<void>
}

/**
 * Listens for the core. What arrives goes to the buffer on disk first, and is committed from there: the core
 * does not send again what was sent.
 */
export async function startLiveIntake(options: LiveOptions): Promise<LiveIntake> {
  const { store, log, signal, onState } = options
  const state: LiveState = { peer: null, received: 0, bufferedBytes: 0, failure: null, faults: {} }
  const buffer = new EventBuffer({
    folder: options.buffer,
    archive: options.archive,
    maxFileBytes: MAX_FILE_BYTES,
    onNotice: (message) => log.error(message),
  })
  const chain = await chainOf(store)
  const envelope = createEnvelope()
  let connectionFault: string | null = null
  let commitFault: string | null = null

  function report(): void {
    state.failure = commitFault ?? connectionFault
    state.bufferedBytes = buffer.bytes + buffer.pendingBytes
    onState(state)
  }

  function takeMessage(message: Buffer): void {
    const chainId = readOrigin(message)
    chain.id ??= chainId
    if (chainId !== chain.id) {
      throw new Error(
        `an event of chain ${JSON.stringify(chainId)}; the store holds ${JSON.stringify(chain.id)}`,
      )
    }
    connectionFault = null
    state.received++
    buffer.append(message, envelope.kind === EVENT_KIND.endBlock)
    if (buffer.pendingBytes > MAX_PENDING_BYTES) {
      socket.pause()
      void buffer.drained().then(socket.resume)
    }
  }

  /** Checks that a message is an event of this version; returns its chain. */
  function readOrigin(message: Buffer): string {
    try {
      readEnvelope(message, 0, message.length, envelope)
    } catch (error) {
      throw new Error(`not an event: ${(error as Error).message}`)
    }
    if (envelope.version !== 1) {
      throw new Error(`an event of version ${envelope.version}; this program reads version 1`)
    }
    return message.toString('utf8', envelope.chainIdStart, envelope.chainIdEnd)
  }

  const socket = await listenPair(options.host, options.port, {
    onConnected: (peer) => {
      log.info(`core connected from ${peer}`)
      state.peer = peer
      report()
    },
    onDisconnected: (peer, reason) => {
      if (state.peer === peer) log.warn(`core at ${peer} gone: ${reason}`)
      state.peer = null
      report()
    },
    onMessage: takeMessage,
    onFault: (fault, message) => {
      state.faults[fault] = (state.faults[fault] ?? 0) + 1
      // A core that dials again and again with the same fault is told of once.
      if (message !== connectionFault) log.error(`live intake: ${message}`)
      if (fault !== 'second core') connectionFault = withoutPort(message)
      report()
    },
  })
  const timer = setInterval(report, 1_000)
  signal.addEventListener('abort', () => clearInterval(timer), { once: true })
  for (const path of buffer.paths) {
    const cut = await repairBufferFile(path)
    if (cut > 0) log.warn(`${path}: ${cut} bytes behind the last whole event cut off`)
  }
  buffer.refresh()

  function fail(message: string): void {
    if (commitFault !== message) log.error(`live intake: ${message}`)
    commitFault = message
    report()
  }

  /** Commits from a place in the buffer on, until the signal is aborted or something stands in the way. */
  async function commitBuffer(writer: Writer, from: BufferPosition): Promise<void> {
    const batches = new BatchWriter(writer, options.onCommit)
    const assembler = new BlockAssembler({
      coverage: await writer.coverage(),
      onBlock: (block) => batches.add(block),
      onLeftOut: options.onLeftOut,
      allowGap: options.allowGap,
      strict: options.strict,
    })
    let position = from
    let framer: RecordFramer | null = null
    const commit = async () => {
      await batches.commit(assembler.coverage)
      if (assembler.pendingHeight === null) buffer.release(position)
      if (commitFault !== null) {
        log.info('live intake: goes on')
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
        framer ??= new RecordFramer(
          piece.path,
          (bytes, start, end, place) => assembler.accept(bytes, start, end, place),
          piece.offset,
        )
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
   * Waits until a gap is closed: by someone who has taken the missing blocks in (null), or by the core, which
   * has sent them again (their place in the buffer).
   */
  async function untilClosed(gap: GapError): Promise<BufferPosition | null> {
    const stop = new AbortController()
    const either = AbortSignal.any([signal, stop.signal])
    try {
      return await Promise.race([
        untilHeld(store, gap.to, either).then(() => null),
        findBlock(buffer, { file: reading, offset: gap.place.offset }, gap.from, either),
      ])
    } finally {
      stop.abort()
    }
  }

  /** Up to where all of the buffer is committed, once the intake has ended. */
  let committedUpTo: BufferPosition | null = null

  async function run(): Promise<void> {
    let from: BufferPosition | null = null
    while (!signal.aborted) {
      let writer: Writer | null = null
      try {
        writer = await store.openWriter({ durable: true, signal, onNotice: (message) => log.warn(message) })
        await commitBuffer(writer, from ?? buffer.start)
      } catch (error) {
        if (signal.aborted) break
        if (!(error instanceof StoreError || error instanceof EventStreamError)) throw error
        fail(error.message)
        await writer?.close()
        writer = null
        from = null
        if (error instanceof GapError) from = await untilClosed(error)
        else if (error instanceof EventStreamError) await aborted(signal)
        else await sleep(RETRY_MS, undefined, { signal }).catch(() => {})
      } finally {
        await writer?.close()
      }
    }
    await socket.close()
    await buffer.close()
    if (committedUpTo !== null && buffer.isAtEnd(committedUpTo)) buffer.release()
    report()
  }

  return { port: socket.port, run }
}

/** Waits until somebody has taken in the blocks up to a height. */
async function untilHeld(store: Store, height: bigint, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(RETRY_MS, undefined, { signal }).catch(() => {})
    const coverage = await coverageOf(store).catch(() => null)
    if (coverage !== null && coverage.height >= height) return
  }
}

/** Nothing that the program could wait for mends the input. */
function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

async function chainOf(store: Store): Promise<{ id: string | null }> {
  return { id: (await coverageOf(store))?.chainId ?? null }
}

async function coverageOf(store: Store): Promise<Coverage | null> {
  const reader = await store.openReader()
  try {
    return await reader.coverage()
  } finally {
    await reader.close()
  }
}

/** A core dials from another port each time. */
function withoutPort(message: string): string {
  return message.replace(/:\d+: /, ': ')
}

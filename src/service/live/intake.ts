import type { Logger } from 'pino'
import type { Coverage } from '#core/domain/coverage'
import type { PinnedChain } from '#core/log/event-check'
import type { EventBuffer } from './event-buffer.ts'
import { createFaultLog } from './fault-log.ts'
import { createIncomingCheck } from './incoming-check.ts'
import {
  type ConnectionFault,
  isFaultOfCore,
  listenPair,
  type PairOptions,
  type PairSocket,
} from './pair-socket.ts'

export type IntakeOptions = {
  buffer: EventBuffer
  /** The required chain of events; null: that of the first complete block. */
  chain: PinnedChain | null
  log: Logger
  /** Called when a core has connected or disconnected, or a connection was closed for a fault. */
  onChange: () => void
  /** The core announces a protocol upgrade after the block of a height. */
  onUpgrade: (height: bigint, chainId: string, event: Buffer) => void
  /** A block of this height has begun. */
  onBegun: (height: bigint) => void
  /** A core has connected, and may be sent messages. */
  onConnected: () => void
}

export type IntakeState = {
  /** The core that is connected; null if there is none. */
  peer: string | null
  /** Events received since the start. */
  received: number
  /** Those outside blocks, which are passed over. */
  outsideBlocks: number
  /** Connections closed by this side since the start, by reason. */
  faults: Partial<Record<ConnectionFault, number>>
  /** Fault in the core's events; null once a later block is committed. */
  failure: string | null
}

/** The listening side of live ingestion: checks the core's events, and writes them to the buffer. */
export function createIntake(options: IntakeOptions) {
  const { buffer, chain, log, onChange, onUpgrade, onBegun, onConnected } = options
  const state: IntakeState = { peer: null, received: 0, outsideBlocks: 0, faults: {}, failure: null }
  const faultLog = createFaultLog(log)
  const check = createIncomingCheck(chain, ({ height }) => {
    if (state.failure !== null) recoveryHeight ??= height
  })
  /** The first whole block since the failure. */
  let recoveryHeight: bigint | null = null
  let socket: PairSocket | null = null

  /**
   * Listens for the core, and returns the port.
   *
   * @throws the error of listening (EADDRINUSE, ...).
   */
  async function listen(options: PairOptions): Promise<number> {
    const listening = await listenPair(options, {
      onConnected: connected,
      onDisconnected: disconnected,
      onMessage: take,
      onRead: write,
      onFault: closedFor,
    })
    socket = listening
    return socket.port
  }

  /** The store holds blocks: events must be of their chain. */
  function pinChain(id: string): void {
    check.pinned ??= { id, pinnedBy: 'the store contains chain' }
  }

  function committed({ chainId, height }: Pick<Coverage, 'chainId' | 'height'>): void {
    pinChain(chainId)
    if (recoveryHeight === null || height < recoveryHeight) return
    state.failure = null
    recoveryHeight = null
  }

  /** Ends the connection between two messages, and writes all that the core had sent. */
  async function close(): Promise<void> {
    await socket?.close()
    faultLog.flush(true)
  }

  function connected(peer: string): void {
    log.info(`core connected from ${peer}`)
    state.peer = peer
    check.connected()
    onConnected()
    onChange()
  }

  function disconnected(peer: string, reason: string): void {
    log.warn(`core at ${peer} disconnected: ${reason}`)
    state.peer = null
    onChange()
  }

  function take(message: Buffer): void {
    const { isInBlock, endsBlock, dropsBlock, begins, upgradeAfter, chainId } = check.check(message)
    if (dropsBlock) buffer.dropOpenBlock()
    state.received++
    if (isInBlock) buffer.append(message, endsBlock)
    else state.outsideBlocks++
    if (begins !== null) onBegun(begins)
    if (upgradeAfter !== null) onUpgrade(upgradeAfter, chainId, message)
  }

  /** Nothing more is read before this is written: a killed process loses as little as possible. */
  function write(): void {
    const blocked = buffer.write()
    if (blocked === null || socket === null) return
    socket.pause()
    void blocked.then(socket.resume)
  }

  function closedFor(fault: ConnectionFault, message: string): void {
    state.faults[fault] = (state.faults[fault] ?? 0) + 1
    faultLog.add(fault, message)
    if (isFaultOfCore(fault)) {
      // The open block of the connection may be incomplete; the core sends it again.
      check.dropOpenBlock()
      buffer.dropOpenBlock()
      state.failure = withoutAddress(message)
      recoveryHeight = null
    }
    onChange()
  }

  return {
    state,
    listen,
    pinChain,
    committed,
    /** The buffer ends within a block, which the core may continue: its events. */
    resume: check.resume,
    /** Sends a message to the connected core; false if there is none. */
    send: (message: Buffer): boolean => socket?.send(message) ?? false,
    /** Logs the faults that are counted, not logged one by one; called every second. */
    logFaults: () => faultLog.flush(),
    close,
  }
}

/** The fault is public; the core's address is only logged. */
function withoutAddress(message: string): string {
  return message.replace(/^\S+: /, 'the core: ')
}

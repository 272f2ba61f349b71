import type { Logger } from 'pino'
import type { Coverage } from '#core/domain/coverage'
import type { EventBuffer } from './event-buffer.ts'
import { FaultLog } from './fault-log.ts'
import { IncomingCheck, type PinnedChain } from './incoming-check.ts'
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
}

/** The listening side of live ingestion: checks the core's events, and writes them to the buffer. */
export class Intake {
  /** The core that is connected; null if there is none. */
  peer: string | null = null
  /** Events received since the start. */
  received = 0
  /** Connections closed by this side since the start, by reason. */
  readonly faults: Partial<Record<ConnectionFault, number>> = {}
  /** Fault in the core's events; null once a later block is committed. */
  failure: string | null = null
  readonly #options: IntakeOptions
  readonly #check: IncomingCheck
  readonly #faultLog: FaultLog
  /** The first whole block since the failure. */
  #recoveryHeight: bigint | null = null
  #socket!: PairSocket

  constructor(options: IntakeOptions) {
    this.#options = options
    this.#faultLog = new FaultLog(options.log)
    this.#check = new IncomingCheck(options.chain, ({ height }) => {
      if (this.failure !== null) this.#recoveryHeight ??= height
    })
  }

  /**
   * Listens for the core, and returns the port.
   *
   * @throws the error of listening (EADDRINUSE, ...).
   */
  async listen(options: PairOptions): Promise<number> {
    this.#socket = await listenPair(options, {
      onConnected: (peer) => this.#connected(peer),
      onDisconnected: (peer, reason) => this.#disconnected(peer, reason),
      onMessage: (message) => this.#take(message),
      onRead: () => this.#write(),
      onFault: (fault, message) => this.#closedFor(fault, message),
    })
    return this.#socket.port
  }

  /** The store holds blocks: events must be of their chain. */
  pinChain(id: string): void {
    this.#check.pinned ??= { id, pinnedBy: 'the store contains chain' }
  }

  committed({ chainId, height }: Pick<Coverage, 'chainId' | 'height'>): void {
    this.pinChain(chainId)
    if (this.#recoveryHeight === null || height < this.#recoveryHeight) return
    this.failure = null
    this.#recoveryHeight = null
  }

  /** Logs the faults that are counted, not logged one by one; called every second. */
  logFaults(): void {
    this.#faultLog.flush()
  }

  /** Ends the connection between two messages, and writes all that the core had sent. */
  async close(): Promise<void> {
    await this.#socket.close()
    this.#faultLog.flush(true)
  }

  #connected(peer: string): void {
    this.#options.log.info(`core connected from ${peer}`)
    this.peer = peer
    this.#check.connected()
    this.#options.onChange()
  }

  #disconnected(peer: string, reason: string): void {
    this.#options.log.warn(`core at ${peer} disconnected: ${reason}`)
    this.peer = null
    this.#options.onChange()
  }

  #take(message: Buffer): void {
    const { buffer } = this.#options
    const { isWhole, dropsBlock } = this.#check.check(message)
    if (dropsBlock) buffer.dropOpenBlock()
    this.received++
    buffer.append(message, isWhole)
  }

  /** Nothing more is read before this is written: a killed process loses as little as possible. */
  #write(): void {
    const blocked = this.#options.buffer.write()
    if (blocked === null) return
    this.#socket.pause()
    void blocked.then(this.#socket.resume)
  }

  #closedFor(fault: ConnectionFault, message: string): void {
    this.faults[fault] = (this.faults[fault] ?? 0) + 1
    this.#faultLog.add(fault, message)
    if (isFaultOfCore(fault)) {
      // The open block of the connection may be incomplete; the core sends it again.
      this.#check.dropOpenBlock()
      this.#options.buffer.dropOpenBlock()
      this.failure = withoutAddress(message)
      this.#recoveryHeight = null
    }
    this.#options.onChange()
  }
}

/** The fault is public; the core's address is only logged. */
function withoutAddress(message: string): string {
  return message.replace(/^\S+: /, 'the core: ')
}

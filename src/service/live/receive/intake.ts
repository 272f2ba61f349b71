// The receiver's way from the socket to the event log.
import type { Logger } from 'pino'
import type { LogHead } from '#core/log/files/log-head'
import type { LogWriter } from '#core/log/write/log-writer'
import { type ConnectionFault, isFaultOfCore } from './connection-faults.ts'
import { listenPair, type PairOptions, type PairSocket } from './pair-socket.ts'
import { RepeatedFaults } from './repeated-faults.ts'

type IntakeOptions = {
  writer: LogWriter
  /** The greatest height of a whole block in the log; null if it has none. */
  height: bigint | null
  logger: Logger
}

/** Who is told of the core. */
type IntakeListener = {
  /** A core has connected or disconnected, or a connection was closed for a fault. */
  onChange(): void
  /** A core has connected, and may be sent messages. */
  onConnected(): void
  /** A block of this height has begun. */
  onBegun(height: bigint): void
  /** The core announces a protocol upgrade after the block of a height. */
  onUpgrade(height: bigint): void
}

type IntakeState = {
  coreConnected: boolean
  /** Events received since the start. */
  events: number
  /** Those outside blocks, which are passed over. */
  outsideBlocks: number
  /** When the last event came, Unix milliseconds; null before the first. */
  lastEventAtMs: number | null
  /** Connections closed by this side since the start, by reason. */
  faults: Partial<Record<ConnectionFault, number>>
  /** Fault in the core's events; null once a later block is in the log. */
  failure: string | null
}

/** The state before a core has connected. */
export const initialIntake = (): IntakeState => ({
  coreConnected: false,
  events: 0,
  outsideBlocks: 0,
  lastEventAtMs: null,
  faults: {},
  failure: null,
})

/** The listening side of live ingestion: writes the core's events to the event log, and refuses what is none. */
export class Intake {
  readonly state: IntakeState = initialIntake()
  readonly #writer: LogWriter
  readonly #logger: Logger
  readonly #repeatedFaults: RepeatedFaults
  #socket: PairSocket | null = null
  /** The greatest height of a whole block in the log, and what that was at the failure. */
  #loggedHeight: bigint | null
  #heightAtFailure: bigint | null = null

  constructor({ writer, height, logger }: IntakeOptions) {
    this.#writer = writer
    this.#logger = logger
    this.#repeatedFaults = new RepeatedFaults(logger)
    this.#loggedHeight = height
  }

  /**
   * Listens for the core, and returns the port.
   *
   * @throws the error of listening (EADDRINUSE, ...).
   */
  async listen(options: PairOptions, listener: IntakeListener): Promise<number> {
    this.#socket = await listenPair(options, {
      onConnected: (peer) => {
        this.#connected(peer)
        listener.onConnected()
        listener.onChange()
      },
      onDisconnected: (peer, reason) => {
        this.#disconnected(peer, reason)
        listener.onChange()
      },
      onMessage: (message) => this.#take(message, listener),
      onRead: () => this.#write(),
      onFault: (fault, peer, message) => {
        this.#closedFor(fault, peer, message)
        listener.onChange()
      },
    })
    return this.#socket.port
  }

  /** The log's head has changed. */
  committed({ last }: LogHead): void {
    if (last === null || (this.#loggedHeight !== null && last <= this.#loggedHeight)) return
    this.#loggedHeight = last
    if (this.#heightAtFailure === null || last > this.#heightAtFailure) this.state.failure = null
  }

  /** Sends a message to the connected core; false if there is none. */
  send(message: Buffer): boolean {
    return this.#socket?.send(message) ?? false
  }

  /** Reports the faults that are counted, not reported one by one; called every second. */
  reportFaults(): void {
    this.#repeatedFaults.flush()
  }

  /** Ends the connection between two messages, and writes all that the core had sent. */
  async close(): Promise<void> {
    await this.#socket?.close()
    this.#repeatedFaults.flush(true)
  }

  #connected(peer: string): void {
    this.#logger.info(`core connected from ${peer}`)
    this.state.coreConnected = true
    this.#writer.connected()
  }

  #disconnected(peer: string, reason: string): void {
    this.#logger.warn(`core at ${peer} disconnected: ${reason}`)
    this.state.coreConnected = false
  }

  #take(message: Buffer, listener: IntakeListener): void {
    const { role, block, upgradeAfter } = this.#writer.take(message)
    this.state.events++
    if (role === 'outside') this.state.outsideBlocks++
    if (role === 'begin') listener.onBegun(block!.height)
    if (upgradeAfter !== null) listener.onUpgrade(upgradeAfter)
  }

  /** Nothing more is read before this is written: a killed process loses as little as possible. */
  #write(): void {
    this.state.lastEventAtMs = Date.now()
    const blocked = this.#writer.write()
    const socket = this.#socket
    if (blocked === null || socket === null) return
    socket.pause()
    // A log that has failed for good ends the process.
    void blocked.then(
      () => socket.resume(),
      () => {},
    )
  }

  #closedFor(fault: ConnectionFault, peer: string, message: string): void {
    const { state } = this
    state.faults[fault] = (state.faults[fault] ?? 0) + 1
    this.#repeatedFaults.add(fault, `${peer}: ${message}`)
    if (isFaultOfCore(fault)) {
      // The open block of the connection may be incomplete; the core sends it again.
      this.#writer.dropOpenBlock()
      // The fault is public; the core's address is only logged.
      state.failure = `the core: ${message}`
      this.#heightAtFailure = this.#loggedHeight
    }
  }
}

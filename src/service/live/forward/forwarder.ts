// Sends the blocks of event logs on to another receiver.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { readyHeightIn } from '#core/events/protocol-upgrade'
import type { PendingUpgrade } from '#core/log/files/log-head'
import { CompleteBlocks } from '#core/log/read/complete-blocks'
import { FolderSource } from '#core/log/read/folder/folder-source'
import { FollowedLog } from '#core/log/read/followed-log'
import { LogReader } from '#core/log/read/log-reader'
import { isReadFault } from '#core/log/read/log-source'
import type { CompleteBlock } from '#core/log/read/segment-blocks'
import { refuseSeveralChains, SeveralChainsError } from '../one-chain.ts'
import { messageOf } from '../pair-protocol.ts'
import { ConnectionError, dialPair, type PairConnection } from './dial-pair.ts'
import { ForwardFaults } from './forward-faults.ts'
import { ForwardProgress, MissingBlockError } from './forward-progress.ts'
import type { ForwardState, ForwardTask } from './forward-state.ts'
import { forwarderName } from './register-forwarder.ts'

/** Wait before reconnecting to an unreachable receiver: first, and maximum. */
const FIRST_RECONNECT_MS = 1_000
const LONGEST_RECONNECT_MS = 30_000

/** After a connection that lasted so long, the next wait is the first one again. */
const GOOD_CONNECTION_MS = 10_000

/** How long the receiver may take to accept a started message when the service stops. */
const LAST_MESSAGE_TIMEOUT_MS = 2_000

const UPKEEP_MS = 1_000

/**
 * Forwards the whole blocks of event logs. Within a connection they are consecutive, as a data node requires: a missing one
 * ends the connection, and the next one begins after it. A new connection begins some blocks before those not passed on yet,
 * since the receiver may have lost uncommitted ones; only after an orderly stop does it go on where it was.
 */
export class Forwarder {
  readonly #task: ForwardTask
  readonly #logger: Logger
  readonly #onState: (state: ForwardState) => void
  readonly #reader: LogReader
  readonly #progress: ForwardProgress
  readonly #faults: ForwardFaults
  readonly #address: string
  #connection: PairConnection | null = null
  /** Passed on since the start. */
  #messages = 0

  constructor(task: ForwardTask, logger: Logger, onState: (state: ForwardState) => void) {
    const { host, port, logs, repeatBytes } = task
    this.#task = task
    this.#logger = logger
    this.#onState = onState
    this.#reader = new LogReader(logs.map((folder) => new FollowedLog(new FolderSource(folder))))
    const address = `${host.includes(':') ? `[${host}]` : host}:${port}`
    this.#address = address
    this.#progress = new ForwardProgress(this.#reader, {
      name: forwarderName(task),
      repeatBytes,
      address,
      logger,
    })
    this.#faults = new ForwardFaults(logger, address)
  }

  /**
   * Dials, passes on and dials again, until the signal is aborted: then it finishes the block that is being passed on.
   *
   * @throws {NewerLogError} once a log is of a later version.
   */
  async run(stop: AbortSignal): Promise<void> {
    this.#progress.note()
    const failed = new AbortController()
    const signal = AbortSignal.any([stop, failed.signal])
    const keepingUp = this.#keepUp(signal).catch((error: Error) => failed.abort(error))
    let wait = FIRST_RECONNECT_MS
    while (!signal.aborted) {
      const startedAt = performance.now()
      try {
        await this.#connect(signal)
      } catch (error) {
        if (signal.aborted) break
        if (!(error instanceof ConnectionError)) throw error
        this.#faults.disconnected(error)
        // It is no fault of the receiver.
        if (error instanceof MissingBlockError) wait = FIRST_RECONNECT_MS
      } finally {
        this.#connection = null
        this.#report()
      }
      if (performance.now() - startedAt >= GOOD_CONNECTION_MS) wait = FIRST_RECONNECT_MS
      await sleep(wait, undefined, { signal }).catch(() => {})
      wait = Math.min(2 * wait, LONGEST_RECONNECT_MS)
    }
    await keepingUp
    this.#progress.note()
    this.#reader.close()
    this.#report()
    failed.signal.throwIfAborted()
  }

  /** Passes on over one connection; throws once that is closed. */
  async #connect(signal: AbortSignal): Promise<void> {
    const { host, port } = this.#task
    const connection = await dialPair(host, port, signal, (message) => this.#takeAnswer(message))
    // A receiver that reads nothing must not hold up the end of the service.
    const onStop = () => setTimeout(() => connection.close('stopped'), LAST_MESSAGE_TIMEOUT_MS).unref()
    signal.addEventListener('abort', onStop, { once: true })
    this.#connection = connection
    this.#faults.connected()
    this.#logger.info(`forwarding: connected to ${this.#address}`)
    this.#report()
    try {
      await this.#passOn(connection, signal)
      if (await connection.end(LAST_MESSAGE_TIMEOUT_MS)) this.#progress.note({ isClean: true })
    } finally {
      signal.removeEventListener('abort', onStop)
      connection.close('stopped')
    }
  }

  /** Passes on until it is stopped between two blocks; throws once the connection is closed, or is to be. */
  async #passOn(connection: PairConnection, signal: AbortSignal): Promise<void> {
    const { closed } = connection
    const ended = AbortSignal.any([signal, closed])
    const blocks = new CompleteBlocks(this.#reader)
    let next = this.#progress.firstHeight()
    this.#progress.note({ isClean: false })
    /** The last block of the upgrade that was announced on this connection. */
    let announced: bigint | null = null
    for (;;) {
      if (closed.aborted) throw closed.reason
      if (signal.aborted) return
      next ??= this.#progress.firstHeight()
      const block: CompleteBlock | null = next === null ? null : await this.#blockOf(next, blocks)
      if (block !== null) {
        await this.#send(connection, block.events)
        this.#progress.passed(block)
        next = block.height + 1n
        continue
      }
      const upgrade = this.#progress.upgradeBefore(next)
      if (upgrade !== null && upgrade.height !== announced) {
        announced = upgrade.height
        await this.#announce(connection, upgrade)
        continue
      }
      const missing = next === null ? null : this.#progress.passOver(next)
      if (missing !== null) throw missing
      this.#report()
      await this.#reader.untilChange(ended)
    }
  }

  async #announce(connection: PairConnection, { height, event }: PendingUpgrade): Promise<void> {
    await this.#send(connection, [event])
    this.#logger.info(
      `forwarding: the protocol upgrade after block ${height} was announced to ${this.#address}`,
    )
    this.#report()
  }

  async #send(connection: PairConnection, events: readonly Buffer[]): Promise<void> {
    await connection.write(Buffer.concat(events.map((event) => messageOf(event, 0, event.length))))
    this.#messages += events.length
  }

  /** The block of a height; null if no log has it yet, or it cannot be read at the moment, which is a fault. */
  async #blockOf(height: bigint, blocks: CompleteBlocks): Promise<CompleteBlock | null> {
    try {
      refuseSeveralChains(this.#reader.logs)
      const block = await blocks.next(height)
      if (block !== null) this.#faults.readBlock()
      return block
    } catch (error) {
      if (!(isReadFault(error) || error instanceof SeveralChainsError)) throw error
      this.#faults.cannotRead(error)
      this.#reader.refresh()
      return null
    }
  }

  /** Takes a message of the receiver: it is ready for a protocol upgrade. */
  #takeAnswer(message: Buffer): void {
    const height = readyHeightIn(message)
    if (height === null || this.#progress.noteReady(height)) return
    this.#logger.warn(
      `forwarding: the receiver is ready for a protocol upgrade after block ${height}, which the core has not announced`,
    )
  }

  /** Notes each second how far this is, and looks for what has arrived; until the signal is aborted. */
  async #keepUp(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#reader.refresh()
      this.#faults.nameUnreadable(this.#reader.logs)
      if (this.#progress.resumeWithArrived()) this.#connection?.close('the missing blocks have arrived')
      this.#progress.note()
      this.#report()
      await sleep(UPKEEP_MS, undefined, { signal }).catch(() => {})
    }
  }

  #report(): void {
    this.#onState({
      connected: this.#connection !== null,
      messages: this.#messages,
      ...this.#progress.state,
      failure: this.#faults.failure,
    })
  }
}

// The answer to a core that waits in a protocol upgrade.
import type { Logger } from 'pino'
import { encodeDataNodeReady } from '#core/events/protocol-upgrade'
import { NODE_DISK } from '#core/log/files/log-disk'
import type { LogHead } from '#core/log/files/log-head'
import { readReaders } from '#core/log/files/reader-files'
import { describeUpgradeWait, type UpgradeState } from '#core/log/files/receiver-file'
import type { LogWriter } from '#core/log/write/log-writer'

/** A wait of this length is named. */
export const LONG_UPGRADE_WAIT_MS = 10_000

type ProtocolUpgradeOptions = {
  /** Whether a forwarder of the log has a receiver that has not answered an upgrade after this block. */
  hasUnanswered: (height: bigint) => boolean
  logger: Logger
  /** Its head names the upgrade until a later block has ended, also in a later process: the core announces it once. */
  writer: Pick<LogWriter, 'head'>
  /** The greatest height of a whole block in the log; null if it has none. */
  height: bigint | null
  /** The state that an earlier process has left; null without one. */
  earlier: UpgradeState | null
  /** Whether a process was killed while a core was connected, and no block has begun since: an announcement may be lost. */
  mayHaveLost: boolean
}

type ProtocolUpgradeListener = {
  /** Sends a message to the connected core; false if there is none. */
  send(message: Buffer): boolean
  /** The state has changed. */
  onChange(): void
}

/** An upgrade that the core waits in. */
type Pending = { height: bigint; since: number; isAnswered: boolean }

/**
 * Answers the core's announcement of a protocol upgrade, for which it makes no more blocks (docs/events.md, live), once the
 * last block before it is in the log, and every forwarder of the log has been answered by its receiver. It is answered on
 * each connection until a later block begins.
 *
 * The core announces it once. If that may have been lost with a process that was killed, a core that connects and begins no block is
 * told that this is ready after the last block of the log: a core that does not wait, or waits after another one, ignores that.
 */
export class ProtocolUpgrade {
  readonly #options: ProtocolUpgradeOptions
  readonly #listener: ProtocolUpgradeListener
  #pending: Pending | null = null
  #loggedHeight: bigint
  /** Whether a core has connected that has not been sent the answer again. */
  #mustRepeat = false
  /** Whether a long wait has been logged. */
  #isNamed = false
  #mayHaveLost: boolean
  /** When the last core has connected, Unix milliseconds; null before the first, and once it was told that this is ready. */
  #silentSince: number | null = null

  constructor(options: ProtocolUpgradeOptions, listener: ProtocolUpgradeListener) {
    this.#options = options
    this.#listener = listener
    this.#loggedHeight = options.height ?? -1n
    this.#mayHaveLost = options.mayHaveLost
    const { earlier, writer } = options
    const { upgrade } = writer.head
    if (upgrade === null) return
    const since = earlier?.height === `${upgrade.height}` ? earlier.since : Date.now()
    this.#pending = { height: upgrade.height, since, isAnswered: false }
  }

  /** The upgrade that the core waits in, and for whom, as it is now; null if there is none. */
  readState(): UpgradeState | null {
    if (this.#pending === null) return null
    const { height, since, isAnswered } = this.#pending
    return { height: `${height}`, since, waitsFor: isAnswered ? null : this.#waitsFor(height) }
  }

  /** Whether an announcement may be lost: no block has begun since. */
  get mayHaveLost(): boolean {
    return this.#mayHaveLost
  }

  /** The core has announced an upgrade after the block of this height. A repeated announcement is answered again. */
  announced(height: bigint): void {
    if (this.#pending?.height === height) {
      if (this.#pending.isAnswered) this.#send()
      return
    }
    this.#isNamed = false
    this.#mayHaveLost = false
    // The core that says so is the one that is connected.
    this.#mustRepeat = false
    this.#pending = { height, since: Date.now(), isAnswered: false }
    this.#options.logger.info(
      `protocol upgrade after block ${height}: the core makes no more blocks until it is answered`,
    )
    this.#answerIfReady()
    this.#listener.onChange()
  }

  /** A block has begun: one after the upgrade ends it. */
  begun(height: bigint): void {
    this.#mayHaveLost = false
    if (this.#pending === null || height <= this.#pending.height) return
    this.#options.logger.info(
      `protocol upgrade after block ${this.#pending.height}: over, block ${height} has begun`,
    )
    this.#pending = null
    this.#listener.onChange()
  }

  /** The log's head has changed. */
  committed({ last }: LogHead): void {
    if (last === null || last <= this.#loggedHeight) return
    this.#loggedHeight = last
    this.#answerIfReady()
  }

  /** A core has connected: it may be the one that still waits. */
  connected(): void {
    this.#mustRepeat = true
    this.#silentSince = Date.now()
  }

  /**
   * Looks for the readers' answers, answers on a new connection, and tells operators once of a long wait; called every second.
   */
  upkeep(): void {
    this.#answerIfReady()
    const state = this.readState()
    if (state === null) {
      if (this.#mayHaveLost) this.#answerLost()
      return
    }
    if (this.#pending?.isAnswered === true && this.#mustRepeat && this.#send()) {
      this.#options.logger.info(
        `protocol upgrade after block ${state.height}: the core is answered again on its new connection`,
      )
    }
    if (state.waitsFor === null || this.#isNamed || Date.now() - state.since < LONG_UPGRADE_WAIT_MS) return
    this.#isNamed = true
    this.#options.logger.warn(describeUpgradeWait(state))
  }

  #waitsFor(height: bigint): 'block' | 'receiver' | null {
    if (this.#loggedHeight < height) return 'block'
    return this.#options.hasUnanswered(height) ? 'receiver' : null
  }

  #answerIfReady(): void {
    const pending = this.#pending
    if (pending === null || pending.isAnswered || this.#waitsFor(pending.height) !== null) return
    pending.isAnswered = true
    const sent = this.#send() ? 'the core is answered' : 'the core is answered once it connects'
    this.#options.logger.info(
      `protocol upgrade after block ${pending.height}: all blocks are in the event log, ${sent}`,
    )
    this.#listener.onChange()
  }

  /** Answers an announcement that may be lost. Forwarders could not pass it on: with one, it is not answered. */
  #answerLost(): void {
    const height = this.#loggedHeight
    if (this.#silentSince === null || Date.now() - this.#silentSince < LONG_UPGRADE_WAIT_MS) return
    if (height < 0n || this.#options.hasUnanswered(height) || !this.#sendReady(height)) return
    this.#silentSince = null
    this.#options.logger.warn(
      `the core has begun no block since the receiver was killed: if it waits in a protocol upgrade after block ${height}, of which the announcement is lost, it is answered`,
    )
  }

  #send(): boolean {
    const isSent = this.#sendReady(this.#pending!.height)
    this.#mustRepeat = !isSent
    return isSent
  }

  #sendReady(height: bigint): boolean {
    const { chainId } = this.#options.writer.head
    return chainId !== null && this.#listener.send(encodeDataNodeReady(chainId, height))
  }
}

/** Whether a log has a forwarder whose receiver has not answered: stores are required readers, forwarders are not. */
export function hasUnansweredForwarder(folder: string, height: bigint): boolean {
  try {
    return readReaders(NODE_DISK, folder).some(({ isRequired, upgrade }) => !isRequired && upgrade !== height)
  } catch {
    // There may be one.
    return true
  }
}

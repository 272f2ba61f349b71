import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { describeBlocks } from '#core/domain/coverage'
import { readyHeightIn } from '#core/events/protocol-upgrade'
import { NODE_DISK } from '#core/log/log-disk'
import type { PendingUpgrade } from '#core/log/log-head'
import { type CompleteBlock, CompleteBlocks } from '#core/log/read/complete-blocks'
import { LocalLog } from '#core/log/read/local-log'
import { bytesAfter, firstBefore } from '#core/log/read/log-bytes'
import { LogReader } from '#core/log/read/log-reader'
import { type ReaderFile, writeReader } from '#core/log/reader-files'
import { refuseSeveralChains, SeveralChainsError } from '../one-chain.ts'
import { messageOf } from '../pair-socket.ts'
import { ConnectionError, dialPair, type PairConnection } from './dial-pair.ts'
import { type ForwardState, type ForwardTask, noForwardState } from './forward-state.ts'
import { forwarderName, registerForwarder } from './register-forwarder.ts'

/** Wait before reconnecting to an unreachable receiver: first, and maximum. */
const FIRST_RECONNECT_MS = 1_000
const LONGEST_RECONNECT_MS = 30_000

/** After a connection that lasted so long, the next wait is the first one again. */
const GOOD_CONNECTION_MS = 10_000

/** How long the receiver may take to accept a started message when the service stops. */
const LAST_MESSAGE_TIMEOUT_MS = 2_000

const UPKEEP_MS = 1_000

/** Public; the log says more. */
const READ_FAULT = 'the event log cannot be read; see the log'

/** The blocks that were passed on last: a height, and of block 1 the part. */
type Sent = { height: bigint; hash: string | null }

/** A block that is missing in the logs has ended the connection. */
class MissingBlockError extends ConnectionError {
  override name = 'MissingBlockError'
}

/**
 * Forwards the whole blocks of event logs. Within a connection they are consecutive, as a data node requires: a missing one
 * ends the connection, and the next one begins after it. A new connection begins some blocks before those not passed on yet,
 * since the receiver may have lost uncommitted ones; only after an orderly stop does it go on where it was.
 */
export class Forwarder {
  readonly #task: ForwardTask
  readonly #log: Logger
  readonly #onState: (state: ForwardState) => void
  readonly #reader: LogReader
  readonly #state = noForwardState()
  readonly #address: string
  readonly #name: string
  /** What the logs know of this reader. */
  #file: ReaderFile
  #connection: PairConnection | null = null
  /** Blocks that were passed over since the logs do not have them, whole; null if none are missing. */
  #missing: { from: bigint; to: bigint } | null = null
  /** With which block connections begin until it is passed on; null: chosen by what was passed on. */
  #resumeAt: bigint | null = null
  /** The end of the last block that was passed on; null if that was in an earlier process. */
  #place: CompleteBlock['place'] | null = null
  #connectionFault: string | null = null
  #readFault: string | null = null
  /** The last lines about them in the log. */
  #lastConnectionLine: string | null = null
  #lastReadLine: string | null = null

  constructor(task: ForwardTask, log: Logger, onState: (state: ForwardState) => void) {
    const { host, port, logs } = task
    this.#task = task
    this.#log = log
    this.#onState = onState
    this.#reader = new LogReader(logs.map((folder) => new LocalLog(folder)))
    this.#address = `${host.includes(':') ? `[${host}]` : host}:${port}`
    this.#name = forwarderName(task)
    this.#file = registerForwarder(this.#reader, this.#name, task.repeatBytes)
  }

  /**
   * Dials, passes on and dials again, until the signal is aborted: then it finishes the block that is being passed on.
   *
   * @throws {NewerLogError} once a log is of a later version.
   */
  async run(stop: AbortSignal): Promise<void> {
    this.#write()
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
        this.#notice(error as Error)
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
    this.#write()
    this.#reader.close()
    this.#report()
    failed.signal.throwIfAborted()
  }

  async #connect(signal: AbortSignal): Promise<void> {
    const { host, port } = this.#task
    const connection = await dialPair(host, port, signal, (message) => this.#take(message))
    // A receiver that reads nothing must not hold up the end of the service.
    const onStop = () => setTimeout(() => connection.close('stopped'), LAST_MESSAGE_TIMEOUT_MS).unref()
    signal.addEventListener('abort', onStop, { once: true })
    this.#connection = connection
    this.#connectionFault = this.#lastConnectionLine = null
    this.#log.info(`forwarding: connected to ${this.#address}`)
    this.#report()
    try {
      await this.#passOn(connection, signal)
      if (await connection.end(LAST_MESSAGE_TIMEOUT_MS)) this.#write({ isClean: true })
    } finally {
      signal.removeEventListener('abort', onStop)
      connection.close('stopped')
    }
  }

  /** Passes on until it is stopped between two blocks; throws once the connection is closed. */
  async #passOn(connection: PairConnection, signal: AbortSignal): Promise<void> {
    const { closed } = connection
    const ended = AbortSignal.any([signal, closed])
    const blocks = new CompleteBlocks(this.#reader)
    let next = this.#firstHeight()
    this.#write({ isClean: false })
    let sent: Sent | null = null
    let announced: bigint | null = null
    for (;;) {
      if (closed.aborted) throw closed.reason
      if (signal.aborted) return
      next ??= this.#firstHeight()
      const block: CompleteBlock | null = next === null ? null : await this.#nextBlock(blocks, next, sent)
      if (block !== null) {
        await connection.write(Buffer.concat(block.events.map((event) => messageOf(event, 0, event.length))))
        this.#passed(block)
        sent = { height: block.height, hash: block.hash }
        next = block.height + 1n
        continue
      }
      // Nothing follows it until the core goes on after the upgrade.
      const upgrade = this.#pendingUpgrade()
      if (upgrade !== null && next === upgrade.height + 1n && upgrade.height !== announced) {
        announced = upgrade.height
        await connection.write(messageOf(upgrade.event, 0, upgrade.event.length))
        this.#state.messages++
        this.#log.info(
          `forwarding: the protocol upgrade after block ${upgrade.height} was announced to ${this.#address}`,
        )
        this.#report()
        continue
      }
      if (next !== null) this.#passOver(next)
      this.#report()
      await this.#reader.untilChange(ended)
    }
  }

  /** The block of a height, or before it the other part of block 1. Null if no log has it yet. */
  async #nextBlock(blocks: CompleteBlocks, next: bigint, sent: Sent | null): Promise<CompleteBlock | null> {
    try {
      refuseSeveralChains(this.#reader.logs)
      const part = sent?.height === 1n ? await blocks.next(1n, sent.hash) : null
      const block = part ?? (await blocks.next(next))
      if (block !== null) this.#noteReadFault(null, null)
      return block
    } catch (error) {
      this.#cannotRead(error as Error)
      this.#reader.refresh()
      return null
    }
  }

  #cannotRead(error: Error): void {
    const { code, message } = error as NodeJS.ErrnoException
    if (error instanceof SeveralChainsError) {
      this.#noteReadFault(message, error.withFolders)
      return
    }
    // A segment may be deleted while it is read: its blocks are missing then.
    this.#noteReadFault(READ_FAULT, code === 'ENOENT' ? null : `the event log cannot be read: ${message}`)
  }

  /** Names folders that cannot be read. Unless that is all of them, forwarding goes on with the others. */
  #nameUnreadable(): void {
    const { logs } = this.#reader
    const unreadable = logs.filter(({ fault }) => fault !== null)
    if (unreadable.length === 0) return
    const line = unreadable
      .map(({ name, fault }) => `${name}: the event log cannot be read (${fault})`)
      .join('; ')
    const remedy = 'let the user of this process read the folder and its files. Trying again'
    this.#noteReadFault(unreadable.length === logs.length ? READ_FAULT : null, `${line}: ${remedy}`)
  }

  /**
   * @param fault why nothing is forwarded, for everybody; null if something is
   * @param line the same for the log, which has it once; null for nothing
   */
  #noteReadFault(fault: string | null, line: string | null): void {
    this.#readFault = fault
    if (line !== null && line !== this.#lastReadLine) this.#log.error(`forwarding: ${line}`)
    this.#lastReadLine = line
  }

  /**
   * Ends the connection if a block is missing, whole, although later ones are there.
   *
   * @throws {MissingBlockError}
   */
  #passOver(next: bigint): void {
    const gap = this.#reader.gaps.at(next, { wantsWhole: true })
    if (gap === null) return
    this.#resumeAt = gap.to + 1n
    // What was passed on before is only not repeated.
    const from =
      this.#file.height !== null && this.#file.height >= gap.from ? this.#file.height + 1n : gap.from
    if (from <= gap.to) this.#miss({ from, to: gap.to }, this.#resumeAt)
    throw new MissingBlockError(`block ${gap.from} is missing; the next connection begins after it`)
  }

  #miss(missing: { from: bigint; to: bigint }, next: bigint): void {
    if (this.#missing?.to !== missing.to) {
      this.#log.error(
        `forwarding: ${describeBlocks(missing)} missing in the event log for ${this.#address}: it must get them from another source, or from the core restarted from a snapshot before block ${missing.from}. Forwarding continues with block ${next}`,
      )
    }
    this.#missing = { from: this.#missing?.from ?? missing.from, to: missing.to }
    this.#report()
  }

  /** The block with which a connection begins; null while no log has any. */
  #firstHeight(): bigint | null {
    if (this.#resumeAt !== null) return this.#resumeAt
    const { height, isClean } = this.#file
    if (height === null) return this.#reader.segments.lowest({ wantsWhole: true })
    return isClean ? height + 1n : firstBefore(this.#reader.segments, height, this.#task.repeatBytes)
  }

  /** The upgrade that the core waits in, unless the receiver is ready for it. */
  #pendingUpgrade(): PendingUpgrade | null {
    const pending = this.#reader.logs.flatMap(({ head }) => head?.upgrade ?? [])
    return pending.find(({ height }) => height !== this.#file.upgrade) ?? null
  }

  /** Takes a message of the receiver: it is ready for a protocol upgrade. */
  #take(message: Buffer): void {
    const height = readyHeightIn(message)
    if (height === null) return
    if (!this.#reader.logs.some(({ head }) => head?.upgrade?.height === height)) {
      this.#log.warn(
        `forwarding: the receiver is ready for a protocol upgrade after block ${height}, which the core has not announced`,
      )
      return
    }
    this.#write({ upgrade: height })
  }

  #passed({ height, timestamp, events, place }: CompleteBlock): void {
    this.#state.messages += events.length
    if (this.#resumeAt !== null && height >= this.#resumeAt) this.#resumeAt = null
    if (this.#file.height !== null && height < this.#file.height) return
    this.#file = { ...this.#file, height, time: timestamp }
    this.#place = place
  }

  /** Notes in every log how far this reader has come. */
  #write(changed: Partial<ReaderFile> = {}): void {
    this.#file = { ...this.#file, ...changed }
    for (const folder of this.#task.logs) {
      // It then says less than is true: more is sent again.
      writeReader(NODE_DISK, folder, this.#file).catch(() => {})
    }
  }

  async #keepUp(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#reader.refresh()
      this.#nameUnreadable()
      const missing = this.#missing
      if (missing !== null && this.#reader.segments.find(missing.from, { wantsWhole: true }) !== null) {
        this.#missing = null
        this.#resumeAt = firstBefore(this.#reader.segments, missing.from, this.#task.repeatBytes)
        this.#connection?.close('the missing blocks have arrived')
      }
      this.#write()
      this.#report()
      await sleep(UPKEEP_MS, undefined, { signal }).catch(() => {})
    }
  }

  #notice(error: Error): void {
    if (!(error instanceof ConnectionError)) throw error
    const line = `${this.#address}: ${error.message}. Reconnecting; its events stay in the event log meanwhile`
    if (line !== this.#lastConnectionLine) this.#log.error(`forwarding: ${line}`)
    this.#lastConnectionLine = line
    this.#connectionFault = 'the receiver is unreachable or refuses the connection; see the log'
  }

  #report(): void {
    const { height, time } = this.#file
    const highest = this.#reader.segments.highest()
    const newest = this.#reader.logs.flatMap(({ head }) => head?.time ?? [])
    const isBehind = highest !== null && (height === null || highest > height)
    const since = height ?? (highest === null ? 0n : this.#reader.segments.lowest()! - 1n)
    const latest = newest.reduce((a, b) => (b > a ? b : a), 0n)
    const state = this.#state
    state.connected = this.#connection !== null
    state.failure = this.#connectionFault ?? this.#readFault
    state.height = height === null ? null : `${height}`
    state.lagBytes = bytesAfter(this.#reader.logs, height, this.#place)
    state.lagBlocks = isBehind ? Number(highest - since) : 0
    state.lagSeconds = isBehind && time !== null ? Math.max(0, Number(latest - time) / 1e9) : 0
    state.missingBlocks =
      this.#missing === null ? null : { from: `${this.#missing.from}`, to: `${this.#missing.to}` }
    this.#onState({ ...state })
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { readyHeightIn } from '#core/events/protocol-upgrade'
import { ConnectionError, dialPair, type PairConnection } from '#service/live/forward/dial-pair'
import { DialError } from './dial-error.ts'
import { EVENT_TYPES } from './event-types.ts'
import { RecordWriter } from './record-writer.ts'
import { identityOf, messagesOf, type SentBlock } from './sent-blocks.ts'
import { Snapshots } from './snapshots.ts'

/** Time for the receiver to read the last bytes, in milliseconds. */
const END_TIMEOUT_MS = 5_000

/** A core dials every 100 ms, and never gives up, unlike this one. */
const REDIAL_MS = 100
const REDIAL_TIMEOUT_MS = 30_000

/** How long this core waits for its receiver at a protocol upgrade; a real one waits for ever. */
const READY_TIMEOUT_MS = 60_000

export type SendOptions = {
  /** Seconds of block time that pass in one second. */
  speed: number
  /** Blocks below this height are sent at once. */
  start: number
  /** The core restarts each time it has sent this many more blocks; never if undefined. */
  restartEvery?: number | undefined
  /** The last block before a protocol upgrade, if there is one. */
  upgrade?: number | undefined
  /** How long the core waits until its receiver is ready for the upgrade. */
  readyTimeoutMs?: number
  /** Called with a line of text for people, about each restart and upgrade. */
  report?: (line: string) => void
}

/** A core that sends blocks when they are due, restarts, and goes through a protocol upgrade. */
export class SendingCore {
  readonly #address: { host: string; port: number }
  readonly #options: SendOptions
  readonly #signal: AbortSignal
  /** Null if the core never restarts, so that no snapshots are necessary. */
  readonly #snapshots: Snapshots | null
  #connection: PairConnection | null = null
  /** The first block that is sent at its time, and when it was sent. */
  #first: { at: number; time: bigint } | null = null
  #lastHeight = 0
  #sent = 0
  /** Whether the protocol upgrade, if there is one, is over. */
  isUpgraded = false
  /** Called while the core waits, with the height for which the receiver says that it is ready. */
  #onReady: (height: bigint) => void = () => {}

  constructor(address: { host: string; port: number }, options: SendOptions, signal: AbortSignal) {
    this.#address = address
    this.#options = options
    this.#signal = signal
    const restarts = options.restartEvery !== undefined || options.upgrade !== undefined
    this.#snapshots = restarts ? new Snapshots() : null
  }

  /** @throws {ConnectionError} */
  async dial(): Promise<void> {
    const { host, port } = this.#address
    this.#connection = await dialPair(host, port, this.#signal, (message) => {
      const height = readyHeightIn(message)
      if (height !== null) this.#onReady(height)
    })
  }

  /**
   * Sends a block when it is due; before it, what a core sends when it is restarted or upgraded there.
   *
   * @throws {ConnectionError} if the connection is closed
   * @throws {DialError} if the receiver does not say in time that it is ready for the upgrade
   */
  async send(block: SentBlock): Promise<void> {
    const { restartEvery, upgrade } = this.#options
    if (this.#sent > 0) {
      if (this.#lastHeight === upgrade) await this.#upgrade(upgrade, block)
      else if (restartEvery !== undefined && this.#sent % restartEvery === 0) await this.#restart()
    }
    await this.#waitUntilDue(block)
    await this.#write(block.records)
    this.#snapshots?.add(block, block.height === upgrade)
    this.#lastHeight = block.height
    this.#sent++
  }

  /**
   * Ends the connection once the receiver has read everything.
   *
   * @throws {ConnectionError} if it does not do so in time
   */
  async end(): Promise<void> {
    const connection = this.#connection!
    const isRead = await connection.end(END_TIMEOUT_MS)
    if (!isRead && !this.#signal.aborted) throw connection.closed.reason
  }

  async #waitUntilDue({ height, time }: SentBlock): Promise<void> {
    const { start, speed } = this.#options
    if (height < start) return
    this.#first ??= { at: performance.now(), time }
    const dueAt = this.#first.at + Number((time - this.#first.time) / 1_000_000n) / speed
    await this.#pause(dueAt - performance.now())
  }

  /** Waits. Ends early, without an error, if sending is aborted or the connection is closed. */
  async #pause(ms: number): Promise<void> {
    const signal = AbortSignal.any([this.#signal, this.#connection!.closed])
    if (ms > 0) await sleep(ms, undefined, { signal }).catch(() => {})
  }

  async #write(records: Buffer): Promise<void> {
    if (!this.#signal.aborted) await this.#connection!.write(messagesOf(records))
  }

  /** The upgrade begins with the hash of the next block, as if the core had already begun it. */
  async #upgrade(height: number, next: SentBlock): Promise<void> {
    const { hash, chainId } = identityOf(next)
    const out = new RecordWriter(chainId)
    out.beginBlock(height + 1, hash)
    out.write(EVENT_TYPES.protocolUpgradeStarted, null, { 1: height })
    const announcedAt = performance.now()
    await Promise.all([this.#untilReady(height), this.#write(Buffer.concat(out.takeAll()))])
    if (this.#signal.aborted) return
    this.isUpgraded = true
    const ms = Math.round(performance.now() - announcedAt)
    this.#report(`protocol upgrade after block ${height}: the receiver was ready after ${ms} ms`)
    await this.#restart()
  }

  #untilReady(height: number): Promise<void> {
    const { closed } = this.#connection!
    const { readyTimeoutMs = READY_TIMEOUT_MS } = this.#options
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(() => {
      const { host, port } = this.#address
      const missing = `no ProtocolUpgradeDataNodeReady for block ${height} within ${readyTimeoutMs / 1_000} s`
      reject(new DialError(`--dial ${host}:${port}: ${missing}; the service's /ready says what it waits for`))
    }, readyTimeoutMs)
    const onClosed = () => reject(closed.reason)
    const onAbort = () => resolve()
    closed.addEventListener('abort', onClosed)
    this.#signal.addEventListener('abort', onAbort)
    this.#onReady = (ready) => {
      if (ready === BigInt(height)) resolve()
    }
    return promise.finally(() => {
      clearTimeout(timer)
      closed.removeEventListener('abort', onClosed)
      this.#signal.removeEventListener('abort', onAbort)
      this.#onReady = () => {}
    })
  }

  async #restart(): Promise<void> {
    await this.end()
    await this.#redial()
    if (this.#signal.aborted) return
    const { height, outside, blocks } = this.#snapshots!.restart()
    await this.#write(outside)
    for (const { records } of blocks) await this.#write(records)
    this.#report(
      `restarted after block ${this.#lastHeight} from the snapshot of block ${height}: ${countOf(blocks.length, 'block')} sent again`,
    )
  }

  #report(line: string): void {
    this.#options.report?.(line)
  }

  /** Dials again. The receiver may need a moment to notice that the connection has ended. */
  async #redial(): Promise<void> {
    const until = performance.now() + REDIAL_TIMEOUT_MS
    while (!this.#signal.aborted) {
      try {
        return await this.dial()
      } catch (error) {
        if (!(error instanceof ConnectionError) || performance.now() >= until) throw error
        await sleep(REDIAL_MS)
      }
    }
  }
}

function countOf(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`
}

import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { flushFolder } from '#core/concurrency/flush'
import { encodeDataNodeReady } from '#core/events/protocol-upgrade'
import { PRIVATE_FILE } from './event-buffer.ts'

/** File of the buffer's folder with the upgrade that the core waits in: it says so once. */
const FILE_NAME = 'protocol-upgrade.json'

/** A wait of this length is named. */
export const LONG_WAIT_MS = 10_000

/** Whom the core waits for: blocks up to the upgrade to be stored, or the receiver of forwarded events to answer. */
export type UpgradeWait = 'store' | 'receiver'

/** A protocol upgrade after whose last block no other block has come yet. Public: it contains no addresses. */
export type UpgradeState = {
  /** The last block before the upgrade. */
  height: string
  /** When the core announced it, Unix milliseconds. */
  since: number
  /** Null once the core has been answered. */
  waitsFor: UpgradeWait | null
}

export type ProtocolUpgradeOptions = {
  /** Folder of the buffer. */
  folder: string
  log: Logger
  /** Whether the receiver of forwarded events answers; otherwise the store's blocks do. */
  forwards: boolean
  /** Sends a message to the connected core; false if there is none. */
  send: (message: Buffer) => boolean
  /** Called with each upgrade that begins, is answered or ends; null once there is none. */
  onChange: (pending: PendingUpgrade | null) => void
}

/** An upgrade and the events that belong to it. */
export type PendingUpgrade = {
  height: bigint
  since: number
  chainId: string
  /** ProtocolUpgradeStarted, as the core sent it. */
  event: Buffer
  /** What the core has been answered, or is to be; null before. */
  answer: Buffer | null
}

/**
 * Answers the core's announcement of a protocol upgrade, for which it makes no more blocks (docs/events.md, live). What
 * was announced and answered survives the process, because the core does not repeat it; it is answered on each connection
 * until a later block begins.
 */
export class ProtocolUpgrade {
  readonly #options: ProtocolUpgradeOptions
  #pending: PendingUpgrade | null
  /** The greatest height up to which the store has all blocks. */
  #committedUpTo = -1n
  /** Whether a core has connected that has not been sent the answer again. */
  #mustRepeat = false
  /** Whether a long wait has been logged. */
  #isNamed = false

  constructor(options: ProtocolUpgradeOptions) {
    this.#options = options
    this.#pending = readPending(join(options.folder, FILE_NAME))
  }

  get pending(): PendingUpgrade | null {
    return this.#pending
  }

  get state(): UpgradeState | null {
    if (this.#pending === null) return null
    const { height, since, answer } = this.#pending
    const waitsFor = answer !== null ? null : this.#options.forwards ? 'receiver' : 'store'
    return { height: `${height}`, since, waitsFor }
  }

  /** The core has announced an upgrade after the block of this height. A repeated announcement is answered again. */
  announced(height: bigint, chainId: string, event: Buffer): void {
    if (this.#pending?.height !== height) {
      this.#isNamed = false
      this.#set({ height, since: Date.now(), chainId, event: Buffer.from(event), answer: null })
      this.#options.log.info(
        `protocol upgrade after block ${height}: the core makes no more blocks until it is answered`,
      )
    } else if (this.#pending.answer !== null) this.#send()
    this.#answerIfStored()
  }

  /** A block has begun: one after the upgrade ends it. */
  begun(height: bigint): void {
    if (this.#pending === null || height <= this.#pending.height) return
    this.#options.log.info(
      `protocol upgrade after block ${this.#pending.height}: over, block ${height} has begun`,
    )
    this.#set(null)
  }

  /** The store has all blocks up to this height. */
  committed(height: bigint): void {
    if (height > this.#committedUpTo) this.#committedUpTo = height
    if (this.#pending !== null && height > this.#pending.height) this.begun(height)
    this.#answerIfStored()
  }

  /** The receiver of forwarded events is ready for an upgrade: its first answer goes to the core, unchanged. */
  receiverReady(height: bigint, answer: Buffer): void {
    const { log } = this.#options
    if (this.#pending === null || this.#pending.height !== height) {
      log.warn(
        `the receiver is ready for a protocol upgrade after block ${height}, which the core has not announced`,
      )
    } else if (this.#pending.answer === null) {
      this.#answer(answer, 'the receiver of forwarded events is ready')
    }
  }

  /** A core has connected: it may be the one that still waits. */
  connected(): void {
    this.#mustRepeat = true
  }

  /** Answers on a new connection, and names a long wait in the log, once; called every second. */
  upkeep(): void {
    const { state } = this
    if (this.#mustRepeat && this.#pending?.answer != null && this.#send()) {
      this.#options.log.info(
        `protocol upgrade after block ${this.#pending.height}: the core is answered again on its new connection`,
      )
    }
    if (state === null || state.waitsFor === null || this.#isNamed) return
    if (Date.now() - state.since < LONG_WAIT_MS) return
    this.#isNamed = true
    this.#options.log.warn(describeWait(state))
  }

  #answerIfStored(): void {
    if (this.#pending === null || this.#options.forwards || this.#pending.answer !== null) return
    const { height, chainId } = this.#pending
    if (this.#committedUpTo < height) return
    this.#answer(encodeDataNodeReady(chainId, height), 'all blocks are stored')
  }

  #answer(answer: Buffer, why: string): void {
    const pending = this.#pending!
    // First on disk: after a restart it must not ask the receiver again, which takes no event after its answer.
    this.#set({ ...pending, answer: Buffer.from(answer) })
    const sent = this.#send() ? 'the core is answered' : 'the core is answered once it connects'
    this.#options.log.info(`protocol upgrade after block ${pending.height}: ${why}, ${sent}`)
  }

  #send(): boolean {
    this.#mustRepeat = false
    return this.#options.send(this.#pending!.answer!)
  }

  #set(pending: PendingUpgrade | null): void {
    this.#pending = pending
    const { folder, log } = this.#options
    try {
      writePending(join(folder, FILE_NAME), folder, pending)
    } catch (error) {
      log.warn(
        `protocol upgrade: ${FILE_NAME} cannot be written (${(error as Error).message}); it is forgotten if the service ends before the core goes on`,
      )
    }
    this.#options.onChange(pending)
  }
}

/** Says for whom the core waits. */
export function describeWait({ height, waitsFor }: UpgradeState): string {
  const who =
    waitsFor === 'receiver'
      ? 'the receiver of forwarded events, which has not answered'
      : `the store, which does not have all blocks up to ${height}`
  return `protocol upgrade after block ${height}: the core waits for ${who}`
}

/** Reads what an earlier process has written; null if there is nothing, or it cannot be read. */
function readPending(path: string): PendingUpgrade | null {
  try {
    const { height, since, chainId, event, answer } = JSON.parse(readFileSync(path, 'utf8'))
    if (!/^\d{1,19}$/.test(height) || !Number.isFinite(since) || typeof chainId !== 'string') return null
    return {
      height: BigInt(height),
      since,
      chainId,
      event: Buffer.from(event, 'base64'),
      answer: answer === null ? null : Buffer.from(answer, 'base64'),
    }
  } catch {
    return null
  }
}

/** Writes so that a loss of power leaves the old file or the new one. */
function writePending(path: string, folder: string, pending: PendingUpgrade | null): void {
  if (pending === null) {
    rmSync(path, { force: true })
    return
  }
  const { height, event, answer, ...rest } = pending
  const text = JSON.stringify({
    ...rest,
    height: `${height}`,
    event: event.toString('base64'),
    answer: answer?.toString('base64') ?? null,
  })
  writeFileSync(`${path}.new`, text, { mode: PRIVATE_FILE, flush: true })
  renameSync(`${path}.new`, path)
  flushFolder(folder)
}

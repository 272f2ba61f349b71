import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { describeBlocks } from '#core/domain/coverage'
import type { BeginBlock } from '#core/events/block-events'
import { BlockSender, type SendPosition, START_POSITION } from './block-sender.ts'
import { type BlockRun, startOfRuns } from './block-stretches.ts'
import { ConnectionError, dialPair } from './dial-pair.ts'
import { type ForwardSettings, type ForwardState, noForwardState } from './forward-state.ts'
import { type Dropped, type FilePosition, KeptFiles, type Trimmed } from './kept-files.ts'

/** Wait before reconnecting to an unreachable receiver: first, and maximum. */
const FIRST_RECONNECT_MS = 1_000
const LONGEST_RECONNECT_MS = 30_000

/** After a connection that lasted so long, the next wait is the first one again. */
const GOOD_CONNECTION_MS = 10_000

/** How long the receiver may take to accept a started message when the service stops. */
const LAST_MESSAGE_TIMEOUT_MS = 2_000

/** Events deleted before they were forwarded are logged once, and once more per such interval. */
const DROP_LOG_MS = 60_000

/**
 * Forwards a core's events from the kept files. Within a connection blocks are consecutive, as a data node requires: a
 * block that the core sends again is skipped. A new connection begins with the oldest block from which none is missing,
 * since the receiver may have lost uncommitted blocks; of blocks sent again, only the last version is forwarded. Only
 * after an orderly stop does it resume from its last position.
 */
export class Forwarder {
  readonly state: ForwardState = noForwardState()
  readonly files: KeptFiles
  readonly #settings: ForwardSettings & { folder: string }
  readonly #log: Logger
  readonly #onState: () => void
  readonly #stopping = new AbortController()
  /** Of the connection that there is. */
  #sender: BlockSender | null = null
  #wake: () => void = () => {}
  /** How far events have been passed on, in any connection. */
  #passedOn: SendPosition = START_POSITION
  /** The greatest height passed on; null while that is not known. */
  #passedUpTo: bigint | null = null
  #lastFault: string | null = null
  /** Why there is no connection, and why the files cannot be kept as they should be. */
  #connectionFault: string | null = null
  #keepingFault: string | null = null
  #dropped: Dropped | null = null
  /** The height of the oldest block that was ever kept. */
  #oldest: bigint | null = null
  #dropLoggedAt = Number.NEGATIVE_INFINITY

  constructor(settings: ForwardSettings & { folder: string }, log: Logger, onState: () => void) {
    this.#settings = settings
    this.#log = log
    this.#onState = onState
    this.files = new KeptFiles(settings.folder, settings.limitBytes, log)
  }

  grown(number: number, safeBytes: number): void {
    this.files.grown(number, safeBytes)
    // A fault now recurs in a second, and is reported then.
    void this.files.scan().then(
      () => {
        this.#oldest ??= this.files.stretches.all[0]?.first.height ?? null
      },
      () => {},
    )
    this.#wake()
  }

  dropped(file: { number: number; bytes: number; reason: string }): void {
    this.#countDropped({ files: [file.number], lost: this.files.dropped(file, this.#passedOn) })
  }

  /** Finishes the block that is being passed on, waits for at most 2 s, and ends. */
  stop(): void {
    this.#stopping.abort()
    this.#wake()
  }

  /** Deletes files beyond the limit, and reports; called every second. */
  async upkeep(): Promise<void> {
    try {
      await this.files.scan()
      const { missingBlocks } = this.state
      const start = missingBlocks === null ? null : startOfRuns(this.files.stretches.runs())
      if (start !== null && start.first <= BigInt(missingBlocks!.from)) {
        this.#sender?.connection.close('the missing blocks have arrived')
      }
      const reading = this.#sender?.reading.file ?? Number.POSITIVE_INFINITY
      this.#countDropped(await this.files.trim(this.#passedOn, reading))
      this.#keepingFault = null
    } catch (error) {
      this.#keepingFault = this.#logFault(error as Error)
    }
    if (this.#sender === null) this.#recordDropped()
    this.#logDropped()
    this.#report()
  }

  /** Dials, passes on and dials again, until it is stopped. */
  async run(): Promise<void> {
    const { signal } = this.#stopping
    let resumeAt = parsePosition(await this.files.takePosition())
    this.#passedOn = resumeAt ?? START_POSITION
    this.#passedUpTo = resumeAt?.block?.height ?? null
    let wait = FIRST_RECONNECT_MS
    while (!signal.aborted) {
      const startedAt = performance.now()
      try {
        await this.files.scan()
        await this.#connect(resumeAt ?? START_POSITION)
      } catch (error) {
        if (signal.aborted) break
        this.#connectionFault = this.#logFault(error as Error)
      } finally {
        this.#sender = null
        this.state.connected = false
        this.#report()
      }
      resumeAt = null
      if (performance.now() - startedAt >= GOOD_CONNECTION_MS) wait = FIRST_RECONNECT_MS
      await sleep(wait, undefined, { signal }).catch(() => {})
      wait = Math.min(2 * wait, LONGEST_RECONNECT_MS)
    }
    this.#logDropped(true)
    this.#report()
  }

  async #connect(from: SendPosition): Promise<void> {
    const { host, port } = this.#settings
    const { signal } = this.#stopping
    const connection = await dialPair(host, port, signal)
    connection.closed.addEventListener('abort', () => this.#wake(), { once: true })
    // A receiver that reads nothing must not hold up the end of the service.
    const onStop = () => setTimeout(() => connection.close('stopped'), LAST_MESSAGE_TIMEOUT_MS).unref()
    signal.addEventListener('abort', onStop, { once: true })
    const sender = new BlockSender(connection, this.files, from, (runs) => this.#firstHeight(runs))
    this.#sender = sender
    this.#lastFault = null
    this.state.connected = true
    this.#connectionFault = null
    this.#log.info(`forwarding: connected to ${this.#address}`)
    this.#report()
    try {
      await this.#passOn(sender)
      const position = writtenPosition(sender.blockEnd, sender.sent)
      if ((await connection.end(LAST_MESSAGE_TIMEOUT_MS)) && position !== null)
        await this.files.writePosition(position)
    } finally {
      signal.removeEventListener('abort', onStop)
      connection.close('stopped')
    }
  }

  /** Passes on until it is stopped between two blocks; throws once the connection is closed. */
  async #passOn(sender: BlockSender): Promise<void> {
    const { closed } = sender.connection
    for (;;) {
      if (closed.aborted) throw closed.reason
      if (this.#stopping.signal.aborted && sender.isBetweenBlocks) return
      const messages = await sender.sendNext()
      if (messages === null) await this.#waitForMore(sender)
      else {
        this.state.messages += messages
        this.#advance({ ...sender.reading, block: sender.sent })
      }
    }
  }

  /** The height with which a new connection begins. */
  #firstHeight(runs: readonly BlockRun[]): bigint {
    const { first } = startOfRuns(runs)!
    const { missingBlocks } = this.state
    if (missingBlocks !== null && first <= BigInt(missingBlocks.from)) this.state.missingBlocks = null
    const hole = this.#recordDropped()
    if (hole === null) return first
    const from = this.state.missingBlocks?.from ?? `${hole.from}`
    this.state.missingBlocks = { from, to: `${hole.to}` }
    if (missingBlocks?.to !== `${hole.to}`) {
      this.#log.error(
        `forwarding: ${describeBlocks({ from: BigInt(from), to: hole.to })} missing in the events kept for ${this.#address}: it must get them from another source, or from the core restarted from a snapshot before block ${from}. Forwarding continues with block ${first}`,
      )
    }
    return first
  }

  /** The heights before a new connection's first one that were never passed on. Names them if they were deleted. */
  #recordDropped(): { from: bigint; to: bigint } | null {
    const start = startOfRuns(this.files.stretches.runs())
    if (start === null) return null
    const { first, beforeHole } = start
    const { droppedBytes, droppedBlocks } = this.state
    const before = this.#passedUpTo ?? beforeHole ?? (droppedBytes === 0 ? null : this.#oldest! - 1n)
    if (before === null || first <= before + 1n) return null
    const hole = { from: before + 1n, to: first - 1n }
    if (droppedBytes > 0 && beforeHole === null) {
      const continues = droppedBlocks !== null && BigInt(droppedBlocks.to) + 1n >= hole.from
      this.state.droppedBlocks = {
        from: continues ? droppedBlocks.from : `${hole.from}`,
        to: `${hole.to}`,
      }
    }
    return hole
  }

  /** Waits for new events, and finds their blocks. */
  async #waitForMore({ reading, connection }: BlockSender): Promise<void> {
    const before = this.files.bytesFrom(reading)
    await this.files.scan()
    if (this.files.next(reading) !== null || this.files.bytesFrom(reading) !== before) return
    if (this.#stopping.signal.aborted || connection.closed.aborted) return
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    this.#wake = () => {}
  }

  #advance(position: SendPosition): void {
    const { file, offset } = this.#passedOn
    const height = position.block?.height
    if (height !== undefined && height > (this.#passedUpTo ?? -1n)) this.#passedUpTo = height
    if (position.file > file || (position.file === file && position.offset > offset))
      this.#passedOn = position
  }

  #countDropped({ files, lost }: Trimmed): void {
    // The connection must not continue after deleted events as if nothing were missing.
    const sender = this.#sender
    if (sender !== null && files.some((file) => file >= sender.reading.file)) {
      sender.connection.close('events that it had not received yet were deleted')
    }
    if (lost === null) return
    // Its blocks are not known if it was deleted before it was read.
    this.#oldest ??= 1n
    this.state.droppedBytes += lost.bytes
    this.state.droppedBlocks ??= this.state.missingBlocks
    this.#dropped = { bytes: (this.#dropped?.bytes ?? 0) + lost.bytes, reason: lost.reason }
  }

  #logDropped(isLast = false): void {
    if (this.#dropped === null) return
    if (!isLast && performance.now() - this.#dropLoggedAt < DROP_LOG_MS) return
    const { bytes, reason } = this.#dropped
    const { droppedBlocks } = this.state
    const blocks = droppedBlocks === null ? '' : ` (${describeBlocks(droppedBlocks)})`
    this.#log.error(
      `forwarding: ${bytes} bytes of events were deleted before ${this.#address} received them${blocks}: ${reason}. It must get these blocks from another source`,
    )
    this.#dropped = null
    this.#dropLoggedAt = performance.now()
  }

  /** Logs the fault; returns its public description. */
  #logFault(error: Error): string | null {
    const isConnection = error instanceof ConnectionError
    const code = (error as NodeJS.ErrnoException).code ?? ''
    // The file was deleted; its content is reported as dropped.
    if (code === 'ENOENT') return null
    const message = isConnection
      ? `${this.#address}: ${error.message}. Reconnecting; events are kept for it meanwhile`
      : `the events kept in ${this.#settings.folder} cannot be read: ${error.message}`
    if (message !== this.#lastFault) this.#log.error(`forwarding: ${message}`)
    this.#lastFault = message
    return isConnection
      ? 'the receiver is unreachable or refuses the connection; see the log'
      : 'the events kept for the receiver cannot be read; see the log'
  }

  #report(): void {
    const { state, files } = this
    state.failure = this.#connectionFault ?? this.#keepingFault
    const newest = files.stretches.all.at(-1)?.last ?? null
    const since = this.#passedOn.block ?? files.stretches.all[0]?.first ?? null
    state.height = this.#passedOn.block === null ? null : `${this.#passedOn.block.height}`
    state.lagBytes = files.blockBytesFrom(this.#passedOn)
    const isBehind = newest !== null && since !== null && newest.height > since.height
    state.lagBlocks = isBehind ? Number(newest.height - since.height) : 0
    state.lagSeconds = isBehind ? Math.max(0, Number(newest.timestamp - since.timestamp) / 1e9) : 0
    this.#onState()
  }

  get #address(): string {
    const { host, port } = this.#settings
    return `${host.includes(':') ? `[${host}]` : host}:${port}`
  }
}

/** A position as it is written to disk; null if nothing was passed on. */
function writtenPosition({ file, offset }: FilePosition, block: BeginBlock | null): object | null {
  if (block === null) return null
  const { height, timestamp, hash } = block
  return { file, offset, block: { height: `${height}`, timestamp: `${timestamp}`, hash } }
}

/** A position written by an earlier process; null if it is invalid. */
function parsePosition(value: unknown): SendPosition | null {
  const { file, offset, block } = (value ?? {}) as { [key in keyof SendPosition]?: unknown }
  const { height, timestamp, hash } = (block ?? {}) as { [key in keyof BeginBlock]?: unknown }
  if (!Number.isSafeInteger(file) || !Number.isSafeInteger(offset)) return null
  if (![height, timestamp].every((digits) => typeof digits === 'string' && /^-?\d{1,20}$/.test(digits)))
    return null
  if (typeof hash !== 'string') return null
  return {
    file: file as number,
    offset: offset as number,
    block: { height: BigInt(height as string), timestamp: BigInt(timestamp as string), hash },
  }
}

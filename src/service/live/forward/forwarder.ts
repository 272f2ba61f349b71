import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { describeBlocks } from '#core/domain/coverage'
import type { BeginBlock } from '#core/events/block-events'
import { readyHeightIn } from '#core/events/protocol-upgrade'
import type { BufferPosition } from '../event-buffer.ts'
import { type BlockSender, createBlockSender, type SendPosition, START_POSITION } from './block-sender.ts'
import { type BlockRun, startOfRuns } from './block-stretches.ts'
import { ConnectionError, dialPair } from './dial-pair.ts'
import {
  type ForwardedUpgrade,
  type ForwardSettings,
  type ForwardState,
  noForwardState,
} from './forward-state.ts'
import { createKeptFiles, type Dropped, type Trimmed } from './kept-files.ts'

/** Wait before reconnecting to an unreachable receiver: first, and maximum. */
const FIRST_RECONNECT_MS = 1_000
const LONGEST_RECONNECT_MS = 30_000

/** After a connection that lasted so long, the next wait is the first one again. */
const GOOD_CONNECTION_MS = 10_000

/** How long the receiver may take to accept a started message when the service stops. */
const LAST_MESSAGE_TIMEOUT_MS = 2_000

/** Events deleted before they were forwarded are logged once, and once more per such interval. */
const DROP_LOG_MS = 60_000

export type ForwarderListener = {
  /** The state has changed. */
  onState(): void
  /** The receiver is ready for a protocol upgrade after the block of a height: its answer. */
  onReady(height: bigint, answer: Buffer): void
}

/**
 * Forwards a core's events from the kept files. Within a connection blocks are consecutive, as a data node requires: a
 * block that the core sends again is skipped, and a missing one ends the connection. A new connection begins with the
 * oldest kept block from which none is missing up to those not passed on yet, since the receiver may have lost uncommitted
 * blocks; of blocks sent again, only the last version is forwarded. Only after an orderly stop does it resume from its
 * last position.
 */
export function createForwarder(
  settings: ForwardSettings & { folder: string },
  log: Logger,
  { onState, onReady }: ForwarderListener,
) {
  const { host, port } = settings
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const state = noForwardState()
  const files = createKeptFiles(settings.folder, settings.limitBytes, log)
  const stopping = new AbortController()
  /** Of the connection that there is. */
  let sender: BlockSender | null = null
  let wake: () => void = () => {}
  /** How far events have been passed on, in any connection. */
  let passedOn: SendPosition = START_POSITION
  /** The greatest height passed on; null while that is not known. */
  let passedUpTo: bigint | null = null
  let lastFault: string | null = null
  /** Why there is no connection, and why the files cannot be kept as they should be. */
  let connectionFault: string | null = null
  let keepingFault: string | null = null
  /** Deleted events that have not been logged yet. */
  let unlogged: Dropped | null = null
  /** The height of the oldest block that was ever kept. */
  let oldest: bigint | null = null
  let dropLoggedAt = Number.NEGATIVE_INFINITY
  /** The protocol upgrade that the receiver has to answer. */
  let upgrade: ForwardedUpgrade | null = null

  /** Takes a message of the receiver. */
  function take(message: Buffer): void {
    const height = readyHeightIn(message)
    if (height !== null) onReady(height, message)
  }

  function setUpgrade(pending: ForwardedUpgrade | null): void {
    upgrade = pending
    wake()
  }

  function grown(number: number, safeBytes: number): void {
    files.grown(number, safeBytes)
    // A fault now recurs in a second, and is reported then.
    void files.scan().then(
      () => {
        oldest ??= files.stretches.all[0]?.first.height ?? null
      },
      () => {},
    )
    wake()
  }

  function dropped(file: { number: number; bytes: number; reason: string }): void {
    countDropped({ files: [file.number], lost: files.dropped(file, passedOn) })
  }

  /** Finishes the block that is being passed on, waits for at most 2 s, and ends. */
  function stop(): void {
    stopping.abort()
    wake()
  }

  /** Deletes files beyond the limit, and reports; called every second. */
  async function upkeep(): Promise<void> {
    try {
      await files.scan()
      const { missingBlocks } = state
      const start = missingBlocks === null ? null : startOfRuns(files.stretches.runs(), passedUpTo)
      if (start !== null && start.first <= BigInt(missingBlocks!.from)) {
        sender?.connection.close('the missing blocks have arrived')
      }
      const reading = sender?.reading().file ?? Number.POSITIVE_INFINITY
      countDropped(await files.trim(passedOn, reading))
      keepingFault = null
    } catch (error) {
      keepingFault = logFault(error as Error)
    }
    if (sender === null) recordDropped()
    logDropped()
    report()
  }

  /** Dials, passes on and dials again, until it is stopped. */
  async function run(): Promise<void> {
    const { signal } = stopping
    let resumeAt = parsePosition(await files.takePosition())
    passedOn = resumeAt ?? START_POSITION
    passedUpTo = resumeAt?.block?.height ?? null
    let wait = FIRST_RECONNECT_MS
    while (!signal.aborted) {
      const startedAt = performance.now()
      try {
        await files.scan()
        await connect(resumeAt ?? START_POSITION)
      } catch (error) {
        if (signal.aborted) break
        connectionFault = logFault(error as Error)
      } finally {
        sender = null
        state.connected = false
        report()
      }
      resumeAt = null
      if (performance.now() - startedAt >= GOOD_CONNECTION_MS) wait = FIRST_RECONNECT_MS
      await sleep(wait, undefined, { signal }).catch(() => {})
      wait = Math.min(2 * wait, LONGEST_RECONNECT_MS)
    }
    logDropped(true)
    report()
  }

  async function connect(from: SendPosition): Promise<void> {
    const { signal } = stopping
    const connection = await dialPair(host, port, signal, take)
    connection.closed.addEventListener('abort', () => wake(), { once: true })
    // A receiver that reads nothing must not hold up the end of the service.
    const onStop = () => setTimeout(() => connection.close('stopped'), LAST_MESSAGE_TIMEOUT_MS).unref()
    signal.addEventListener('abort', onStop, { once: true })
    const opened = createBlockSender(connection, files, from, firstHeight)
    sender = opened
    lastFault = null
    state.connected = true
    connectionFault = null
    log.info(`forwarding: connected to ${address}`)
    report()
    try {
      await passOn(opened)
      const position = writtenPosition(opened.blockEnd(), opened.sent())
      if ((await connection.end(LAST_MESSAGE_TIMEOUT_MS)) && position !== null)
        await files.writePosition(position)
    } finally {
      signal.removeEventListener('abort', onStop)
      connection.close('stopped')
    }
  }

  /** Passes on until it is stopped between two blocks; throws once the connection is closed. */
  async function passOn(opened: BlockSender): Promise<void> {
    const { closed } = opened.connection
    /** The upgrade that was announced in this connection. */
    let announced: ForwardedUpgrade | null = null
    const dueUpgrade = () =>
      upgrade !== announced && upgrade?.height === opened.sent()?.height && opened.isBetweenBlocks()
        ? upgrade
        : null
    for (;;) {
      if (closed.aborted) throw closed.reason
      if (stopping.signal.aborted && opened.isBetweenBlocks()) return
      // Nothing follows it until the core goes on after the upgrade.
      const due = dueUpgrade()
      if (due !== null) {
        announced = due
        await opened.sendBetweenBlocks(due.event)
        state.messages++
        log.info(`forwarding: the protocol upgrade after block ${due.height} was announced to ${address}`)
        report()
      }
      const messages = await opened.sendNext()
      if (messages === null) await waitForMore(opened, () => dueUpgrade() !== null)
      else {
        state.messages += messages
        advance({ ...opened.reading(), block: opened.sent() })
      }
    }
  }

  /** The height with which a new connection begins. */
  function firstHeight(runs: readonly BlockRun[]): bigint {
    const { first } = startOfRuns(runs, passedUpTo)!
    const { missingBlocks } = state
    if (missingBlocks !== null && first <= BigInt(missingBlocks.from)) state.missingBlocks = null
    const hole = recordDropped()
    if (hole === null) return first
    const from = state.missingBlocks?.from ?? `${hole.from}`
    state.missingBlocks = { from, to: `${hole.to}` }
    if (missingBlocks?.to !== `${hole.to}`) {
      log.error(
        `forwarding: ${describeBlocks({ from: BigInt(from), to: hole.to })} missing in the events kept for ${address}: it must get them from another source, or from the core restarted from a snapshot before block ${from}. Forwarding continues with block ${first}`,
      )
    }
    return first
  }

  /** The heights before a new connection's first one that were never passed on. Names them if they were deleted. */
  function recordDropped(): { from: bigint; to: bigint } | null {
    const start = startOfRuns(files.stretches.runs(), passedUpTo)
    if (start === null) return null
    const { first, beforeHole } = start
    const { droppedBytes, droppedBlocks } = state
    const before = passedUpTo ?? beforeHole ?? (droppedBytes === 0 ? null : oldest! - 1n)
    if (before === null || first <= before + 1n) return null
    const hole = { from: before + 1n, to: first - 1n }
    if (droppedBytes > 0 && beforeHole === null) {
      const continues = droppedBlocks !== null && BigInt(droppedBlocks.to) + 1n >= hole.from
      state.droppedBlocks = {
        from: continues ? droppedBlocks.from : `${hole.from}`,
        to: `${hole.to}`,
      }
    }
    return hole
  }

  /** Waits for new events, and finds their blocks; not while something else is due. */
  async function waitForMore(opened: BlockSender, isElseDue: () => boolean): Promise<void> {
    const reading = opened.reading()
    const before = files.bytesFrom(reading)
    await files.scan()
    if (files.next(reading) !== null || files.bytesFrom(reading) !== before) return
    if (stopping.signal.aborted || opened.connection.closed.aborted || isElseDue()) return
    await new Promise<void>((resolve) => {
      wake = resolve
    })
    wake = () => {}
  }

  function advance(position: SendPosition): void {
    const { file, offset } = passedOn
    const height = position.block?.height
    if (height !== undefined && height > (passedUpTo ?? -1n)) passedUpTo = height
    if (position.file > file || (position.file === file && position.offset > offset)) passedOn = position
  }

  function countDropped({ files: deleted, lost }: Trimmed): void {
    // The connection must not continue after deleted events as if nothing were missing.
    if (sender !== null && deleted.some((file) => file >= sender!.reading().file)) {
      sender.connection.close('events that it had not received yet were deleted')
    }
    if (lost === null) return
    // Its blocks are not known if it was deleted before it was read.
    oldest ??= 1n
    state.droppedBytes += lost.bytes
    state.droppedBlocks ??= state.missingBlocks
    unlogged = { bytes: (unlogged?.bytes ?? 0) + lost.bytes, reason: lost.reason }
  }

  function logDropped(isLast = false): void {
    if (unlogged === null) return
    if (!isLast && performance.now() - dropLoggedAt < DROP_LOG_MS) return
    const { bytes, reason } = unlogged
    const { droppedBlocks } = state
    const blocks = droppedBlocks === null ? '' : ` (${describeBlocks(droppedBlocks)})`
    log.error(
      `forwarding: ${bytes} bytes of events were deleted before ${address} received them${blocks}: ${reason}. It must get these blocks from another source`,
    )
    unlogged = null
    dropLoggedAt = performance.now()
  }

  /** Logs the fault; returns its public description. */
  function logFault(error: Error): string | null {
    const isConnection = error instanceof ConnectionError
    const code = (error as NodeJS.ErrnoException).code ?? ''
    // The file was deleted; its content is reported as dropped.
    if (code === 'ENOENT') return null
    const message = isConnection
      ? `${address}: ${error.message}. Reconnecting; events are kept for it meanwhile`
      : `the events kept in ${settings.folder} cannot be read: ${error.message}`
    if (message !== lastFault) log.error(`forwarding: ${message}`)
    lastFault = message
    return isConnection
      ? 'the receiver is unreachable or refuses the connection; see the log'
      : 'the events kept for the receiver cannot be read; see the log'
  }

  function report(): void {
    state.failure = connectionFault ?? keepingFault
    const newest = files.stretches.all.at(-1)?.last ?? null
    const since = passedOn.block ?? files.stretches.all[0]?.first ?? null
    state.height = passedOn.block === null ? null : `${passedOn.block.height}`
    state.lagBytes = files.blockBytesFrom(passedOn)
    const isBehind = newest !== null && since !== null && newest.height > since.height
    state.lagBlocks = isBehind ? Number(newest.height - since.height) : 0
    state.lagSeconds = isBehind ? Math.max(0, Number(newest.timestamp - since.timestamp) / 1e9) : 0
    onState()
  }

  return { state: state as ForwardState, setUpgrade, grown, dropped, stop, upkeep, run }
}

/** A position as it is written to disk; null if nothing was passed on. */
function writtenPosition({ file, offset }: BufferPosition, block: BeginBlock | null): object | null {
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

import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { RECORD_HEADER_BYTES } from '../../records/record-framer.ts'
import { type CheckedEvent, EventCheck, type LoggedBlock, type PinnedChain } from '../event-check.ts'
import { type LogDisk, NODE_DISK, SPACE_WAIT_MS } from '../files/log-disk.ts'
import { type LogHead, readHead } from '../files/log-head.ts'
import { segmentsIn } from '../files/segment-name.ts'
import { PIECE_BYTES } from '../segment-frames.ts'
import { type DiskFaultListener, DiskRetries } from './disk-retries.ts'
import { openLeftSegments } from './left-segments.ts'
import { type HeadListener, SegmentQueue } from './segment-queue.ts'

type LogWriterOptions = {
  folder: string
  /** The required chain of events; null: that of the log, or of the first whole block. */
  pinned: PinnedChain | null
  /** A segment of this size is followed by another one, at the next block. */
  segmentBytes: number
  /**
   * Whether everything that an earlier process wrote is intact: the system has not been started anew since, and no disk
   * has failed. Otherwise only what was committed counts.
   */
  isIntact: boolean
  logger: Logger
  disk?: LogDisk
}

/** The owner of a writer. */
type LogWriterListener = HeadListener & DiskFaultListener

/** Thrown for a log of another chain than the one required. */
export class OtherLogChainError extends Error {
  override name = 'OtherLogChainError'
}

/** What is to be done with a segment, in the order in which events came. */
type Step =
  | { type: 'begin'; block: LoggedBlock }
  | { type: 'event'; bytes: Buffer; isCopy: boolean }
  | { type: 'end'; block: LoggedBlock }
  | { type: 'drop' }

/**
 * Writes the events of a core to an event log (README.md). A written event survives the process immediately, within a block
 * too. Once a block has ended it is flushed, and the head then says that it may be read.
 */
export class LogWriter {
  readonly #check: EventCheck
  readonly #retries: DiskRetries
  readonly #segments: SegmentQueue
  /** Events that were taken, and not written yet. */
  #steps: Step[] = []

  /**
   * Opens the log of a folder, which no other process may write to, and puts right what an earlier process has left.
   *
   * @throws {OtherLogChainError} if the log is of another chain.
   * @throws {NewerLogError} for a log of a later version.
   * @throws the disk's error if the log cannot be read or flushed.
   */
  static async open(options: LogWriterOptions, listener: LogWriterListener): Promise<LogWriter> {
    const { disk = NODE_DISK, folder, pinned, segmentBytes, isIntact, logger } = options
    const head = readHead(disk, folder)
    if (pinned !== null && head !== null && head.chainId !== null && head.chainId !== pinned.id) {
      throw new OtherLogChainError(
        `${folder}: the event log is of chain ${JSON.stringify(head.chainId)}, but ${pinned.pinnedBy} ${JSON.stringify(pinned.id)}: name another --event-log`,
      )
    }
    const ofLog = head?.chainId == null ? null : { id: head.chainId, pinnedBy: 'the event log is of chain' }
    const check = new EventCheck(pinned ?? ofLog)
    const retries = new DiskRetries({ disk, folder, logger }, listener)
    const segments = new SegmentQueue({
      disk,
      folder,
      segmentBytes,
      retries,
      check,
      head: nextHead(head, check, segmentsIn(disk.list(folder)).at(-1)?.number ?? 0),
      listener,
    })
    const writer = new LogWriter(check, retries, segments)
    const left = await openLeftSegments({ disk, folder, head, isIntact, check })
    segments.takeLeft(left.segments)
    const { incomplete } = left
    if (incomplete !== null) retries.doInTurn(() => writer.#end(incomplete))
    segments.commit()
    // A full disk does not keep a core from connecting.
    await Promise.race([segments.committing, sleep(SPACE_WAIT_MS, undefined, { ref: false })])
    return writer
  }

  private constructor(check: EventCheck, retries: DiskRetries, segments: SegmentQueue) {
    this.#check = check
    this.#retries = retries
    this.#segments = segments
  }

  get head(): LogHead {
    return this.#segments.head
  }

  /** Why the disk accepts no writes, without the folder's name; null while it does. */
  get fault(): string | null {
    return this.#retries.fault
  }

  /** A store holds blocks: events must be of its chain. */
  pinChain(id: string): void {
    this.#check.pin({ id, pinnedBy: 'the store contains chain' })
  }

  /** Segments may have been deleted or gzipped: has the index written again. */
  renewIndex(): void {
    this.#segments.renewIndex()
  }

  /** A core has connected. */
  connected(): void {
    this.#check.forgetConnectionChain()
  }

  /**
   * Takes a core's next event, to be written by {@link write}, whose bytes stay until then.
   *
   * @throws {RefusedEventError} for an event that must not be written.
   */
  take(event: Buffer): CheckedEvent {
    const checked = this.#check.check(event, 0, event.length)
    const { role, block, dropsBlock, upgradeAfter } = checked
    if (dropsBlock) this.#steps.push({ type: 'drop' })
    if (role === 'begin') this.#steps.push({ type: 'begin', block: block! })
    if (role !== 'outside') this.#steps.push({ type: 'event', bytes: event, isCopy: false })
    if (role === 'end') this.#steps.push({ type: 'end', block: block! })
    if (upgradeAfter !== null) this.#segments.announce({ height: upgradeAfter, event: Buffer.from(event) })
    return checked
  }

  /** Removes the block that has begun: it has not been read, and never will be. */
  dropOpenBlock(): void {
    const openBytes = this.#segments.openBytes
    if (!this.#check.isBlockOpen && openBytes === 0 && this.#steps.length === 0) return
    this.#check.dropOpenBlock()
    this.#steps.push({ type: 'drop' })
    this.write()
  }

  /**
   * Writes the events taken. Returns null if more may be taken at once. Otherwise returns what to wait for: a disk that refuses
   * writes, or a slow one that must first commit. The promise rejects if nothing can be written any more, of which the listener
   * was told.
   */
  write(): Promise<void> | null {
    this.#retries.doInTurn(this.#runSteps)
    this.#copyEvents()
    if (this.#retries.waiting !== null) return this.#retries.waiting
    if (!this.#segments.isBehind) return null
    const settled = this.settled()
    // Who does not wait is told of a lasting fault by the listener.
    settled.catch(() => {})
    return settled
  }

  /** Whether a block has begun and not ended. */
  get isBlockOpen(): boolean {
    return this.#check.isBlockOpen
  }

  /** Resolves once all whole blocks that were written are committed; rejects if they cannot be, as {@link write}. */
  async settled(): Promise<void> {
    await this.#untilIdle()
    if (this.#retries.hasFailed) await this.#retries.waiting
  }

  /** Ends once nothing is written any more, whether all was or not. The block that is open stays for the next process. */
  async close(): Promise<void> {
    // The listener has been told of a fault that lasts.
    await this.#untilIdle().catch(() => {})
    this.#segments.close()
  }

  async #untilIdle(): Promise<void> {
    for (let work = this.#unsettled; work !== null; work = this.#unsettled) await work
  }

  get #unsettled(): Promise<void> | null {
    const waiting = this.#retries.hasFailed ? null : this.#retries.waiting
    return waiting ?? this.#segments.committing
  }

  /** Copies events that the disk has refused: their memory is the caller's, who may use it again after {@link write}. */
  #copyEvents(): void {
    for (const step of this.#steps) {
      if (step.type !== 'event' || step.isCopy) continue
      step.bytes = Buffer.from(step.bytes)
      step.isCopy = true
    }
  }

  readonly #runSteps = (): void => {
    const steps = this.#steps
    let done = 0
    try {
      while (done < steps.length) {
        const step = steps[done]!
        if (step.type === 'event') {
          done += this.#writeEvents(steps, done)
          continue
        }
        if (step.type === 'begin') this.#segments.begin(step.block)
        else if (step.type === 'end') this.#end(step.block)
        else this.#segments.cutOpenBlock()
        done++
      }
    } finally {
      this.#steps = steps.slice(done)
    }
  }

  /** Writes the events from a step on in one call, up to about a mebibyte; returns how many. */
  #writeEvents(steps: readonly Step[], from: number): number {
    const events: Buffer[] = []
    let bytes = 0
    for (let at = from; at < steps.length && bytes < PIECE_BYTES; at++) {
      const step = steps[at]!
      if (step.type !== 'event') break
      events.push(step.bytes)
      bytes += RECORD_HEADER_BYTES + step.bytes.length
    }
    this.#segments.append(events)
    return events.length
  }

  #end(block: LoggedBlock): void {
    if (block.isWhole) this.#segments.end(block)
    // Until a whole block says so, the log may be of another chain.
    else if (this.#check.pinned === null) this.#segments.cutOpenBlock()
    else this.#segments.setApart(block)
  }
}

/** The head of a log whose next segment is not there yet. */
function nextHead(head: LogHead | null, { pinned }: EventCheck, newest: number): LogHead {
  return {
    chainId: pinned?.id ?? null,
    number: Math.max(newest + 1, head?.number ?? 1),
    first: null,
    last: null,
    bytes: 0,
    time: head?.time ?? null,
    upgrade: head?.upgrade ?? null,
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { RECORD_HEADER_BYTES } from '../../records/record-framer.ts'
import { type CheckedEvent, EventCheck, type LoggedBlock, type PinnedChain } from '../event-check.ts'
import { type LogDisk, type LogFile, NODE_DISK } from '../log-disk.ts'
import { type LogHead, type PendingUpgrade, readHead, writeHead } from '../log-head.ts'
import { type SegmentName, segmentName, segmentsIn } from '../segment-name.ts'
import { PIECE_BYTES, type SegmentPlace, scanSegment } from '../segment-scan.ts'

/** How long a write waits before it is tried again if the disk is full, in milliseconds. */
const DISK_FULL_WAIT_MS = 1_000

/** Reading from the core pauses while so many segments are not on disk. */
const MAX_UNFLUSHED_SEGMENTS = 2

/** Errors of a disk that may pass: it is full, or fails for a while. */
const PASSING_FAULTS = ['ENOSPC', 'EDQUOT', 'EIO']

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
  log: Logger
  /** The log has grown, or its head has changed: readers may have everything up to there. */
  onHead: (head: LogHead) => void
  /** A disk has failed, or works again (null): the fault without the folder's name. */
  onFault: (fault: string | null) => void
  /** Nothing can be written any more, and waiting does not help: the log must be opened anew. */
  onFailed: (error: Error) => void
  /** The disk is full: deletes what no reader needs; false if there is nothing. */
  makeRoom: () => boolean
  disk?: LogDisk
  /** For tests: waits until a full disk may have space again. */
  wait?: (milliseconds: number) => Promise<unknown>
}

/** Thrown for a log of another chain than the one required. */
export class OtherLogChainError extends Error {
  override name = 'OtherLogChainError'
}

/** A segment that is being written. */
type OpenSegment = {
  number: number
  first: bigint
  path: string
  file: LogFile
  /** The end of what is written, and of the last block that has ended. */
  written: SegmentPlace
  ended: SegmentPlace
  /** Bytes that the head names: they are on disk, and may be read. */
  committedBytes: number
  /** The last block that has ended; null before the first. */
  last: LoggedBlock | null
  /** The hashes of the parts of block 1. */
  blockOne: Set<string>
  /** Whether it is one block that has ended with events missing. */
  isPart: boolean
  /** Whether nothing more is written to it. */
  isFull: boolean
  /** Whether what follows its last ended block stays: it is damaged. */
  keepsRest: boolean
}

/** What is to be done with a segment, in the order in which events came. */
type Step =
  | { type: 'begin'; block: LoggedBlock }
  | { type: 'event'; bytes: Buffer }
  | { type: 'end'; block: LoggedBlock }
  | { type: 'drop' }

/**
 * Writes the events of a core to an event log (README.md). A written event survives the process immediately, within a block
 * too. Once a block has ended it is flushed, and the head then says that it may be read; from
 * then on nothing takes it back.
 */
export class LogWriter {
  readonly #options: LogWriterOptions
  readonly #disk: LogDisk
  readonly #folder: string
  readonly #check: EventCheck
  /** Those that are not sealed, in their order; the last one is written to, unless it is full. */
  readonly #segments: OpenSegment[] = []
  #nextNumber: number
  #head: LogHead
  #isHeadDue = false
  #steps: Step[] = []
  #fault: string | null = null
  /** While the disk accepts no writes. */
  #blocked: Promise<void> | null = null
  #flushing: Promise<void> | null = null
  /** Whether the log must be opened anew. */
  #hasFailed = false

  /**
   * Opens the log of a folder, which no other process may write to, and puts right what an earlier process has left.
   *
   * @throws {OtherLogChainError} if the log is of another chain.
   * @throws {NewerLogError} for a log of a later version.
   * @throws the disk's error if the log cannot be read or flushed.
   */
  static async open(options: LogWriterOptions): Promise<LogWriter> {
    const { disk = NODE_DISK, folder, pinned } = options
    const head = readHead(disk, folder)
    if (pinned !== null && head !== null && head.chainId !== null && head.chainId !== pinned.id) {
      throw new OtherLogChainError(
        `${folder}: the event log is of chain ${JSON.stringify(head.chainId)}, but ${pinned.pinnedBy} ${JSON.stringify(pinned.id)}: name another --event-log`,
      )
    }
    const writer = new LogWriter(options, head)
    await writer.#takeOver(head)
    return writer
  }

  private constructor(options: LogWriterOptions, head: LogHead | null) {
    this.#options = options
    this.#disk = options.disk ?? NODE_DISK
    this.#folder = options.folder
    const ofLog = head?.chainId == null ? null : { id: head.chainId, pinnedBy: 'the event log is of chain' }
    this.#check = new EventCheck(options.pinned ?? ofLog)
    const newest = segmentsIn(this.#disk.list(this.#folder)).at(-1)?.number ?? 0
    this.#nextNumber = Math.max(newest + 1, head?.number ?? 1)
    this.#head = {
      chainId: this.#check.pinned?.id ?? null,
      number: this.#nextNumber,
      first: null,
      last: null,
      bytes: 0,
      time: head?.time ?? null,
      upgrade: head?.upgrade ?? null,
    }
  }

  get head(): LogHead {
    return this.#head
  }

  /** Why the disk accepts no writes, without the folder's name; null while it does. */
  get fault(): string | null {
    return this.#fault
  }

  /** A store holds blocks: events must be of its chain. */
  pinChain(id: string): void {
    this.#check.pinned ??= { id, pinnedBy: 'the store contains chain' }
  }

  /** A core has connected. */
  connected(): void {
    this.#check.connected()
  }

  /**
   * Takes a core's next event, to be written by {@link write}, whose bytes stay until then.
   *
   * @throws {RefusedEventError} for an event that must not be kept.
   */
  take(event: Buffer): CheckedEvent {
    const checked = this.#check.check(event, 0, event.length)
    const { role, block, dropsBlock, upgradeAfter } = checked
    if (dropsBlock) this.#steps.push({ type: 'drop' })
    if (role === 'begin') this.#steps.push({ type: 'begin', block: block! })
    if (role !== 'outside') this.#steps.push({ type: 'event', bytes: event })
    if (role === 'end') this.#steps.push({ type: 'end', block: block! })
    if (upgradeAfter !== null) this.#announce({ height: upgradeAfter, event: Buffer.from(event) })
    return checked
  }

  /** Removes the block that has begun: it has not been read, and never will be. */
  dropOpenBlock(): void {
    if (!this.#check.isBlockOpen && this.#openBytes() === 0 && this.#steps.length === 0) return
    this.#check.dropOpenBlock()
    this.#steps.push({ type: 'drop' })
    this.write()
  }

  /**
   * Writes the events taken. Returns null, or a promise that resolves once a full disk has space again, or a slow one has
   * flushed all but one segment.
   */
  write(): Promise<void> | null {
    if (this.#hasFailed) return null
    try {
      if (this.#blocked === null) this.#runSteps()
    } catch (error) {
      this.#block(error, () => this.#runSteps()).catch(this.#options.onFailed)
    }
    // The memory of events is the caller's.
    for (const step of this.#steps) if (step.type === 'event') step.bytes = Buffer.from(step.bytes)
    if (this.#blocked !== null) return this.#blocked
    return this.#segments.length >= MAX_UNFLUSHED_SEGMENTS ? this.#flushing : null
  }

  /** Whether a block has begun and not ended. */
  get isBlockOpen(): boolean {
    return this.#check.isBlockOpen
  }

  /** Resolves once all whole blocks that were written are committed. */
  async settled(): Promise<void> {
    while (this.#blocked !== null || this.#flushing !== null) await (this.#blocked ?? this.#flushing)
  }

  /** As {@link settled}; nothing is written any more. The block that is open stays for the next process. */
  async close(): Promise<void> {
    await this.settled()
    for (const { file } of this.#segments) file.close()
    this.#segments.length = 0
  }

  /** The segment that is written to; null if the next block begins one. */
  get #active(): OpenSegment | null {
    const last = this.#segments.at(-1)
    return last === undefined || last.isFull ? null : last
  }

  #openBytes(): number {
    const active = this.#active
    return active === null ? 0 : active.written.bytes - active.ended.bytes
  }

  #announce(upgrade: PendingUpgrade): void {
    if (this.#head.upgrade?.height === upgrade.height) return
    this.#head = { ...this.#head, upgrade }
    this.#isHeadDue = true
    this.#startFlushing()
  }

  // What an earlier process has left

  async #takeOver(head: LogHead | null): Promise<void> {
    const disk = this.#disk
    const names = disk.list(this.#folder)
    for (const name of names) if (name.endsWith('.new')) disk.remove(`${this.#folder}/${name}`)
    const left = segmentsIn(names).filter((name) => name.kind === 'open')
    for (const [index, name] of left.entries()) await this.#takeSegment(name, head, index === left.length - 1)
    disk.flushFolder(this.#folder)
    this.#isHeadDue = true
    this.#startFlushing()
    // A full disk does not keep a core from connecting.
    await Promise.race([this.#flushing, sleep(DISK_FULL_WAIT_MS, undefined, { ref: false })])
  }

  async #takeSegment(name: SegmentName, head: LogHead | null, isNewest: boolean): Promise<void> {
    const path = `${this.#folder}/${segmentName(name)}`
    const { bytes: size } = this.#disk.stat(path)!
    // A head of a later segment says that this one was whole on disk; only its new name was lost.
    const isPassed = head !== null && head.number > name.number
    const committed = head?.number === name.number ? head.bytes : 0
    const trusts = this.#options.isIntact || isPassed || head === null
    const upTo = trusts ? size : Math.min(size, committed)
    this.#check.dropOpenBlock()
    const scan = await scanSegment(this.#disk, path, upTo, this.#check)
    const whole = scan.whole ?? { bytes: 0, records: 0, block: null }
    const segment: OpenSegment = {
      ...newSegment(name.number, name.first, path, this.#disk.open(path)),
      written: { ...scan.events },
      ended: { bytes: whole.bytes, records: whole.records },
      last: whole.block,
      blockOne: scan.blockOne,
    }
    this.#segments.push(segment)
    // Readers may have what was committed: it stays, readable or not. Without a head nobody knows how much that is.
    const isDamaged = head === null || whole.bytes < committed
    // A process that was killed as a flush failed could not note it: what is not written again may not be flushed again.
    if (!isPassed && !isDamaged) rewrite(segment.file, committed, segment.written.bytes)
    if (!isNewest || isDamaged) {
      this.#check.dropOpenBlock()
      segment.isFull = true
      segment.keepsRest = isDamaged
      segment.committedBytes = segment.ended.bytes
      // None of its blocks can be read: the name says which they were.
      if (isDamaged && (committed > 0 || size > 0)) segment.last ??= unreadable(head?.last ?? name.first)
      return
    }
    this.#head = { ...this.#head, number: name.number }
    segment.file.truncate(segment.written.bytes)
    const { part } = scan
    if (trusts && part !== null && part.bytes === scan.events.bytes) {
      segment.written = { bytes: part.bytes, records: part.records }
      this.#setApart(segment, part.block)
    }
  }

  // Writing

  #runSteps(): void {
    const steps = this.#steps
    let done = 0
    try {
      while (done < steps.length) {
        const step = steps[done]!
        if (step.type === 'event') {
          done += this.#writeEvents(steps, done)
          continue
        }
        if (step.type === 'begin') this.#begin(step.block)
        else if (step.type === 'end') this.#end(step.block)
        else this.#cutOpenBlock()
        done++
      }
    } finally {
      this.#steps = steps.slice(done)
    }
  }

  /** Writes the events from a step on in one call, up to about a mebibyte; returns how many. */
  #writeEvents(steps: readonly Step[], from: number): number {
    const segment = this.#active!
    const pieces: Buffer[] = []
    let bytes = 0
    let count = 0
    for (let at = from; at < steps.length && bytes < PIECE_BYTES; at++) {
      const step = steps[at]!
      if (step.type !== 'event') break
      pieces.push(headerOf(segment.number, segment.written.records + count, step.bytes.length), step.bytes)
      bytes += RECORD_HEADER_BYTES + step.bytes.length
      count++
    }
    segment.file.write(Buffer.concat(pieces, bytes), segment.written.bytes)
    segment.written = { bytes: segment.written.bytes + bytes, records: segment.written.records + count }
    return count
  }

  #begin(block: LoggedBlock): void {
    const active = this.#active
    if (active !== null && this.#mustSeal(active, block)) this.#fill(active)
    if (this.#active === null) this.#segments.push(this.#create(block))
  }

  /** Whether a block goes to another segment than the last one did. */
  #mustSeal(segment: OpenSegment, block: LoggedBlock): boolean {
    const { last, blockOne, first } = segment
    if (last === null) return block.height !== first
    // Block 1 comes in two parts.
    if (last.height === 1n && block.height === 1n) return blockOne.has(block.hash)
    if (block.height !== last.height + 1n) return true
    return segment.ended.bytes >= this.#options.segmentBytes
  }

  #end(block: LoggedBlock): void {
    const segment = this.#active!
    if (!block.isWhole) {
      this.#setApart(segment, block)
      return
    }
    segment.ended = { ...segment.written }
    segment.last = block
    if (block.height === 1n) segment.blockOne.add(block.hash)
    this.#startFlushing()
  }

  #cutOpenBlock(): void {
    const active = this.#active
    if (active === null) return
    active.file.truncate(active.ended.bytes)
    active.written = { ...active.ended }
  }

  /** Gives the last block, which has ended with events missing, a segment of its own. */
  #setApart(segment: OpenSegment, block: LoggedBlock): void {
    // Until a whole block says so, the log may be of another chain.
    if (this.#check.pinned === null) {
      segment.file.truncate(segment.ended.bytes)
      segment.written = { ...segment.ended }
      return
    }
    if (segment.last === null) {
      segment.ended = { ...segment.written }
      segment.last = block
      segment.isPart = true
    } else {
      const { ended, written } = segment
      const part = this.#create(block, (file) => {
        for (let at = ended.bytes; at < written.bytes; ) {
          const piece = segment.file.read(Math.min(PIECE_BYTES, written.bytes - at), at)
          file.write(piece, at - ended.bytes)
          at += piece.length
        }
      })
      part.written = { bytes: written.bytes - ended.bytes, records: written.records - ended.records }
      part.ended = { ...part.written }
      part.last = block
      part.isPart = true
      part.isFull = true
      segment.written = { ...ended }
      this.#segments.push(part)
    }
    this.#fill(segment)
  }

  /** @param fill writes what the file holds from the start: a killed process leaves all of that, or no such file */
  #create(block: LoggedBlock, fill: (file: LogFile) => void = () => {}): OpenSegment {
    const number = this.#nextNumber
    const path = `${this.#folder}/${segmentName({ kind: 'open', number, first: block.height })}`
    const file = this.#disk.create(`${path}.new`)
    fill(file)
    this.#disk.rename(`${path}.new`, path)
    this.#disk.flushFolder(this.#folder)
    this.#nextNumber = number + 1
    return newSegment(number, block.height, path, file)
  }

  /** Nothing more is written to a segment: it is sealed once it is on disk. */
  #fill(segment: OpenSegment): void {
    segment.isFull = true
    this.#startFlushing()
  }

  // Committing

  #startFlushing(): void {
    this.#flushing ??= this.#flushAll()
      .catch(this.#options.onFailed)
      .finally(() => {
        this.#flushing = null
      })
  }

  async #flushAll(): Promise<void> {
    for (;;) {
      const segment = this.#segments[0]
      if (segment !== undefined && !segment.isPart && segment.committedBytes < segment.ended.bytes) {
        await this.#commit(segment)
      } else if (segment?.isFull) {
        await this.#seal(segment)
        this.#segments.shift()
      } else if (this.#isHeadDue) {
        await this.#setHead(this.#head)
      } else return
    }
  }

  async #commit(segment: OpenSegment): Promise<void> {
    const { ended, last, first, number } = segment
    await this.#flush(segment)
    const { upgrade } = this.#head
    await this.#setHead({
      chainId: this.#check.pinned?.id ?? null,
      number,
      first,
      last: last!.height,
      bytes: ended.bytes,
      time: last!.timestamp,
      upgrade: upgrade === null || last!.height > upgrade.height ? null : upgrade,
    })
    segment.committedBytes = ended.bytes
  }

  async #seal(segment: OpenSegment): Promise<void> {
    const { number, first, last, path, file, isPart } = segment
    if (last === null) {
      file.close()
      await this.#retrying(() => this.#disk.remove(path))
      return
    }
    if (!segment.keepsRest) {
      await this.#retrying(() => file.truncate(segment.ended.bytes))
      segment.written = { ...segment.ended }
    }
    await this.#flush(segment)
    const kind = isPart ? 'part' : 'sealed'
    const name = segmentName({ kind, number, first, last: last.height, isGzipped: false })
    await this.#retrying(() => {
      // After a fault it may have its new name.
      if (this.#disk.stat(path) !== null) this.#disk.rename(path, `${this.#folder}/${name}`)
      this.#disk.flushFolder(this.#folder)
    })
    file.close()
    const next = this.#segments[1]?.number ?? this.#nextNumber
    await this.#setHead({ ...this.#head, number: next, first: null, last: null, bytes: 0 })
  }

  /** Writes the head, and tells the readers. An upgrade that is announced meanwhile makes another one due. */
  async #setHead(head: LogHead): Promise<void> {
    this.#isHeadDue = false
    this.#head = head
    await this.#retrying(() => writeHead(this.#disk, this.#folder, this.#head))
    this.#options.onHead(this.#head)
  }

  /** After a failed flush the system counts bytes and length as flushed, unless they are written again. */
  async #flush(segment: OpenSegment): Promise<void> {
    const { file, committedBytes, keepsRest } = segment
    let hasFailed = false
    await this.#retrying(async () => {
      if (hasFailed && !keepsRest) {
        rewrite(file, committedBytes, segment.written.bytes)
        file.truncate(segment.written.bytes)
      }
      hasFailed = true
      await file.flush()
    })
  }

  // Faults of the disk

  /** Does what the disk must accept; while it does not, nothing else is written. */
  async #retrying(work: () => void | Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      await this.#block(error, work)
    }
  }

  #block(error: unknown, again: () => void | Promise<void>): Promise<void> {
    const waiting: Promise<void> = this.#untilDone(error, again).then(
      () => {
        if (this.#blocked !== waiting) return
        this.#blocked = null
        this.write()
      },
      (thrown: Error) => {
        this.#hasFailed = true
        this.#blocked = null
        throw thrown
      },
    )
    this.#blocked ??= waiting
    return waiting
  }

  async #untilDone(failed: unknown, again: () => void | Promise<void>): Promise<void> {
    const { log, onFault, makeRoom, wait = (ms: number) => sleep(ms) } = this.#options
    let error = failed as NodeJS.ErrnoException | null
    for (let isNoticed = false; error !== null; ) {
      if (!PASSING_FAULTS.includes(error.code ?? '')) throw error
      // Noted before anything else: what was written may not be on disk, although the system says so.
      this.#fault = `the event log cannot be written (${error.code}): free disk space for it`
      onFault(this.#fault)
      if (error.code === 'EIO' || !this.#makesRoom(makeRoom)) {
        if (!isNoticed) log.error(`${this.#fault}, ${this.#folder}: ${error.message}`)
        isNoticed = true
        await wait(DISK_FULL_WAIT_MS)
      }
      try {
        await again()
        error = null
        this.#fault = null
        onFault(null)
        if (isNoticed) log.info('the event log can be written again')
      } catch (thrown) {
        error = thrown as NodeJS.ErrnoException
      }
    }
  }

  #makesRoom(makeRoom: () => boolean): boolean {
    try {
      return makeRoom()
    } catch {
      return false
    }
  }
}

function newSegment(number: number, first: bigint, path: string, file: LogFile): OpenSegment {
  return {
    number,
    first,
    path,
    file,
    written: { bytes: 0, records: 0 },
    ended: { bytes: 0, records: 0 },
    committedBytes: 0,
    last: null,
    blockOne: new Set(),
    isPart: false,
    isFull: false,
    keepsRest: false,
  }
}

function unreadable(height: bigint): LoggedBlock {
  return { height, timestamp: 0n, hash: '', isWhole: false }
}

/** The header of a record: within a log, sequence numbers rise with the segment and the place in it. */
function headerOf(segment: number, index: number, eventBytes: number): Buffer {
  const header = Buffer.allocUnsafe(RECORD_HEADER_BYTES)
  header.writeUInt32BE(eventBytes + 8, 0)
  header.writeUInt32BE(segment, 4)
  header.writeUInt32BE(index, 8)
  return header
}

function rewrite(file: LogFile, start: number, end: number): void {
  for (let at = start; at < end; ) {
    const bytes = file.read(Math.min(PIECE_BYTES, end - at), at)
    if (bytes.length === 0) return
    file.write(bytes, at)
    at += bytes.length
  }
}

// How far a forwarder is: with which block its next connection begins, and what the logs are told of that.
import type { Logger } from 'pino'
import { describeBlocks, type HeightRange } from '#core/domain/height-ranges'
import type { PendingUpgrade } from '#core/log/files/log-head'
import type { ReaderFile } from '#core/log/files/reader-files'
import type { SegmentOffset } from '#core/log/read/followed-log'
import { bytesAfter } from '#core/log/read/log-bytes'
import type { LogReader } from '#core/log/read/log-reader'
import type { CompleteBlock } from '#core/log/read/segment-blocks'
import { ConnectionError } from './dial-pair.ts'
import type { ForwardState } from './forward-state.ts'
import { MissingBlocks } from './missing-blocks.ts'
import { noteIn, registerForwarder } from './register-forwarder.ts'
import { repeatFrom } from './repeat-from.ts'

/** Why a connection is to be ended: the next block is missing in the logs. */
export class MissingBlockError extends ConnectionError {
  override name = 'MissingBlockError'
}

type ForwardProgressOptions = {
  /** The forwarder's name among the readers of the logs. */
  name: string
  /** About how many bytes of blocks are passed on again, in case the receiver has lost them. */
  repeatBytes: number
  /** The receiver's, for operators. */
  address: string
  logger: Logger
}

/** The part of the state that tells how far forwarding is. */
type ProgressState = Pick<
  ForwardState,
  'height' | 'lagBytes' | 'lagBlocks' | 'lagSeconds' | 'missingBlocks' | 'missingCount'
>

/**
 * What a forwarder has passed on of the blocks of event logs. It notes that in every log, so that another process can go on, and
 * a core in a protocol upgrade learns whether the receiver is ready.
 *
 * A connection begins with the block of `firstHeight`:
 *
 * | what was before | the next connection begins |
 * |---|---|
 * | an orderly end | after the last block passed on |
 * | any other end | some blocks before that, since the receiver may have lost them |
 * | blocks that are missing | after them (`passOver`) |
 * | missing blocks have arrived | some blocks before them (`resumeWithArrived`) |
 *
 * The last two hold over however many connections, until block `#resumeAt` or a later one is passed on. How the fields change:
 *
 * | call | `#resumeAt` | `#arrived` |
 * |---|---|---|
 * | `passOver` | the block after the missing ones | null, unless it is a later block |
 * | `resumeWithArrived`, while `#arrived` is null | some blocks before `#arrived` | the first missing block that has arrived |
 * | `passed`, with this block or a later one | null | null |
 */
export class ForwardProgress {
  readonly #reader: LogReader
  readonly #options: ForwardProgressOptions
  /** What the logs know of this reader. */
  #file: ReaderFile
  readonly #missing = new MissingBlocks()
  /** With which block connections begin until it is passed on, because of missing blocks; null: by what was passed on. */
  #resumeAt: bigint | null = null
  /**
   * A missing block that has arrived, until it is passed on, or missing again; null if there is none. No other is looked for
   * meanwhile.
   */
  #arrived: bigint | null = null
  /** The end of the last block that was passed on; null if that was in an earlier process. */
  #lastEnd: SegmentOffset | null = null

  constructor(reader: LogReader, options: ForwardProgressOptions) {
    this.#reader = reader
    this.#options = options
    this.#file = registerForwarder(reader, options.name, options.repeatBytes)
  }

  /** The block with which a connection begins; null while no log has any. */
  firstHeight(): bigint | null {
    if (this.#resumeAt !== null) return this.#resumeAt
    const { height, isClean } = this.#file
    if (height === null) return this.#reader.segments.lowest({ wantsWhole: true })
    return isClean ? height + 1n : repeatFrom(this.#reader.segments, height, this.#options.repeatBytes)
  }

  /** A block was passed on. */
  passed({ height, timestamp, end }: CompleteBlock): void {
    if (this.#resumeAt !== null && height >= this.#resumeAt) this.#resumeAt = null
    if (this.#arrived !== null && height >= this.#arrived) this.#arrived = null
    this.#missing.passed(height)
    // Blocks that are repeated, or were missing, say nothing of how far it is.
    if (this.#file.height !== null && height < this.#file.height) return
    this.#file = { ...this.#file, height, time: timestamp }
    this.#lastEnd = end
  }

  /**
   * Passes over a block, and those after it, if no log has them complete although one has a later block: connections then begin
   * after them. Returns why this connection is to be ended; null if the block may still arrive.
   */
  passOver(next: bigint): MissingBlockError | null {
    const gap = this.#reader.gaps.refreshAndFind(next, { wantsWhole: true })
    if (gap === null) return null
    this.#resumeAt = gap.to + 1n
    if (this.#arrived !== null && gap.to >= this.#arrived) this.#arrived = null
    // The receiver has those that were passed on before: they are only not repeated.
    const { height } = this.#file
    const from = height !== null && height >= gap.from ? height + 1n : gap.from
    if (from <= gap.to) this.#addMissing({ from, to: gap.to }, this.#resumeAt)
    return new MissingBlockError(`block ${gap.from} is missing; the next connection begins after it`)
  }

  /**
   * If missing blocks have arrived, has connections begin before them, and returns true: the present connection is to be ended.
   */
  resumeWithArrived(): boolean {
    if (this.#arrived !== null) return false
    const { segments } = this.#reader
    this.#arrived = this.#missing.firstArrived((from) => segments.find(from, { wantsWhole: true }) !== null)
    if (this.#arrived === null) return false
    this.#resumeAt = repeatFrom(segments, this.#arrived, this.#options.repeatBytes)
    return true
  }

  /**
   * The upgrade that the core waits in, if it is to be announced before a block: nothing follows its last block until the core goes on.
   * Null if there is none, or the receiver is ready for it. A receiver that has later blocks is: a core that was restarted from a
   * snapshot before an old upgrade announces that again.
   *
   * @param next the block that comes next on a connection; null if none is known
   */
  upgradeBefore(next: bigint | null): PendingUpgrade | null {
    const pending = this.#reader.logs.flatMap(({ head }) => head?.upgrade ?? [])
    const upgrade = pending.find(({ height }) => height !== this.#file.upgrade) ?? null
    if (upgrade === null || next === null || next <= upgrade.height) return null
    if (next === upgrade.height + 1n) return upgrade
    const { logger, address } = this.#options
    logger.info(`forwarding: ${address} is past the protocol upgrade after block ${upgrade.height}`)
    this.note({ upgrade: upgrade.height })
    return null
  }

  /** Notes that the receiver is ready for the upgrade after a block; returns false if no core waits in that. */
  noteReady(height: bigint): boolean {
    if (!this.#reader.logs.some(({ head }) => head?.upgrade?.height === height)) return false
    this.note({ upgrade: height })
    return true
  }

  /** Notes in every log how far this reader has come. */
  note(changed: Partial<Pick<ReaderFile, 'isClean' | 'upgrade'>> = {}): void {
    this.#file = { ...this.#file, ...changed }
    for (const { folder } of this.#reader.logs) if (folder !== null) noteIn(folder, this.#file)
  }

  get state(): ProgressState {
    const { logs, segments } = this.#reader
    const { height, time } = this.#file
    const highest = segments.highest()
    const isBehind = highest !== null && (height === null || highest > height)
    const since = height ?? (highest === null ? 0n : segments.lowest()! - 1n)
    const newest = logs.flatMap(({ head }) => head?.time ?? []).reduce((a, b) => (b > a ? b : a), 0n)
    return {
      height: height === null ? null : `${height}`,
      lagBytes: bytesAfter(logs, height, this.#lastEnd),
      lagBlocks: isBehind ? Number(highest - since) : 0,
      lagSeconds: isBehind && time !== null ? Math.max(0, Number(newest - time) / 1e9) : 0,
      ...this.#missing.state,
    }
  }

  #addMissing(missing: HeightRange, next: bigint): void {
    const { logger, address } = this.#options
    if (!this.#missing.add(missing)) return
    logger.error(
      `forwarding: ${describeBlocks(missing)} missing in the event log for ${address}: it must get them from another source, or from the core restarted from a snapshot before block ${missing.from}. Forwarding continues with block ${next}`,
    )
  }
}

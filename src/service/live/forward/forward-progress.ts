// How far a forwarder is: which block it passes on next, and which ones its receiver is missing.
import type { Logger } from 'pino'
import {
  describeBlocks,
  type HeightRange,
  holdAll,
  isWithin,
  merged,
  without,
} from '#core/domain/height-ranges'
import { NODE_DISK } from '#core/log/log-disk'
import type { PendingUpgrade } from '#core/log/log-head'
import type { CompleteBlock } from '#core/log/read/complete-blocks'
import type { SegmentOffset } from '#core/log/read/followed-log'
import { bytesAfter, firstBefore } from '#core/log/read/log-bytes'
import type { LogReader } from '#core/log/read/log-reader'
import { type ReaderFile, writeReader } from '#core/log/reader-files'
import { ConnectionError } from './dial-pair.ts'
import type { ForwardState } from './forward-state.ts'
import { registerForwarder } from './register-forwarder.ts'

/** So many ranges of missing blocks are told apart. Of more, the first ones count as one, with the blocks between them. */
const MAX_MISSING_RANGES = 100

/** A block that is missing in the logs has ended the connection. */
export class MissingBlockError extends ConnectionError {
  override name = 'MissingBlockError'
}

type ForwardProgressOptions = {
  /** The forwarder's name among the readers of the logs. */
  name: string
  /** Bytes of blocks that are passed on again at most, in case the receiver has lost them. */
  repeatBytes: number
  /** The receiver's, for the log. */
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
 */
export class ForwardProgress {
  readonly #reader: LogReader
  readonly #options: ForwardProgressOptions
  /** What the logs know of this reader. */
  #file: ReaderFile
  /** Blocks that were passed over since the logs do not have them, whole: ascending, without overlap. */
  #missing: readonly HeightRange[] = []
  /**
   * With which block connections begin until it is passed on; null: chosen by what was passed on. It is the block after missing
   * ones, or an earlier one once missing ones have arrived.
   */
  #resumeAt: bigint | null = null
  /** A missing block that has arrived, until it is passed on, or missing again; null if there is none. */
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
    return isClean ? height + 1n : firstBefore(this.#reader.segments, height, this.#options.repeatBytes)
  }

  /** A block was passed on. */
  passed({ height, timestamp, end }: CompleteBlock): void {
    if (this.#resumeAt !== null && height >= this.#resumeAt) this.#resumeAt = null
    if (this.#arrived !== null && height >= this.#arrived) this.#arrived = null
    if (isWithin(this.#missing, height))
      this.#missing = without(this.#missing, [{ from: height, to: height }])
    if (this.#file.height !== null && height < this.#file.height) return
    this.#file = { ...this.#file, height, time: timestamp }
    this.#lastEnd = end
  }

  /**
   * Passes over a block that is missing, whole, although later ones are there: connections then begin after it.
   *
   * @throws {MissingBlockError} if it is.
   */
  passOver(next: bigint): void {
    const gap = this.#reader.gaps.at(next, { wantsWhole: true })
    if (gap === null) return
    this.#resumeAt = gap.to + 1n
    if (this.#arrived !== null && gap.to >= this.#arrived) this.#arrived = null
    // What was passed on before is only not repeated.
    const { height } = this.#file
    const from = height !== null && height >= gap.from ? height + 1n : gap.from
    if (from <= gap.to) this.#miss({ from, to: gap.to }, this.#resumeAt)
    throw new MissingBlockError(`block ${gap.from} is missing; the next connection begins after it`)
  }

  /**
   * Has connections begin before missing blocks if they have arrived; returns whether they have. A receiver takes blocks in their
   * order, so they count as arrived once the first one of their range has.
   */
  resumeWithArrived(): boolean {
    if (this.#arrived !== null) return false
    const { segments } = this.#reader
    const range = this.#missing.find(({ from }) => segments.find(from, { wantsWhole: true }) !== null)
    if (range === undefined) return false
    this.#arrived = range.from
    this.#resumeAt = firstBefore(segments, range.from, this.#options.repeatBytes)
    return true
  }

  /** The upgrade that the core waits in, unless the receiver is ready for it. */
  pendingUpgrade(): PendingUpgrade | null {
    const pending = this.#reader.logs.flatMap(({ head }) => head?.upgrade ?? [])
    return pending.find(({ height }) => height !== this.#file.upgrade) ?? null
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
    for (const { name } of this.#reader.logs) {
      // It then says less than is true: more is sent again.
      writeReader(NODE_DISK, name, this.#file).catch(() => {})
    }
  }

  get state(): ProgressState {
    const { logs, segments } = this.#reader
    const { height, time } = this.#file
    const highest = segments.highest()
    const isBehind = highest !== null && (height === null || highest > height)
    const since = height ?? (highest === null ? 0n : segments.lowest()! - 1n)
    const newest = logs.flatMap(({ head }) => head?.time ?? []).reduce((a, b) => (b > a ? b : a), 0n)
    const first = this.#missing.at(0)
    const last = this.#missing.at(-1)
    return {
      height: height === null ? null : `${height}`,
      lagBytes: bytesAfter(logs, height, this.#lastEnd),
      lagBlocks: isBehind ? Number(highest - since) : 0,
      lagSeconds: isBehind && time !== null ? Math.max(0, Number(newest - time) / 1e9) : 0,
      missingBlocks:
        first === undefined || last === undefined ? null : { from: `${first.from}`, to: `${last.to}` },
      missingCount: this.#missing.reduce((sum, { from, to }) => sum + Number(to - from) + 1, 0),
    }
  }

  #miss(missing: HeightRange, next: bigint): void {
    const { logger, address } = this.#options
    if (holdAll(this.#missing, missing)) return
    logger.error(
      `forwarding: ${describeBlocks(missing)} missing in the event log for ${address}: it must get them from another source, or from the core restarted from a snapshot before block ${missing.from}. Forwarding continues with block ${next}`,
    )
    const ranges = merged([...this.#missing, missing])
    if (ranges.length > MAX_MISSING_RANGES) {
      const [first, second] = ranges
      ranges.splice(0, 2, { from: first!.from, to: second!.to })
    }
    this.#missing = ranges
  }
}

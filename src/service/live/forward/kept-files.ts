import { readFile, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Logger } from 'pino'
import { singleFlight } from '#core/concurrency/single-flight'
import { NODE_DISK } from '#core/log/log-disk'
import { RecordFramer } from '#core/records/record-framer'
import { isDamage } from '#core/records/record-position'
import { type BufferPosition, bufferPath, PIECE_BYTES, PRIVATE_FILE } from '../event-buffer.ts'
import { createBlockStretches, type Stretch } from './block-stretches.ts'

/** Share of the limit used for forwarded events, in case the receiver restarts. */
const KEPT_SHARE = 1 / 4

/** More stretches come only from a core that goes back to earlier blocks again and again. */
const MAX_STRETCHES = 10_000

/** Disk space left free for others: the lesser of a size and a share of the disk. */
const SPARE_BYTES = 1024 ** 3
const SPARE_SHARE = 1 / 20

/** File with the position at which forwarding stopped. */
const POSITION_NAME = 'position.json'

type KeptFile = {
  number: number
  /** Bytes that may be read, and whose blocks are known. */
  safeBytes: number
  scannedBytes: number
  framer: RecordFramer
}

/** Events deleted before they were forwarded. */
export type Dropped = { bytes: number; reason: string }

/** Numbers of the deleted files, and the part not forwarded. */
export type Trimmed = { files: number[]; lost: Dropped | null }

/**
 * The event files kept for a receiver: hard links to the live buffer's files, which remain when the buffer deletes its
 * own. Forwarded ones are kept up to a share of the limit; if the limit or the disk is full, the oldest file is
 * deleted.
 */
export function createKeptFiles(folder: string, limitBytes: number, log: Logger) {
  const stretches = createBlockStretches()
  const kept: KeptFile[] = []
  const scans = singleFlight(scanAll)

  function grown(number: number, safeBytes: number): void {
    const file = kept.find((known) => known.number === number)
    if (file !== undefined) {
      file.safeBytes = safeBytes
      return
    }
    const framer = new RecordFramer(pathOf(number), stretches.sinkOf(number))
    kept.push({ number, safeBytes, scannedBytes: 0, framer })
  }

  /** Bytes of whole blocks from a place on. */
  function blockBytesFrom({ file, offset }: BufferPosition): number {
    return stretches.all.reduce(
      (sum, { file: of, start, end }) =>
        of < file ? sum : sum + Math.max(0, end - (of === file ? Math.max(start, offset) : start)),
      0,
    )
  }

  /** Bytes of the files from a place on. */
  function bytesFrom({ file, offset }: BufferPosition): number {
    return kept.reduce(
      (sum, { number, safeBytes }) =>
        number < file ? sum : sum + safeBytes - (number === file ? offset : 0),
      0,
    )
  }

  async function scanAll(): Promise<void> {
    for (let file = unscanned(); file !== undefined; file = unscanned()) {
      const { number, scannedBytes, safeBytes, framer } = file
      try {
        const length = Math.min(PIECE_BYTES, safeBytes - scannedBytes)
        const bytes = await NODE_DISK.read(pathOf(number), scannedBytes, length)
        if (!kept.includes(file)) continue
        // The file is shorter than reported: this is its end.
        file.scannedBytes = bytes.length < length ? file.safeBytes : scannedBytes + bytes.length
        framer.push(bytes)
      } catch (error) {
        if (isDamage(error)) {
          log.error(`forwarding: ${error.message}. The rest of this file is not forwarded`)
        } else if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
        // One that was deleted is forgotten once that is reported.
        file.scannedBytes = Number.POSITIVE_INFINITY
      }
      await nextTurn()
    }
  }

  function unscanned(): KeptFile | undefined {
    return kept.find(({ scannedBytes, safeBytes }) => scannedBytes < safeBytes)
  }

  /** The next piece of whole blocks from a place on; null if there is none yet. */
  function next({ file, offset }: BufferPosition): { stretch: Stretch; start: number; end: number } | null {
    const stretch = stretches.all.find(
      (some) => some.file > file || (some.file === file && some.end > offset),
    )
    if (stretch === undefined) return null
    const start = stretch.file === file ? Math.max(offset, stretch.start) : stretch.start
    return { stretch, start, end: Math.min(stretch.end, start + PIECE_BYTES) }
  }

  function read(file: number, start: number, end: number): Promise<Buffer> {
    return NODE_DISK.read(pathOf(file), start, end - start)
  }

  /**
   * Deletes forwarded files beyond their share, except those from `reading` on, which a connection still needs; and the
   * oldest file if the limit or the disk is full.
   */
  async function trim(passedOn: BufferPosition, reading: number): Promise<Trimmed> {
    const trimmed: Trimmed = { files: [], lost: null }
    for (;;) {
      const [oldest] = kept
      // The newest one is being written to: deleting its name would make no room.
      if (oldest === undefined || kept.length === 1) return trimmed
      const bytes = bytesFrom({ file: 0, offset: 0 })
      const isPassedOn = oldest.number < passedOn.file
      const isSpare =
        isPassedOn &&
        oldest.number < reading &&
        bytes - bytesFrom(passedOn) - oldest.safeBytes >= limitBytes * KEPT_SHARE
      const reason =
        bytes > limitBytes || stretches.all.length > MAX_STRETCHES
          ? 'the buffer for it is full (--forward-mb)'
          : (await isDiskFull())
            ? 'the disk is nearly full'
            : null
      if (reason === null && !isSpare) return trimmed
      const { number, safeBytes } = oldest
      await rm(pathOf(number), { force: true })
      trimmed.files.push(number)
      const lost = dropped({ number, bytes: safeBytes, reason: reason ?? '' }, passedOn)
      if (lost === null) continue
      trimmed.lost = { bytes: (trimmed.lost?.bytes ?? 0) + lost.bytes, reason: lost.reason }
    }
  }

  /** Forgets a deleted file; returns the part not forwarded. */
  function dropped(
    { number, bytes, reason }: { number: number; bytes: number; reason: string },
    passedOn: BufferPosition,
  ): Dropped | null {
    const index = kept.findIndex((known) => known.number === number)
    if (index >= 0) kept.splice(index, 1)
    stretches.drop(number)
    if (number < passedOn.file) return null
    return { bytes: bytes - (number === passedOn.file ? passedOn.offset : 0), reason }
  }

  async function isDiskFull(): Promise<boolean> {
    const { bavail, blocks, bsize } = await statfs(folder)
    return bavail * bsize < Math.min(SPARE_BYTES, blocks * bsize * SPARE_SHARE)
  }

  /** Writes the position at which forwarding stopped, between two blocks that the receiver has accepted. */
  async function writePosition(position: object): Promise<void> {
    await writeFile(join(folder, POSITION_NAME), JSON.stringify(position), { mode: PRIVATE_FILE })
  }

  /** Reads the position and deletes it; null if there is none, or it cannot be read. */
  async function takePosition(): Promise<unknown> {
    const path = join(folder, POSITION_NAME)
    try {
      const text = await readFile(path, 'utf8')
      await rm(path, { force: true })
      return JSON.parse(text)
    } catch {
      await rm(path, { force: true }).catch(() => {})
      return null
    }
  }

  function pathOf(number: number): string {
    return bufferPath(folder, number)
  }

  return {
    stretches,
    grown,
    blockBytesFrom,
    bytesFrom,
    /** Finds the blocks in new events. */
    scan: scans.current,
    next,
    read,
    trim,
    dropped,
    writePosition,
    takePosition,
  }
}

export type KeptFiles = ReturnType<typeof createKeptFiles>

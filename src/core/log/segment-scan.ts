import { RECORD_HEADER_BYTES, RecordFramer } from '../records/record-framer.ts'
import { isDamage } from '../records/record-position.ts'
import { type EventCheck, type LoggedBlock, RefusedEventError } from './event-check.ts'
import type { LogDisk } from './log-disk.ts'

/** Bytes that are read at a time. */
export const PIECE_BYTES = 1024 * 1024

/** A place between two events of a segment. */
export type SegmentPlace = { bytes: number; records: number }

/** What the file of a segment contains, up to the first event that cannot be read. */
type SegmentScan = {
  /** The end of the last event that can be read. */
  events: SegmentPlace
  /** The end of the last block that is whole, and that block; null if none is. */
  whole: (SegmentPlace & { block: LoggedBlock }) | null
  /** The block after it that has ended with events missing, and its end; null if there is none. */
  part: (SegmentPlace & { block: LoggedBlock }) | null
  /** The hashes of the parts of block 1. */
  blockOne: Set<string>
}

/**
 * Reads a segment that a process has left, with the check that the next events pass: afterwards it knows the block that is
 * open.
 *
 * @param bytes how much of the file to read
 */
export async function scanSegment(
  disk: LogDisk,
  path: string,
  bytes: number,
  check: EventCheck,
): Promise<SegmentScan> {
  const scan: SegmentScan = { events: { bytes: 0, records: 0 }, whole: null, part: null, blockOne: new Set() }
  const framer = new RecordFramer(path, (record, start, end, position) => {
    // Each event may be of another connection.
    check.connected()
    const { role, block } = check.check(record, start, end)
    scan.events = { bytes: position.offset + end - start + RECORD_HEADER_BYTES, records: position.record }
    if (role !== 'end') return
    if (block!.isWhole) {
      scan.whole = { ...scan.events, block: block! }
      scan.part = null
      if (block!.height === 1n) scan.blockOne.add(block!.hash)
    } else scan.part = { ...scan.events, block: block! }
  })
  try {
    for (let at = 0; at < bytes; ) {
      const piece = await disk.read(path, at, Math.min(PIECE_BYTES, bytes - at))
      if (piece.length === 0) break
      framer.push(piece)
      at += piece.length
    }
  } catch (error) {
    if (!isDamage(error) && !(error instanceof RefusedEventError)) throw error
    check.dropOpenBlock()
  }
  return scan
}

import type { RecordSink } from '../../records/record-framer.ts'
import { PIECE_BYTES, SegmentFrames, type SegmentPiece } from '../segment-frames.ts'
import type { LogSegment } from './log-source.ts'

/**
 * The frames of a segment of a log, as far as it is committed.
 *
 * @param source names the segment in errors
 */
export function framesOf(segment: LogSegment, source: string, sink: RecordSink): SegmentFrames {
  return new SegmentFrames(source, (offset) => readPiece(segment, offset), sink)
}

async function readPiece(segment: LogSegment, offset: number): Promise<SegmentPiece> {
  const now = segment.log.current(segment) ?? segment
  const isGzipped = now.name.endsWith('.gz')
  const most = isGzipped ? PIECE_BYTES : Math.min(PIECE_BYTES, now.bytes - offset)
  const bytes = most > 0 ? await segment.log.read(now, offset, most) : Buffer.alloc(0)
  const end = offset + bytes.length
  const isAtEnd = isGzipped ? bytes.length < PIECE_BYTES : end >= now.bytes || bytes.length === 0
  return { bytes, following: !isAtEnd ? 'more' : now.kind === 'active' ? 'later' : 'nothing' }
}

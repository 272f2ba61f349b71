import { type FollowedLog, isSameSegment, type SegmentOffset } from './followed-log.ts'

/**
 * Bytes of the segments with blocks after a height, without those before `current`, up to which one of them was read: of several
 * logs, the most that any has. Of a gzipped segment the bytes of its file count, so that its part is only roughly right.
 */
export function bytesAfter(
  logs: readonly FollowedLog[],
  height: bigint | null,
  current: SegmentOffset | null,
): number {
  let bytes = 0
  for (const log of logs) {
    let ofLog = 0
    for (const segment of log.segments) {
      if (height !== null && segment.last <= height) continue
      const isCurrent = current !== null && isSameSegment(current.segment, segment)
      ofLog += Math.max(0, segment.bytes - (isCurrent ? current.offset : 0))
    }
    bytes = Math.max(bytes, ofLog)
  }
  return bytes
}

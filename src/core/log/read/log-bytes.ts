import { type FollowedLog, isSameSegment, type SegmentOffset } from './followed-log.ts'
import type { SegmentChoice } from './segment-choice.ts'

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

/**
 * The first of the blocks from which none is missing, whole, up to a height: of the segments with at most so many bytes, but
 * of one at least. The block after that height if it is not there.
 */
export function firstBefore(segments: SegmentChoice, height: bigint, bytes: number): bigint {
  let first = height + 1n
  let sum = 0
  let segment = segments.find(height, { wantsWhole: true })
  while (segment !== null) {
    sum += segment.bytes
    const isOneThere = first <= height
    if (isOneThere && sum > bytes) break
    first = segments.firstReadable(segment, first - 1n)
    if (first > segment.first) break
    segment = segments.find(first - 1n, { wantsWhole: true })
  }
  return first
}

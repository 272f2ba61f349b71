import type { SegmentChoice } from '#core/log/read/choice/segment-choice'

/**
 * The first block to send again: goes back from `last` through whole segments while they have at most `mostBytes` together, and
 * through one at least, but not beyond a block that is missing or cannot be read. The block after `last` if that is not there.
 */
export function repeatFrom(segments: SegmentChoice, last: bigint, mostBytes: number): bigint {
  let first = last + 1n
  let bytes = 0
  let segment = segments.find(last, { wantsWhole: true })
  while (segment !== null) {
    bytes += segment.bytes
    const isOneThere = first <= last
    if (isOneThere && bytes > mostBytes) break
    first = segments.firstReadable(segment, first - 1n)
    if (first > segment.first) break
    segment = segments.find(first - 1n, { wantsWhole: true })
  }
  return first
}

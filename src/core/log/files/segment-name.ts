/**
 * A segment of an event log by the name of its file: `0000000011-1-1499.bevt` is the eleventh, with blocks 1 to 1499.
 *
 * - `sealed`: nothing is written to it any more; also gzipped, `.bevt.gz`.
 * - `incomplete`: sealed, with one block that has ended although events of it are missing, `0000000012-1500-1500.part.bevt`.
 * - `open`: events are written to it, from block `first` on, `0000000013-1501.bevt.open`. Its last block is in the log
 *   head.
 */
export type SegmentName = SealedName | OpenName

/** The name of a segment that is written to. */
export type OpenName = { kind: 'open'; number: number; first: bigint }

/** The name of a segment that is not written to any more. */
type SealedName = {
  kind: 'sealed' | 'incomplete'
  number: number
  first: bigint
  last: bigint
  isGzipped: boolean
}

const SEALED = /^(\d{10})-(\d{1,19})-(\d{1,19})(\.part)?\.bevt(\.gz)?$/
const OPEN = /^(\d{10})-(\d{1,19})\.bevt\.open$/

/** The name of a segment's file. */
export function segmentName(segment: SegmentName): string {
  const number = String(segment.number).padStart(10, '0')
  if (segment.kind === 'open') return `${number}-${segment.first}.bevt.open`
  const { kind, first, last, isGzipped } = segment
  return `${number}-${first}-${last}${kind === 'incomplete' ? '.part' : ''}.bevt${isGzipped ? '.gz' : ''}`
}

/** The segment of a file's name; null if it is the name of none. */
export function parseSegmentName(name: string): SegmentName | null {
  const sealed = SEALED.exec(name)
  if (sealed !== null) {
    const [, number, first, last, incomplete, gzip] = sealed
    return {
      kind: incomplete === undefined ? 'sealed' : 'incomplete',
      number: Number(number),
      first: BigInt(first!),
      last: BigInt(last!),
      isGzipped: gzip !== undefined,
    }
  }
  const open = OPEN.exec(name)
  return open === null ? null : { kind: 'open', number: Number(open[1]), first: BigInt(open[2]!) }
}

/** The segments among a folder's names, by number. */
export function segmentsIn(names: readonly string[]): SegmentName[] {
  return names
    .map(parseSegmentName)
    .filter((segment) => segment !== null)
    .sort((a, b) => a.number - b.number)
}

/** The segments among a folder's names, each once: while one is being gzipped, it is read from the file that is whole. */
export function presentSegments(names: readonly string[]): SegmentName[] {
  const all = new Set(names)
  return segmentsIn(names).filter((segment) => {
    const isGzipped = segment.kind !== 'open' && segment.isGzipped
    return !isGzipped || !all.has(segmentName({ ...segment, isGzipped: false }))
  })
}

import type { Coverage, MissingBlocks } from 'lyra-client'
import { useMemo } from 'preact/hooks'
import { groupDigits } from '../figures/format-figure.ts'
import { formatSecond } from '../figures/format-time.ts'
import type { Shade } from './draw.ts'

/** Times before and after any that is drawn: where a gap is open, it shades the chart to its edge. */
const [EARLIEST, LATEST] = [-(2n ** 63n), 2n ** 63n - 1n]

/** The same shades, until the gaps change: a coverage that is read again has new lists of the same. */
export function useGapShades(gaps: Coverage['blocks']['gaps']): readonly Shade[] {
  return useMemo(() => gapShades(gaps), [JSON.stringify(gaps)])
}

/** The times of missing blocks, as charts shade them. */
export function gapShades(gaps: readonly Pick<MissingBlocks, 'start' | 'end'>[]): readonly Shade[] {
  return gaps.map(({ start, end }) => ({
    kind: 'gap',
    from: start === null ? EARLIEST : BigInt(start),
    to: end === null ? LATEST : BigInt(end),
  }))
}

/** Between which times blocks are missing: of the latest gap, and how many there are besides. */
export function describeGaps(gaps: readonly Shade[]): string {
  const { from, to } = gaps.at(-1)!
  const others = gaps.length - 1
  const when =
    from === EARLIEST
      ? to === LATEST
        ? 'at times that are not known'
        : `before ${formatSecond(to)}`
      : to === LATEST
        ? `after ${formatSecond(from)}`
        : `between ${formatSecond(from)} and ${formatSecond(to)}`
  const besides =
    others === 0 ? '' : `, and in ${groupDigits(`${others}`)} earlier ${others === 1 ? 'gap' : 'gaps'}`
  return `Blocks are missing or incomplete ${when}${besides}`
}

import { describeRanges, type HeightRange, intersection, merged } from '#core/domain/height-ranges'
import { CompareError } from './compare-error.ts'

/** Number of ranges of heights that an error lists. */
const RANGES_IN_ERROR = 5

/** The blocks of a side; the chain is null if unknown. */
type Blocks = { name: string; chainId: string | null; heights: readonly HeightRange[] }

/**
 * The heights that two sides have in common.
 *
 * @throws {CompareError} if there are none, or the sides are of different chains.
 */
export function commonHeights(a: Blocks, b: Blocks): HeightRange[] {
  const isOneChain = a.chainId === null || b.chainId === null || a.chainId === b.chainId
  const heights = isOneChain ? merged(intersection(a.heights, b.heights)) : []
  if (heights.length > 0) return heights
  const said = [a, b].map(
    ({ name, chainId, heights }) =>
      `${name}: ${describeRanges(heights, RANGES_IN_ERROR)} of chain ${chainId ?? 'unknown'}`,
  )
  throw new CompareError(`nothing to compare: no block is in both. ${said.join('; ')}`)
}

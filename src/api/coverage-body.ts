import type { Coverage, Gap } from '../domain/coverage.ts'
import type { Holdings } from '../store/store.ts'

/** Heights, both ends included, as text. */
export type BlockRange = { from: string; to: string }

/** What a store holds, as `GET /api/v2/coverage` tells it; numbers are text. */
export type CoverageBody = {
  coverage: {
    chainId: string
    blocks: {
      /** Blocks that are held whole. */
      ranges: BlockRange[]
      /** What lacks between the first block and the last, or of a block that is held. */
      gaps: (BlockRange & { kind: Gap['kind'] })[]
      lastTimestamp: string
    }
    checkpoints: Holdings['checkpoints']
    fundingPeriodDataPoints: Holdings['fundingPeriodDataPoints']
    liquidityProviders: Holdings['liquidityProviders']
    prunedBefore: Holdings['prunedBefore']
  }
}

/** Tells what a store holds. Every height from the first to the last lies in one range or one gap. */
export function coverageBody({ coverage, ...rows }: Holdings): CoverageBody {
  return {
    coverage: {
      chainId: coverage.chainId,
      blocks: {
        ranges: wholeRanges(coverage),
        gaps: coverage.gaps.map(({ from, to, kind }) => ({ ...range(from, to), kind })),
        lastTimestamp: coverage.timestamp.toString(),
      },
      ...rows,
    },
  }
}

/** What lies between the gaps. */
function wholeRanges({ first, height, gaps }: Coverage): BlockRange[] {
  const ranges: BlockRange[] = []
  let from = first
  for (const gap of gaps) {
    if (from < gap.from) ranges.push(range(from, gap.from - 1n))
    from = gap.to + 1n
  }
  if (from <= height) ranges.push(range(from, height))
  return ranges
}

function range(from: bigint, to: bigint): BlockRange {
  return { from: from.toString(), to: to.toString() }
}

import type { Coverage } from '../domain/coverage.ts'
import type { Row } from '../resources/resource.ts'
import type { Holdings, PrunedBefore } from './store.ts'

/** Puts together what the statements on holdings have given (statements.ts). */
export function holdingsOf(
  coverage: Coverage,
  [checkpoints]: readonly Row[],
  points: readonly Row[],
  providers: readonly Row[],
  [pruned]: readonly Row[],
): Holdings {
  const [count, firstTimestamp, lastTimestamp] = checkpoints as [string, string | null, string | null]
  return {
    coverage,
    checkpoints: { count, firstTimestamp, lastTimestamp },
    fundingPeriodDataPoints: (points as string[][]).map(([marketId, rows, first, last]) => ({
      marketId: marketId!,
      count: rows!,
      firstTimestamp: first!,
      lastTimestamp: last!,
    })),
    liquidityProviders: (providers as string[][]).map(([marketId, rows, atBlock]) => ({
      marketId: marketId!,
      count: rows!,
      atBlock: atBlock!,
    })),
    prunedBefore: prunedBeforeOf(pruned),
  }
}

/** How far old rows have been taken out, from the row that says so; null where there is none. */
export function prunedBeforeOf(row: Row | undefined): PrunedBefore | null {
  if (row === undefined) return null
  const [timestamp, height] = row as [string | null, string | null]
  return { timestamp, height }
}

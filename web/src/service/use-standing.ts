import type { LiquidityStandingAnswer } from 'lyra-client'
import { SECOND } from '../../../src/core/domain/time.ts'
import { latestCoverage } from './coverage.ts'
import { lyra } from './lyra.ts'
import { type Query, useQuery } from './use-query.ts'

/** Every block has other figures: they are asked for again with the blocks, so often. */
const REFRESH_NS = 5n * SECOND

/** How a party stands on a market, or on all its markets, kept up to date. */
export function useStanding(filters: { partyId: string; marketId?: string }): Query<LiquidityStandingAnswer> {
  const coverage = latestCoverage()
  const time = BigInt(coverage?.blocks.lastTimestamp ?? 0) / REFRESH_NS
  return useQuery(
    coverage === null ? null : `standing ${filters.partyId} ${filters.marketId ?? ''}`,
    (signal) => lyra.liquidityStanding({ ...filters, signal }),
    { version: `${time}` },
  )
}

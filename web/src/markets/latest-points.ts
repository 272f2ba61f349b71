import type { FundingPeriodDataPoint } from 'lyra-client'
import { lyra } from '../service/lyra.ts'

/** The last point of each source of a market; null where there is none. */
export type LatestPoints = Record<'external' | 'internal', FundingPeriodDataPoint | null>

export async function askLatestPoints(marketId: string, signal: AbortSignal): Promise<LatestPoints> {
  const last = async (source: FundingPeriodDataPoint['dataPointType']) => {
    const { rows } = await lyra.fundingPeriodDataPointsPage({ marketId, source }, { first: 1, signal })
    return rows[0]?.node ?? null
  }
  const [external, internal] = await Promise.all([last('SOURCE_EXTERNAL'), last('SOURCE_INTERNAL')])
  return { external, internal }
}

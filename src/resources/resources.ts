import { checkpoints } from './checkpoints.ts'
import { fundingPeriodDataPoints } from './funding-period-data-points.ts'
import { fundingPeriods } from './funding-periods.ts'
import { instruments } from './instruments.ts'
import { liquidityProviders } from './liquidity-providers.ts'
import type { Resource } from './resource.ts'

/** Everything that is served: the one list of it. */
export const RESOURCES: readonly Resource[] = [
  checkpoints,
  fundingPeriodDataPoints,
  fundingPeriods,
  instruments,
  liquidityProviders,
]

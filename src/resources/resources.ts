import { checkpoints } from './checkpoints.ts'
import { fundingPeriodDataPoints } from './funding-period-data-points.ts'
import { liquidityProviders } from './liquidity-providers.ts'
import type { Resource, ResourceName } from './resource.ts'

/** Everything that is served, by name. */
export const RESOURCES = {
  checkpoints,
  fundingPeriodDataPoints,
  liquidityProviders,
} as const satisfies Record<ResourceName, Resource>

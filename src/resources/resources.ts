import { checkpoints } from './checkpoints.ts'
import { fundingPeriodDataPoints } from './funding-period-data-points.ts'
import { fundingPeriods } from './funding-periods.ts'
import { instruments } from './instruments.ts'
import { liquidityProviders } from './liquidity-providers.ts'
import { marketSummaries } from './market-summaries.ts'
import type { Resource, ResourceName } from './resource.ts'

/** Everything that is served: the one list of it. */
export const RESOURCES: readonly Resource[] = [
  checkpoints,
  fundingPeriodDataPoints,
  fundingPeriods,
  instruments,
  liquidityProviders,
]

/** Everything that has pages: the resources, and the lists that are made of their nodes. */
export const LISTS: readonly Resource[] = [...RESOURCES, marketSummaries]

/**
 * The resource of a name.
 *
 * @throws {RangeError} for a name that none has.
 */
export function resourceNamed(name: ResourceName): Resource {
  const resource = RESOURCES.find((other) => other.name === name)
  if (resource === undefined) throw new RangeError(`there is no resource ${name}`)
  return resource
}

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

const BY_NAME = new Map(RESOURCES.map((resource) => [resource.name, resource]))

/**
 * The resource of a name.
 *
 * @throws {TypeError} where there is none.
 */
export function resourceOf(name: string): Resource {
  const resource = BY_NAME.get(name)
  if (resource === undefined) throw new TypeError(`no resource is called ${name}`)
  return resource
}

import type { Resource, ResourceName } from '../model/resource.ts'
import { fundingEstimate } from './funding-estimates.ts'
import { marketData } from './market-data/description.ts'
import { marketSummaries } from './market-summaries.ts'
import { rateAverages } from './rate-averages.ts'
import { STORED } from './stored.ts'

/** All served resources, by name. */
export const RESOURCES: readonly Resource[] = STORED.flatMap(({ resource }) => resource ?? []).sort((a, b) =>
  a.name < b.name ? -1 : 1,
)
refuseSharedMarks(RESOURCES)

/** @throws {TypeError} for two resources whose cursors, or ids of streams, would be taken for each other's. */
function refuseSharedMarks(resources: readonly Resource[]): void {
  // Those of market-cursor.ts.
  const owners = new Map([['the cursor letter x', 'lists of all markets']])
  for (const { name, tag, cursor } of resources) {
    for (const mark of [`the tag ${tag}`, `the cursor letter ${cursor.letter}`]) {
      const other = owners.get(mark)
      if (other !== undefined) throw new TypeError(`${other} and ${name} have ${mark}`)
      owners.set(mark, name)
    }
  }
}

/** Nodes that other nodes contain, and which have no list of their own. */
export const NODE_PARTS = [fundingEstimate, marketData, rateAverages]

/** Everything that has pages: the resources, and the lists that contain their nodes. */
export const LISTS: readonly Resource[] = [...RESOURCES, marketSummaries]

/**
 * The resource with a name.
 *
 * @throws {RangeError} for a name that no resource has.
 */
export function resourceNamed(name: ResourceName): Resource {
  const resource = RESOURCES.find((other) => other.name === name)
  if (resource === undefined) throw new RangeError(`there is no resource ${name}`)
  return resource
}

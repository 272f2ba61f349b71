import { describeHeights, type InText, type ResourceGap } from '#core/domain/coverage'

/**
 * Resources that blocks from events always have: an unfinished import, or one that could not read them, left them out.
 */
const OF_IMPORTS = ['fundingPeriods', 'liquidityProviders']

/** Ranges of heights that are listed one by one. */
const SHOWN_RANGES = 5

/**
 * One line per resource that stored blocks are missing: the height from which it is stored, and how to add the rest.
 *
 * @param gaps as in `lyra status --json`, each resource's ascending
 */
export function describeResourceGaps(
  gaps: readonly InText<ResourceGap>[],
): [resource: string, text: string][] {
  return [...Map.groupBy(gaps, ({ resource }) => resource)].map(([resource, own]) => {
    const ranges = own.slice(0, SHOWN_RANGES).map(describeHeights)
    if (ranges.length < own.length) ranges.push(`${own.length - ranges.length} more ranges`)
    const again = OF_IMPORTS.includes(resource)
      ? 'import these blocks again, or ingest their event files'
      : 'ingest the event files of these blocks again'
    return [
      resource,
      `stored from block ${BigInt(own.at(-1)!.to) + 1n} on; missing in ${ranges.join(', ')}: ${again}`,
    ]
  })
}

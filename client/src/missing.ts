import type { Coverage, MissingBlocks, StoredSince } from './resources.ts'

/** What a service lacks of a range of times. */
export type Missing = {
  /** Blocks that are missing or incomplete, and imported ones without the resource, by height. */
  missing: MissingBlocks[]
  /** From which block on the resource is complete, if the range begins before it. */
  since: StoredSince | null
}

/** A time, Unix nanoseconds. */
type Time = bigint | string

/**
 * What a service lacks of a resource's rows in a range of times: ask before you add them up, count them or say that there
 * are none. Where a time is not known, the blocks count as missing in every range on that side.
 *
 * @param coverage the whole coverage: if its `next` is not null, join its parts first
 * @param resource the resource, as `coverage.since` and `lacks` name it: `fundingPayments`
 * @param from the beginning of the range, Unix nanoseconds; null: the first block
 * @param to its end, which is not in it; null: the last block
 */
export function missingIn(
  coverage: Pick<Coverage, 'since'> & { blocks: Pick<Coverage['blocks'], 'gaps' | 'imported'> },
  resource: string,
  from: Time | null,
  to: Time | null,
): Missing {
  const { gaps, imported } = coverage.blocks
  const withoutResource = imported.filter(({ lacks = [] }) => lacks.includes(resource))
  // Imported blocks have no times, nor have the gaps of services before 0.3.
  const missing = [...gaps, ...withoutResource]
    .map((range: Pick<MissingBlocks, 'from' | 'to'> & Partial<MissingBlocks>): MissingBlocks => {
      const { from, to, start = null, end = null } = range
      return { from, to, start, end }
    })
    .filter(({ start, end }) => isBefore(start, to) && isBefore(from, end))
    .sort((a, b) => Number(BigInt(a.from) - BigInt(b.from)))
  const since = coverage.since.find((entry) => entry.resource === resource)
  const isPartial = since !== undefined && isBefore(from, since.start)
  return { missing, since: isPartial ? { height: since.height, start: since.start } : null }
}

/** Whether a time is before another one; null is open, and before and after every other. */
function isBefore(time: Time | null, other: Time | null): boolean {
  return time === null || other === null || BigInt(time) < BigInt(other)
}

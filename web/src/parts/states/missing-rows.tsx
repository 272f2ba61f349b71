import type { Missing } from 'lyra-client'
import { describeMissing, missingOf, type OpenRange, type SummedResource } from '../../service/missing.ts'

export type MissingRowsProps = {
  resource: SummedResource
  range: OpenRange
  /** A resource whose missing blocks are named above: those that are missing of both are not named again. */
  besides?: SummedResource
}

/** Says above the figures of a range which of their rows are missing; nothing if none are. */
export function MissingRows({ resource, range, besides }: MissingRowsProps) {
  const missing = missingOf(resource, range)
  const rest = besides === undefined ? missing : without(missing, missingOf(besides, range))
  const text = describeMissing(resource, rest)
  return text === null ? null : (
    <p class="notice" data-figure="missing">
      {text}
    </p>
  )
}

function without({ missing, since }: Missing, other: Missing): Missing {
  return {
    missing: missing.filter(({ from }) => !other.missing.some((range) => range.from === from)),
    since: since?.height === other.since?.height ? null : since,
  }
}

import { describeMissing, missingOf, type OpenRange, type SummedResource } from '../service/missing.ts'

/** Says above the figures of a range which of their rows are missing; nothing if none are. */
export function MissingRows({ resource, range }: { resource: SummedResource; range: OpenRange }) {
  const text = describeMissing(resource, missingOf(resource, range))
  return text === null ? null : (
    <p class="notice" data-figure="missing">
      {text}
    </p>
  )
}

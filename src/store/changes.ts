import type { Batch } from '../projections/batch.ts'
import type { KeyValue, ResourceName } from '../resources/resource.ts'

/** Rows that a commit may have written, of one resource; `scope` is their market, where they are told apart by it. */
export type Change = {
  resource: ResourceName
  scope: string | null
  /** Their range in the first key column; null where it is not told. */
  range: { first: bigint; last: bigint } | null
}

/**
 * How a store stands. The version goes up by one with every commit; the mark, a random number of each commit,
 * tells a store from another that has taken its place.
 */
export type StoreVersion = { version: bigint; mark: string }

/** Commits that a store remembers the changes of: a reader looks again long before there are so many more. */
const REMEMBERED = 64

/** A commit that changes more ranges is remembered as one that changes everything. */
const MAX_CHANGES = 200

/** What stands for changes of everything. */
const EVERYTHING = '*'

/** The changes of a commit that takes rows out, or puts tables in the place of others. */
export const EVERY_CHANGE = null

/** One row for each commit from one on, with the position as of now. */
export const READ_CHANGES = `
  select cast(changes.version as text), cast(mark as text), scopes,
    cast(stream.height as text), cast(stream.timestamp as text)
  from changes left join stream on true
  where changes.version >= $1 order by changes.version`

/** The newest commit, with the position. */
export const READ_STATE = `
  select cast(changes.version as text), cast(mark as text), scopes,
    cast(stream.height as text), cast(stream.timestamp as text)
  from changes left join stream on true
  order by changes.version desc limit 1`

const INSERT_CHANGES = `
  insert into changes (version, mark, scopes) select max(version) + 1, $1, $2 from changes`

const FORGET_CHANGES = `
  delete from changes where version <= (select max(version) from changes) - ${REMEMBERED}`

/**
 * The statements that note what a commit changes; the last ones of its transaction, one transaction at a time.
 *
 * @param changes the changes, or {@link EVERY_CHANGE}
 */
export function noteChanges(changes: readonly Change[] | null): { text: string; values: KeyValue[] }[] {
  const mark = BigInt(Math.floor(Math.random() * Number.MAX_SAFE_INTEGER))
  return [
    { text: INSERT_CHANGES, values: [mark, writeChanges(changes)] },
    { text: FORGET_CHANGES, values: [] },
  ]
}

/** What a batch changes, as far as pages show it. */
export function changesOf(batch: Batch): Change[] {
  const changes: Change[] = []
  const [checkpoint, ...others] = batch.checkpoints.map(({ atBlock }) => atBlock)
  if (checkpoint !== undefined) {
    const range = { first: checkpoint, last: checkpoint }
    for (const atBlock of others) widen(range, atBlock, atBlock)
    changes.push({ resource: 'checkpoints', scope: null, range })
  }
  const points = new Map<string, { first: bigint; last: bigint }>()
  for (const { marketId, first, last } of batch.fundingPeriodSpans.values()) {
    const known = points.get(marketId)
    if (known === undefined) points.set(marketId, { first, last })
    else widen(known, first, last)
  }
  for (const [scope, range] of points) changes.push({ resource: 'fundingPeriodDataPoints', scope, range })
  const providers = new Set(batch.liquidityProviderLists.keys())
  for (const { marketId } of batch.liquidityProvisions.values()) providers.add(marketId)
  for (const scope of providers) changes.push({ resource: 'liquidityProviders', scope, range: null })
  return changes
}

function widen(range: { first: bigint; last: bigint }, first: bigint, last: bigint): void {
  if (first < range.first) range.first = first
  if (last > range.last) range.last = last
}

/** A change in the store: resource, scope, first and last as text. */
type Written = [ResourceName, string | null, string?, string?]

function writeChanges(changes: readonly Change[] | null): string {
  if (changes === null || changes.length > MAX_CHANGES) return EVERYTHING
  return JSON.stringify(
    changes.map(
      ({ resource, scope, range }): Written =>
        range === null ? [resource, scope] : [resource, scope, String(range.first), String(range.last)],
    ),
  )
}

/** The changes that a store has noted; null for everything. */
export function readChanges(text: string): Change[] | null {
  if (text === EVERYTHING) return null
  return (JSON.parse(text) as Written[]).map(([resource, scope, first, last]) => ({
    resource,
    scope,
    range: first === undefined ? null : { first: BigInt(first), last: BigInt(last!) },
  }))
}

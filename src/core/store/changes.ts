import type { Batch } from '../model/batch.ts'
import type { KeyValue, ResourceName } from '../model/resource.ts'
import { marketColumn } from '../model/table.ts'
import { marketSummaries } from '../resources/market-summaries.ts'
import { RESOURCES } from '../resources/resources.ts'
import { tableOf } from './schema/tables.ts'

/** Rows that a commit may have written: those of a resource, or of one market of it. */
export type Change = { resource: ResourceName; scope: string | null }

/**
 * The state of a store. The version increases by one with every commit. The mark, a random number of each commit,
 * distinguishes a store from another one that has replaced it.
 */
export type StoreVersion = { version: bigint; mark: string }

/** Number of recent commits whose changes are stored. Readers look far more often than this fills up. */
const REMEMBERED_COMMITS = 64

/** A commit with more changes is stored as one that changes all markets of the same resources. */
const MAX_CHANGES = 200

/** Stored if anything may have changed. */
const EVERYTHING = '*'

/** For a commit that deletes rows or replaces tables: anything may have changed. */
export const EVERY_CHANGE = null

/** A commit, and the current store head. */
const COMMIT_STATE = `cast(changes.version as text), cast(mark as text),
    cast(stream.height as text), cast(stream.timestamp as text)`

/** The number of these columns. */
export const STATE_COLUMNS = 4

/** One row for each commit from a given one on, with the current store head and the commit's changes. */
export const READ_CHANGES = `
  select ${COMMIT_STATE}, scopes
  from changes left join stream on true
  where changes.version >= $1 order by changes.version`

/** The newest commit, with the store head. */
export const READ_STATE = `
  select ${COMMIT_STATE}
  from changes left join stream on true
  order by changes.version desc limit 1`

const INSERT_CHANGES = `
  insert into changes (version, mark, scopes) select max(version) + 1, $1, $2 from changes`

const FORGET_CHANGES = `
  delete from changes where version <= (select max(version) from changes) - ${REMEMBERED_COMMITS}`

/**
 * The statements that store a commit's changes, after its rows: they give it the next version, so that commits wait for each
 * other here.
 *
 * @param changes the changes, or {@link EVERY_CHANGE}
 */
export function changeStatements(changes: readonly Change[] | null): { text: string; values: KeyValue[] }[] {
  const mark = BigInt(Math.floor(Math.random() * Number.MAX_SAFE_INTEGER))
  return [
    { text: INSERT_CHANGES, values: [mark, changesText(changes)] },
    { text: FORGET_CHANGES, values: [] },
  ]
}

/** The resources whose rows are in a table or depend on its rows, by the table's name. */
const RESOURCES_OF = Map.groupBy(
  [...RESOURCES, marketSummaries].flatMap(({ name, storage }) =>
    (storage.derivedFrom ?? [storage.table]).map((table) => ({ name, table: tableOf(table).name })),
  ),
  ({ table }) => table,
)

/** The changes of a batch that are visible in pages. */
export function changesOf(batch: Batch): Change[] {
  const changes = new Map<string, Change>()
  const add = (table: string, scope: string | null) => {
    for (const { name } of RESOURCES_OF.get(table) ?? [])
      changes.set(`${name} ${scope}`, { resource: name, scope })
  }
  for (const [name, rows] of batch.rows) {
    const table = tableOf(name)
    const column = marketColumn(table)
    if (column === undefined || table.movesBetweenMarkets) add(name, null)
    else for (const scope of rows.markets(column)) add(name, scope)
  }
  for (const scope of batch.marketData.keys()) add('liquidity_provider_lists', scope)
  return [...changes.values()]
}

/** A change as it is stored. */
type WrittenChange = [ResourceName, string | null]

function changesText(changes: readonly Change[] | null): string {
  if (changes === null) return EVERYTHING
  if (changes.length > MAX_CHANGES) {
    const resources = new Set(changes.map(({ resource }) => resource))
    return changesText([...resources].map((resource) => ({ resource, scope: null })))
  }
  return JSON.stringify(changes.map(({ resource, scope }): WrittenChange => [resource, scope]))
}

/** Parses stored changes; null if anything may have changed. */
export function parseChanges(text: string): Change[] | null {
  if (text === EVERYTHING) return null
  return (JSON.parse(text) as WrittenChange[]).map(([resource, scope]) => ({ resource, scope }))
}

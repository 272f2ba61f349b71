import { FILTER_COLUMNS, type Resource } from '../../resources/resource.ts'
import type { Scan } from './scan.ts'
import type { Statement } from './statement.ts'
import { type Role, type Slots, templateOf } from './statement-template.ts'

/* The SQL of a scan that both databases take. */

/**
 * How sorted runs are merged. SQLite reads them side by side and stops at the limit (`lazy`); PostgreSQL would read and
 * sort all of them, so each run gets the limit (`bounded`).
 */
export type Merge = 'lazy' | 'bounded'

/** The columns of a row, as they are read: integers of 64 bits and digits as text. */
export function columnList({ storage }: Resource): string {
  return storage.columns
    .map(({ name, type }) => (type === 'int64' || type === 'digits' ? `cast(${name} as text)` : name))
    .join(', ')
}

export const columnNames = ({ storage }: Resource) => storage.columns.map(({ name }) => name).join(', ')

/** The text after `from` that reads a resource's rows under the name of its table. */
export function fromClause({ storage }: Resource): string {
  return storage.from === undefined ? storage.table : `(${storage.from}) as ${storage.table}`
}

/**
 * The statement that reads the first `limit` rows of a scan, in its direction: one range of the table's key,
 * or a merge of one such range for each of its runs.
 */
export function pageStatement(scan: Scan, limit: number, merge: Merge): Statement {
  return templateOf(`rows ${merge}`, scan, (slots) => {
    const { resource } = scan
    const rows = rowsText(scan, slots, merge, columnNames(resource))
    return `select ${columnList(resource)} from (${rows}) as page
      order by ${orderBy(scan, 'page')}`
  })({ scan, limit })
}

/** The select of a scan's first rows, in its direction. */
export function rowsText(scan: Scan, slots: Slots, merge: Merge, names: string): string {
  const runs = unrestrictedRuns(scan)
  const limited = limitOf(slots)
  const { table } = scan.resource.storage
  if (runs !== null) return mergeOf(scan, runs, slots, limited, merge, () => names)
  return `select ${names} from ${fromClause(scan.resource)} ${where(scan, slots)}
    order by ${orderBy(scan, table)} ${limited}`
}

/** The first rows of all runs of a table, in the order of the key. */
export function mergeOf(
  scan: Scan,
  runs: readonly string[],
  slots: Slots,
  limited: string,
  merge: Merge,
  columnsOf: (run: string) => string,
): string {
  const { table } = scan.resource.storage
  const parts = runs.map((run) => {
    const part = `select ${columnsOf(run)} from ${table} ${where(scan, slots, { run })}`
    return merge === 'lazy' ? part : `(${part} order by ${orderBy(scan, table)} ${limited})`
  })
  return `${parts.join('\nunion all\n')} order by ${orderBy(scan)} ${limited}`
}

/** A bare placeholder would have SQLite prepare the statement anew for each value. */
export function limitOf(slots: Slots): string {
  return `limit cast(${slots.add('limit', ({ limit }) => BigInt(limit))} as bigint)`
}

/** The expression for whether a scan holds any row: true or 1. */
export function existsText(scan: Scan, slots: Slots, role: Role): string {
  // The last run first: it is the longest, and nearly always the answer.
  const runs: readonly (string | undefined)[] = unrestrictedRuns(scan)?.toReversed() ?? [undefined]
  const from = fromClause(scan.resource)
  const parts = runs.map((run) => `exists (select 1 from ${from} ${where(scan, slots, { run, role })})`)
  return `(${parts.join(' or ')})`
}

/** The values of the runs that a selection leaves open; null if there is one range alone. */
export function unrestrictedRuns({ resource, selection }: Scan): readonly string[] | null {
  const { runs } = resource.storage
  return runs !== undefined && selection[runs.filter] === undefined ? runs.values : null
}

/** The conditions of a selection: its market, its filters, and the resource's fixed conditions. */
export function selectionConditions(
  { resource, selection, market }: Pick<Scan, 'resource' | 'selection' | 'market'>,
  placeholderOf: (value: 'market' | 'marketId' | 'partyId' | 'source' | 'seq') => string,
): string[] {
  const { storage, scope, filters } = resource
  const conditions: string[] = []
  if (scope !== null) {
    if (storage.scopeBy === undefined) throw new TypeError(`${resource.name}: scopeBy is not said`)
    if (storage.scopeBy === 'number' && market === null)
      throw new TypeError('the number of the market is not known')
    conditions.push(
      storage.scopeBy === 'number'
        ? `market = ${placeholderOf('market')}`
        : `market_id = ${placeholderOf('marketId')}`,
    )
  }
  if (storage.condition !== undefined) conditions.push(storage.condition)
  for (const filter of filters) {
    if (filter === storage.runs?.filter || selection[filter] === undefined) continue
    conditions.push(`${FILTER_COLUMNS[filter]} = ${placeholderOf(filter)}`)
  }
  return conditions
}

export function where(
  scan: Scan,
  slots: Slots,
  { run, role = 'scan' }: { run?: string | undefined; role?: Role } = {},
): string {
  const { resource, selection } = scan
  const { storage } = resource
  const conditions = selectionConditions(scan, (name) =>
    slots.add(name, ({ scan }) => (name === 'market' ? scan.market! : scan.selection[name]!)),
  )
  if (storage.runs !== undefined) {
    const { filter } = storage.runs
    // As a literal: the planner is to know that it is one value.
    conditions.push(`${FILTER_COLUMNS[filter]} = ${run ?? String(selection[filter])}`)
  }
  // A column that a filter fixes to the cursor's value takes no part in the comparison.
  const compared = resource.key.flatMap(({ column, filter }, index) =>
    filter !== undefined && selection[filter] !== undefined ? [] : [{ column, index }],
  )
  for (const [end, operator] of [
    ['lower', '>'],
    ['upper', '<'],
  ] as const) {
    const bound = scan[end]
    if (bound === null) continue
    if (compared.length === 0) {
      if (!bound.inclusive) conditions.push('1 = 0')
      continue
    }
    const columns = compared.map(({ column }) => column).join(', ')
    const placeholders = compared
      .map(({ index }) => slots.add(`${role} ${end} ${index}`, (inputs) => inputs[role]![end]!.key[index]!))
      .join(', ')
    conditions.push(`(${columns}) ${operator}${bound.inclusive ? '=' : ''} (${placeholders})`)
  }
  return conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`
}

/** With the table's name before each column: a bare one could mean an output column, of another type. */
export function orderBy(
  { resource, descending }: Pick<Scan, 'resource' | 'descending'>,
  table?: string,
): string {
  const prefix = table === undefined ? '' : `${table}.`
  return resource.key.map(({ column }) => `${prefix}${column}${descending ? ' desc' : ''}`).join(', ')
}

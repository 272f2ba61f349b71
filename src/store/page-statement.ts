import type { Key, KeyValue, Resource, Selection } from '../resources/resource.ts'
import { PAGE_TABLES, type PageTable } from './page-tables.ts'

/** A statement with `$1`, `$2`, ... and the values that they stand for. */
export type Statement = { text: string; values: KeyValue[] }

/** One end of a range of keys. */
export type Bound = { key: Key; inclusive: boolean }

/** A range of a resource's rows in one direction. */
export type Scan = {
  resource: Resource
  selection: Selection
  lower: Bound | null
  upper: Bound | null
  descending: boolean
}

type Runs = NonNullable<PageTable['runs']>

/**
 * How a database merges runs that each are in order. SQLite reads them side by side and stops at the limit
 * (`lazy`); PostgreSQL would read all of them and sort, so it is given the limit for each (`bounded`).
 */
export type RunMerge = 'lazy' | 'bounded'

/**
 * The statement that reads the first `limit` rows of a scan, in its direction: one range of the table's key,
 * or a merge of one such range for each of its runs.
 */
export function pageStatement(scan: Scan, limit: number, merge: RunMerge): Statement {
  const table = PAGE_TABLES[scan.resource.name]
  const runs = unrestrictedRuns(table, scan.selection)
  const values = new Values(scan.selection)
  const limited = `limit ${values.add(BigInt(limit))}`
  if (runs === null) {
    const text = `select ${table.columns} from ${table.from} ${where(scan, table, values)}
      order by ${orderBy(scan, table.from)} ${limited}`
    return { text: values.number(text), values: values.list }
  }
  const parts = runs.conditions.map((run) => {
    const part = `select ${runs.columns} from ${table.from} ${where(scan, table, values, run)}`
    return merge === 'lazy' ? part : `(${part} order by ${orderBy(scan, table.from)} ${limited})`
  })
  const text = `select ${table.columns} from (
    ${parts.join('\nunion all\n')}
    order by ${orderBy(scan)} ${limited}) as merged
    order by ${orderBy(scan, 'merged')}`
  return { text: values.number(text), values: values.list }
}

/** The statement that tells whether a scan holds any row: one row, one column, true or 1. */
export function existsStatement(scan: Scan): Statement {
  const table = PAGE_TABLES[scan.resource.name]
  const runs = unrestrictedRuns(table, scan.selection)
  const values = new Values(scan.selection)
  const parts = (runs?.conditions ?? [undefined]).map(
    (run) => `exists (select 1 from ${table.from} ${where(scan, table, values, run)})`,
  )
  return { text: values.number(`select ${parts.join(' or ')}`), values: values.list }
}

/** The statement that gives the span of a selection's rows, where its table keeps one; null otherwise. */
export function spanStatement({ name }: Resource, selection: Selection): Statement | null {
  const { span } = PAGE_TABLES[name]
  if (span === undefined || selection[span.filter] === undefined) return null
  const values = new Values(selection)
  return { text: values.number(span.statement), values: values.list }
}

function unrestrictedRuns({ runs }: PageTable, selection: Selection): Runs | null {
  return runs !== undefined && selection[runs.filter] === undefined ? runs : null
}

function where(scan: Scan, table: PageTable, values: Values, run?: string): string {
  const { resource, selection } = scan
  const conditions: string[] = []
  if (table.condition !== undefined) conditions.push(table.condition)
  if (run !== undefined) conditions.push(run)
  else if (table.runs !== undefined) {
    conditions.push(table.runs.conditions[Number(selection[table.runs.filter])]!)
  }
  for (const filter of resource.filters) {
    const condition = table.filters[filter]
    if (condition !== undefined && selection[filter] !== undefined) conditions.push(condition)
  }
  // A column that a filter fixes to the cursor's value takes no part in the comparison.
  const compared = resource.key.flatMap(({ column, filter }, index) =>
    filter !== undefined && selection[filter] !== undefined ? [] : [{ column, index }],
  )
  for (const [bound, operator] of [
    [scan.lower, '>'],
    [scan.upper, '<'],
  ] as const) {
    if (bound === null) continue
    if (compared.length === 0) {
      if (!bound.inclusive) conditions.push('1 = 0')
      continue
    }
    const columns = compared.map(({ column }) => column).join(', ')
    const placeholders = compared.map(({ index }) => values.add(bound.key[index]!)).join(', ')
    conditions.push(`(${columns}) ${operator}${bound.inclusive ? '=' : ''} (${placeholders})`)
  }
  return conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`
}

/** With the table's name before each column: a bare one could mean an output column, of another type. */
function orderBy({ resource, descending }: Scan, table?: string): string {
  const prefix = table === undefined ? '' : `${table}.`
  return resource.key.map(({ column }) => `${prefix}${column}${descending ? ' desc' : ''}`).join(', ')
}

/** Collects the values of a statement and numbers their placeholders in the order of their standing. */
class Values {
  readonly list: KeyValue[] = []
  readonly #selection: Selection
  readonly #named = new Map<string, string>()

  constructor(selection: Selection) {
    this.#selection = selection
  }

  add(value: KeyValue): string {
    this.list.push(value)
    return `$${this.list.length}`
  }

  /** Turns each `:name` into the placeholder of the selection's value. */
  number(text: string): string {
    return text.replaceAll(/:([a-z]\w*)/gi, (_, name: keyof Selection) => {
      const known = this.#named.get(name)
      if (known !== undefined) return known
      const placeholder = this.add(this.#selection[name]!)
      this.#named.set(name, placeholder)
      return placeholder
    })
  }
}

import { pointCursorHead } from '../resources/point-cursor.ts'
import type { Key, KeyValue, Resource, Selection } from '../resources/resource.ts'
import { type EdgeSql, PAGE_TABLES, type PageTable } from './page-tables.ts'

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

/** What databases do each in their own way. */
export type Dialect = {
  /**
   * How runs that each are in order are merged. SQLite reads them side by side and stops at the limit (`lazy`);
   * PostgreSQL would read all of them and sort, so it is given the limit for each (`bounded`).
   */
  merge: 'lazy' | 'bounded'
  /** 16 hex digits of a column. */
  hex: (column: string) => string
  /** The edges of all rows, behind `HEAD_ROOM` bytes (edges.ts), from a column that holds their middles; or null. */
  join: (column: string, edge: EdgeSql) => string
}

/**
 * The statement that reads the first `limit` rows of a scan, in its direction: one range of the table's key,
 * or a merge of one such range for each of its runs.
 */
export function pageStatement(scan: Scan, limit: number, dialect: Dialect): Statement {
  return templateOf('rows', scan, dialect, (slots) => {
    const table = PAGE_TABLES[scan.resource.name]
    const runs = unrestrictedRuns(table, scan.selection)
    const limited = limitOf(slots)
    if (runs === null) {
      return `select ${table.columns} from ${table.from} ${where(scan, table, slots)}
        order by ${orderBy(scan, table.from)} ${limited}`
    }
    return `select ${table.columns} from (${mergeOf(scan, table, slots, limited, dialect, () => runs.columns)}) as merged
      order by ${orderBy(scan, 'merged')}`
  })({ scan, limit })
}

/**
 * As {@link pageStatement}, but the database writes the rows as the API's edges: one row of one text, with commas
 * between the edges (null for none), and their number. Null for tables whose edges only this program writes.
 *
 * @param reversed whether the edges are to stand the other way round than they are read
 */
export function edgesStatement(
  scan: Scan,
  limit: number,
  reversed: boolean,
  dialect: Dialect,
): Statement | null {
  const { resource, selection } = scan
  const table = PAGE_TABLES[resource.name]
  const { runs } = table
  if (runs === undefined) return null
  return templateOf(reversed ? 'edges reversed' : 'edges', scan, dialect, (slots) => {
    const limited = limitOf(slots)
    const key = resource.key.map(({ column }) => column).join(', ')
    const withMiddle = (run: string) => `${key}, ${runs.edge.middle(run, dialect.hex)} as middle`
    const run = selection[runs.filter]
    let reading: string
    if (run !== undefined) {
      reading = `select ${withMiddle(String(run))} from ${table.from} ${where(scan, table, slots)}
        order by ${orderBy(scan, table.from)} ${limited}`
    } else if (dialect.merge === 'lazy') {
      reading = mergeOf(scan, table, slots, limited, dialect, withMiddle)
    } else {
      // Each run is given the limit: only the rows of the page are written.
      reading = `select ${withMiddle(runs.column)}
        from (${mergeOf(scan, table, slots, limited, dialect, () => runs.columns)}) as merged
        order by ${orderBy(scan, 'merged')}`
    }
    const order = reversed ? `order by ${orderBy({ ...scan, descending: !scan.descending }, 'reading')}` : ''
    return `select ${dialect.join('middle', runs.edge)}, count(*)
      from (select middle from (${reading}) as reading ${order}) as page`
  })({ scan, limit })
}

/** A bare placeholder would have SQLite prepare the statement anew for each value. */
function limitOf(slots: Slots): string {
  return `limit cast(${slots.add(({ limit }) => BigInt(limit))} as bigint)`
}

/** The first rows of all runs of a table, in the order of the key. */
function mergeOf(
  scan: Scan,
  table: PageTable,
  slots: Slots,
  limited: string,
  { merge }: Dialect,
  columnsOf: (run: string) => string,
): string {
  const parts = table.runs!.values.map((run) => {
    const part = `select ${columnsOf(run)} from ${table.from} ${where(scan, table, slots, run)}`
    return merge === 'lazy' ? part : `(${part} order by ${orderBy(scan, table.from)} ${limited})`
  })
  return `${parts.join('\nunion all\n')} order by ${orderBy(scan)} ${limited}`
}

/** The statement that tells whether a scan holds any row: one row, one column, true or 1. */
export function existsStatement(scan: Scan): Statement {
  return templateOf('exists', scan, null, (slots) => {
    const table = PAGE_TABLES[scan.resource.name]
    const runs = unrestrictedRuns(table, scan.selection)
    const parts = (runs?.values ?? [undefined]).map(
      (run) => `exists (select 1 from ${table.from} ${where(scan, table, slots, run)})`,
    )
    return `select ${parts.join(' or ')}`
  })({ scan, limit: 0 })
}

/** The statement that gives the span of a selection's rows, where its table keeps one; null otherwise. */
export function spanStatement({ name }: Resource, selection: Selection): Statement | null {
  const { span } = PAGE_TABLES[name]
  if (span === undefined || selection[span.filter] === undefined) return null
  const values: KeyValue[] = []
  const text = numberNames(span.statement, (value) => `$${values.push(selection[value as keyof Selection]!)}`)
  return { text, values }
}

function unrestrictedRuns({ runs }: PageTable, selection: Selection): Runs | null {
  return runs !== undefined && selection[runs.filter] === undefined ? runs : null
}

function where(scan: Scan, table: PageTable, slots: Slots, run?: string): string {
  const { resource, selection } = scan
  const conditions: string[] = []
  if (table.condition !== undefined) conditions.push(table.condition)
  if (table.runs !== undefined) {
    const { column, filter } = table.runs
    // As a literal: the planner is to know that it is one value.
    conditions.push(`${column} = ${run ?? String(selection[filter])}`)
  }
  for (const filter of resource.filters) {
    const condition = table.filters[filter]
    if (condition !== undefined && selection[filter] !== undefined) conditions.push(condition)
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
      .map(({ index }) => slots.add((inputs) => inputs.scan[end]!.key[index]!))
      .join(', ')
    conditions.push(`(${columns}) ${operator}${bound.inclusive ? '=' : ''} (${placeholders})`)
  }
  return conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`
}

/** With the table's name before each column: a bare one could mean an output column, of another type. */
function orderBy({ resource, descending }: Scan, table?: string): string {
  const prefix = table === undefined ? '' : `${table}.`
  return resource.key.map(({ column }) => `${prefix}${column}${descending ? ' desc' : ''}`).join(', ')
}

/** What the values of a statement are taken from. */
type Inputs = { scan: Scan; limit: number }

/** Gives the value of a placeholder. */
type Slot = (inputs: Inputs) => KeyValue

/** Names in the tables' SQL that stand for something else than a value of the selection. */
const NAMED: Record<string, Slot> = {
  edgeBegin: ({ scan }) => pointEdgeBegin(scan),
  edgeBetween: ({ scan }) => `"},${pointEdgeBegin(scan)}`,
  cursorBegin: ({ scan }) => `"},"cursor":"${pointCursorHead(scan.selection.marketId!)}`,
}

function pointEdgeBegin({ selection }: Scan): string {
  return `{"node":{"marketId":"${selection.marketId}","seq":"`
}

const templates = new Map<string, (inputs: Inputs) => Statement>()

/** The statement for every scan of the same shape: its text is put together once. */
function templateOf(
  kind: string,
  scan: Scan,
  dialect: Dialect | null,
  build: (slots: Slots) => string,
): (inputs: Inputs) => Statement {
  const { resource, selection, lower, upper, descending } = scan
  const { marketId, partyId, source, seq } = selection
  const shape = `${kind} ${dialect?.merge} ${resource.name} ${descending} ${lower?.inclusive} ${upper?.inclusive} ${marketId === undefined} ${partyId === undefined} ${source} ${seq === undefined}`
  let template = templates.get(shape)
  if (template === undefined) {
    const slots = new Slots()
    const text = slots.number(build(slots))
    const { list } = slots
    template = (inputs) => ({ text, values: list.map((slot) => slot(inputs)) })
    templates.set(shape, template)
  }
  return template
}

/** Collects where the values of a statement come from, and numbers their placeholders. */
class Slots {
  readonly list: Slot[] = []

  add(slot: Slot): string {
    return `$${this.list.push(slot)}`
  }

  /** Turns each `:name` into the placeholder of its value. */
  number(text: string): string {
    return numberNames(text, (name) =>
      this.add(NAMED[name] ?? (({ scan }) => scan.selection[name as keyof Selection]!)),
    )
  }
}

/** Turns each `:name` into a placeholder, the same name into the same one. */
function numberNames(text: string, placeholderOf: (name: string) => string): string {
  const known = new Map<string, string>()
  return text.replaceAll(/:([a-z]\w*)/gi, (_, name: string) => {
    const placeholder = known.get(name) ?? placeholderOf(name)
    known.set(name, placeholder)
    return placeholder
  })
}

import { mergedParts, nodeSql, type SqlPart, sqlText } from '../../resources/field.ts'
import { marketCursorHead } from '../../resources/market-cursor.ts'
import {
  FILTER_COLUMNS,
  type Key,
  type KeyValue,
  type Resource,
  type RowColumn,
  type Selection,
  scopeOf,
} from '../../resources/resource.ts'
import { READ_STATE, STATE_COLUMNS } from '../changes.ts'

/** Which cursors the lines of an export have: the rows' own, or those of the list of all markets (market-cursor.ts). */
export type LineCursors = 'own' | 'of all markets'

/** A statement with `$1`, `$2`, ... and the values that they stand for. */
export type Statement = { text: string; values: KeyValue[] }

/** A statement that is run once for each of some lists of values. */
export type StatementOfEach = { text: string; each: readonly KeyValue[][] }

/** The lists of values that a statement is run with. */
export const valueLists = (statement: Statement | StatementOfEach): readonly KeyValue[][] =>
  'each' in statement ? statement.each : [statement.values]

/** One end of a range of keys. */
export type Bound = { key: Key; inclusive: boolean }

/** A range of a resource's rows in one direction. */
export type Scan = {
  resource: Resource
  selection: Selection
  /** The number of the market in scope, where the resource's rows name it by that. */
  market: bigint | null
  lower: Bound | null
  upper: Bound | null
  descending: boolean
}

/**
 * How runs that each are in order are merged. SQLite reads them side by side and stops at the limit (`lazy`);
 * PostgreSQL would read all of them and sort, so it is given the limit for each (`bounded`).
 */
export type Merge = 'lazy' | 'bounded'

/** The columns of a row, as they are read: integers of 64 bits and digits as text. */
export function columnList({ storage }: Resource): string {
  return storage.columns
    .map(({ name, type }) => (type === 'int64' || type === 'digits' ? `cast(${name} as text)` : name))
    .join(', ')
}

/** What follows `from` to read a resource's rows, under the name of its table. */
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

/** The value that a filter gives a column of all rows; undefined where none does. */
export function fixedValue(
  { filters }: Resource,
  selection: Selection,
  column: string,
): KeyValue | undefined {
  const filter = filters.find((name) => FILTER_COLUMNS[name] === column)
  return filter === undefined ? undefined : selection[filter]
}

/** The columns of a page's rows that no filter fixes to one value. */
export function openColumns({ resource, selection }: Pick<Scan, 'resource' | 'selection'>): RowColumn[] {
  return resource.storage.columns.filter(({ name }) => fixedValue(resource, selection, name) === undefined)
}

/**
 * Whether a page of a resource is to be read as texts of its columns ({@link columnsStatement}), or as rows
 * ({@link rowsStatement}). For long rows the server would take memory from the system and give it back for each page; on
 * a cluster they are read as texts all the same, in a form that each of its machines answers whole. Any texts may have
 * several lines.
 */
export function isReadAsColumns({ storage }: Resource, isSpread: boolean): boolean {
  return storage.columns.every(({ type }) => type !== 'text' && (isSpread || type !== 'json'))
}

/**
 * As {@link pageStatement}, but each open column comes as one text of the values of all rows, in the order of the answer,
 * and the number of rows last; in the SQL of PostgreSQL. Values stand on a line each, and an empty line for null. Null
 * where there are no rows.
 */
function columnsText(scan: Scan, slots: Slots): string {
  const texts = openColumns(scan).map(({ name, type }, index) => {
    const text = type === 'hash' ? name : `coalesce(cast(${name} as text), '')`
    return `string_agg(${text}, E'\\n') as column_${index}`
  })
  const names = columnNames(scan.resource)
  return `select ${texts.join(', ')}, count(*) as rows from (${rowsText(scan, slots, 'bounded', names)}) as page`
}

const columnNames = ({ storage }: Resource) => storage.columns.map(({ name }) => name).join(', ')

/** The select of a scan's first rows, in its direction. */
function rowsText(scan: Scan, slots: Slots, merge: Merge, names: string): string {
  const runs = unrestrictedRuns(scan)
  const limited = limitOf(slots)
  const { table } = scan.resource.storage
  if (runs !== null) return mergeOf(scan, runs, slots, limited, merge, () => names)
  return `select ${names} from ${fromClause(scan.resource)} ${where(scan, slots)}
    order by ${orderBy(scan, table)} ${limited}`
}

/**
 * As {@link pageStatement}, but SQLite writes the rows as the API's edges: one row of one text after `headRoom` bytes,
 * with commas between the edges (null for none), and their number.
 *
 * @param reversed whether the edges are to stand the other way round than they are read
 */
export function edgesStatement(scan: Scan, limit: number, reversed: boolean, headRoom: number): Statement {
  const name = reversed ? 'edges reversed' : 'edges'
  return writtenStatement(scan, limit, { name, partsOf: edgeParts, separator: ',', reversed, headRoom })
}

/**
 * As {@link edgesStatement}, but each row is a line of an export: its node with the row's cursor as one more field.
 * Lines have no head room, and each ends with its line feed.
 */
export function linesStatement(scan: Scan, limit: number, cursors: LineCursors): Statement {
  const partsOf: PartsOf = (resource, known) =>
    mergedParts([
      ...nodeSql(resource.fields, known).slice(0, -1),
      { constant: () => ',"cursor":"' },
      ...(cursors === 'of all markets' ? [{ constant: marketCursorHead }] : []),
      ...resource.cursor.sql(known),
      { constant: () => '"}\n' },
    ])
  const name = `lines ${cursors}`
  return writtenStatement(scan, limit, { name, partsOf, separator: '', reversed: false, headRoom: 0 })
}

type PartsOf = (resource: Resource, known: Readonly<Record<string, string>>) => SqlPart[]

/** How SQLite writes rows: as the parts of each, with a text between two rows. */
type Written = { name: string; partsOf: PartsOf; separator: string; reversed: boolean; headRoom: number }

function writtenStatement(
  scan: Scan,
  limit: number,
  { name, partsOf, separator, reversed, headRoom }: Written,
): Statement {
  return templateOf(name, scan, (slots) => {
    const { resource, selection } = scan
    const { storage } = resource
    const runs = unrestrictedRuns(scan)
    const limited = limitOf(slots)
    const key = resource.key.map(({ column }) => column).join(', ')
    const run = storage.runs === undefined ? undefined : selection[storage.runs.filter]
    // All rows begin and end alike: what stands between two is put there once.
    const ends = partsOf(resource, {})
    const first = ends[0] as SqlConstant
    const last = ends.at(-1) as SqlConstant
    const withMiddle = (value: string | undefined) => {
      const known = value === undefined ? {} : { [FILTER_COLUMNS[storage.runs!.filter]]: value }
      const middle = partsOf(resource, known).slice(1, -1)
      return `${key}, concat(${middle.map((part) => slots.part(part)).join(', ')}) as middle`
    }
    const reading =
      runs === null
        ? `select ${withMiddle(run === undefined ? undefined : String(run))} from ${fromClause(resource)}
          ${where(scan, slots)} order by ${orderBy(scan, storage.table)} ${limited}`
        : mergeOf(scan, runs, slots, limited, 'lazy', withMiddle)
    const order = reversed ? `order by ${orderBy({ ...scan, descending: !scan.descending }, 'reading')}` : ''
    const between = slots.part({
      constant: (scope) => `${last.constant(scope)}${separator}${first.constant(scope)}`,
    })
    // As bytes: they go to the client as they are.
    return `select case count(*) when 0 then null else cast(
        concat('${' '.repeat(headRoom)}', ${slots.part(first)}, group_concat(middle, ${between}), ${slots.part(last)})
        as blob) end, count(*)
      from (select middle from (${reading}) as reading ${order}) as page`
  })({ scan, limit })
}

type SqlConstant = Extract<SqlPart, { constant: unknown }>

/** A row as an edge of the API's answer; the first part and the last one are the same for all rows. */
function edgeParts(resource: Resource, known: Readonly<Record<string, string>>): SqlPart[] {
  return mergedParts([
    { constant: () => '{"node":' },
    ...nodeSql(resource.fields, known),
    { constant: () => ',"cursor":"' },
    ...resource.cursor.sql(known),
    { constant: () => '"}' },
  ])
}

/** A bare placeholder would have SQLite prepare the statement anew for each value. */
function limitOf(slots: Slots): string {
  return `limit cast(${slots.add('limit', ({ limit }) => BigInt(limit))} as bigint)`
}

/** The first rows of all runs of a table, in the order of the key. */
function mergeOf(
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

/** The expression for whether a scan holds any row: true or 1. */
function existsText(scan: Scan, slots: Slots, role: Role): string {
  // The last run first: it is the longest, and nearly always the answer.
  const runs: readonly (string | undefined)[] = unrestrictedRuns(scan)?.toReversed() ?? [undefined]
  const from = fromClause(scan.resource)
  const parts = runs.map((run) => `exists (select 1 from ${from} ${where(scan, slots, { run, role })})`)
  return `(${parts.join(' or ')})`
}

/** The statement for whether a scan holds any row: one row, one column, true or 1. */
export function existsStatement(scan: Scan): Statement {
  return templateOf(
    'exists',
    scan,
    (slots) => `select ${existsText(scan, slots, 'scan')}`,
  )({ scan, limit: 0 })
}

/** The statement that gives the span of a selection's rows, where there is a table of them; null otherwise. */
export function spanStatement(
  { storage }: Resource,
  selection: Selection,
  market: bigint | null,
): Statement | null {
  const { span } = storage
  if (span === undefined || selection[span.filter] === undefined) return null
  return {
    text: `select cast(first_timestamp as text), cast(last_timestamp as text) from ${span.table}
      where market = $1 and ${FILTER_COLUMNS[span.filter]} = $2`,
    values: [market!, selection[span.filter]!],
  }
}

export const FIND_MARKET = 'select market from markets where market_id = $1'

/** The statement that gives the number of the market in scope; null where the resource's rows do not name it by that. */
export function marketStatement(resource: Resource, selection: Selection): Statement | null {
  if (resource.storage.scopeBy !== 'number') return null
  return { text: FIND_MARKET, values: [scopeOf(resource, selection)!] }
}

/** The values of the runs that a selection leaves open; null where there is one range alone. */
function unrestrictedRuns({ resource, selection }: Scan): readonly string[] | null {
  const { runs } = resource.storage
  return runs !== undefined && selection[runs.filter] === undefined ? runs.values : null
}

/** The conditions of a selection: its market in scope, its filters, and what is always asked for. */
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

function where(
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
function orderBy({ resource, descending }: Pick<Scan, 'resource' | 'descending'>, table?: string): string {
  const prefix = table === undefined ? '' : `${table}.`
  return resource.key.map(({ column }) => `${prefix}${column}${descending ? ' desc' : ''}`).join(', ')
}

/** What the values of a statement are taken from: a scan, and the one of what stands at or before its cursor. */
type Inputs = { scan: Scan; limit: number; atOrBefore?: Scan | null }

/** Which of two scans of the same selection a condition is of. */
type Role = 'scan' | 'atOrBefore'

/** Gives the value of a placeholder. */
type Slot = (inputs: Inputs) => KeyValue

/** What a page's statement on PostgreSQL reads. */
export type PageScans = {
  page: Scan
  /** What stands at or before the cursor; null without one. */
  atOrBefore: Scan | null
}

/** What a page's statement on PostgreSQL is to give: so many rows, and how the store stands, or not. */
type Asked = { limit: number; withState: boolean }

/**
 * The statement that answers a page on PostgreSQL by one row: the columns of its first `limit` rows and their number, then
 * the facts (see {@link factsText}), then how the store stands. One statement is one snapshot.
 */
export function columnsStatement({ page, atOrBefore }: PageScans, { limit, withState }: Asked): Statement {
  const passed = atOrBefore === null ? '' : shapeOf(atOrBefore)
  const template = templateOf(`columns ${withState} ${passed}`, page, (slots) => {
    const [state, from] = withState ? [', state.*', ` cross join (${READ_STATE}) as state`] : ['', '']
    return `select page.*, ${factsText(page, atOrBefore, slots)}${state}
      from (${columnsText(page, slots)}) as page${from}`
  })
  return template({ scan: page, limit, atOrBefore })
}

/**
 * The statement that answers a page on PostgreSQL by its first `limit` rows, in their order, each with nulls behind its
 * columns, and one row that has nothing but what stands there: the facts (see {@link factsText}), then how the store
 * stands. One statement is one snapshot.
 */
export function rowsStatement({ page, atOrBefore }: PageScans, { limit, withState }: Asked): Statement {
  const passed = atOrBefore === null ? '' : shapeOf(atOrBefore)
  const template = templateOf(`rows and facts ${withState} ${passed}`, page, (slots) => {
    const nulls = (count: number) => Array(count).fill('null').join(', ')
    const names = columnNames(page.resource)
    const [state, from] = withState ? [', state.*', `from (${READ_STATE}) as state`] : ['', '']
    return `select ${nulls(page.resource.storage.columns.length)}, ${factsText(page, atOrBefore, slots)}${state} ${from}
      union all
      select page.*, ${nulls(FACTS + (withState ? STATE_COLUMNS : 0))}
      from (${rowsText(page, slots, 'bounded', names)}) as page`
  })
  return template({ scan: page, limit, atOrBefore })
}

/** How many facts there are. */
const FACTS = 2

/** Whether anything stands at or before the cursor, and the id of the market whose number is given (null for none). */
function factsText(page: Scan, atOrBefore: Scan | null, slots: Slots): string {
  const isAnyAtOrBefore = atOrBefore === null ? 'false' : existsText(atOrBefore, slots, 'atOrBefore')
  const number = page.market === null ? null : slots.add('market', ({ scan }) => scan.market!)
  const marketId = number === null ? 'null' : `(select market_id from markets where market = ${number})`
  return `${isAnyAtOrBefore}, ${marketId}`
}

const templates = new Map<string, (inputs: Inputs) => Statement>()

/**
 * The statement for every scan of the same shape: its text is put together once.
 *
 * @param kind distinguishes it from the other statements of such a scan
 */
function templateOf(
  kind: string,
  scan: Scan,
  build: (slots: Slots) => string,
): (inputs: Inputs) => Statement {
  const shape = `${kind} ${shapeOf(scan)}`
  let template = templates.get(shape)
  if (template === undefined) {
    const slots = new Slots()
    const text = build(slots)
    const { list } = slots
    template = (inputs) => ({ text, values: list.map((slot) => slot(inputs)) })
    templates.set(shape, template)
  }
  return template
}

/** What distinguishes the statements of scans. */
function shapeOf({ resource, selection, lower, upper, descending }: Scan): string {
  const { marketId, partyId, source, seq } = selection
  return `${resource.name} ${descending} ${lower?.inclusive} ${upper?.inclusive} ${marketId === undefined} ${partyId === undefined} ${source} ${seq === undefined}`
}

/** Collects where the values of a statement come from, and numbers their placeholders. */
class Slots {
  readonly list: Slot[] = []
  readonly #placeholders = new Map<string, string>()

  /** The placeholder of a value, which is the same wherever a value of that name stands. */
  add(name: string, slot: Slot): string {
    let placeholder = this.#placeholders.get(name)
    if (placeholder === undefined) {
      placeholder = `$${this.list.push(slot)}`
      this.#placeholders.set(name, placeholder)
    }
    return placeholder
  }

  /** The SQL of a part of a row's text: a text that depends on the market in scope is bound, once for all uses. */
  part(part: SqlPart): string {
    if ('sql' in part) return part.sql
    const [one, other] = [part.constant('a'), part.constant('b')]
    if (one === other) return sqlText(one)
    const name = `text ${one}`
    return `cast(${this.add(name, ({ scan }) => part.constant(scan.selection.marketId!))} as text)`
  }
}

import { conditionOf, FILTERS, fixingFilter } from '../../model/filters.ts'
import { type FilterName, isOfAllMarkets, type Resource } from '../../model/resource.ts'
import type { Statement } from '../queries-protocol.ts'
import { textOf } from '../statements.ts'
import type { Scan } from './scan.ts'
import { type Placeholders, type ScanRole, templateOf } from './statement-template.ts'

/* The SQL of a scan, for both databases. */

/**
 * How a database is told which index to read for a scan. It never changes a result. SQLite, for example, reads a party's
 * payments by `unlikely(party_id = $2)`, and PostgreSQL by `party_id = $2`.
 */
type Hints = {
  /** Whether each part has the limit. Without it a part would be read and sorted as a whole. */
  limitsParts: boolean
  /** A condition that few rows match, or hardly any (`isRare`): the planner should read the index of its column. */
  matchedByFew: (condition: string, isRare: boolean) => string
  /** A condition that most rows match: the planner should read in the order of the list. */
  matchedByMost: (condition: string) => string
}

export const POSTGRES_HINTS: Hints = {
  limitsParts: true,
  matchedByFew: (condition) => condition,
  matchedByMost: (condition) => condition,
}

/**
 * SQLite merges sorted parts while it reads them. Without the hints it prefers the table's key to a column's index, and
 * reads a range of a column of the key whole, to sort it.
 */
export const SQLITE_HINTS: Hints = {
  limitsParts: false,
  matchedByFew: (condition, isRare) =>
    isRare ? `likelihood(${condition}, 0.001)` : `unlikely(${condition})`,
  matchedByMost: (condition) => `likely(${condition})`,
}

/**
 * For rows in the order of their positions, by the index of these: SQLite would read all rows of a market by the table's key, but
 * sees no column in what is negated twice. PostgreSQL knows how many rows match, and takes it for the condition itself.
 */
export const POSITION_HINTS: Hints = {
  ...POSTGRES_HINTS,
  matchedByFew: (condition, isRare) => (isRare ? condition : `not not (${condition})`),
}

/** The columns of a row as they are selected: 64-bit integers and digits as text. */
export function columnList({ storage }: Resource): string {
  return storage.columns
    .map(({ name, type }) => (type === 'int64' || type === 'digits' ? textOf(name) : name))
    .join(', ')
}

/** The columns of a row without casts. */
export const columnNames = ({ storage }: Resource) => storage.columns.map(({ name }) => name).join(', ')

/** The text after `from` that gives a resource's rows the name of its table. */
export function fromClause({ storage }: Resource): string {
  return storage.from === undefined ? storage.table : `(${storage.from}) as ${storage.table}`
}

/**
 * The statement that reads the first `limit` rows of a scan, in its direction: one range of the table's key, or several
 * such ranges that are merged, one for each of its parts.
 */
export function pageStatement(scan: Scan, limit: number, hints: Hints): Statement {
  return templateOf(`rows ${hints.limitsParts}`, scan, (placeholders) => {
    const { resource } = scan
    const rows = rowsText(scan, placeholders, hints, () => columnNames(resource))
    return `select ${columnList(resource)} from (${rows}) as page
      order by ${orderBy(scan, 'page')}`
  })({ scan, limit })
}

/** The select of a scan's first rows, in its direction. It merges the scan's parts. */
export function rowsText(
  scan: Scan,
  placeholders: Placeholders,
  hints: Hints,
  columnsOf: (part: ScanPart) => string,
): string {
  const from = fromClause(scan.resource)
  const limited = limitOf(placeholders)
  const inOrder = `order by ${orderBy(scan, scan.resource.storage.table)} ${limited}`
  const parts = scanParts(scan).map(
    (part) => `select ${columnsOf(part)} from ${from} ${where(scan, placeholders, part, hints)}`,
  )
  if (parts.length === 1) return `${parts[0]} ${inOrder}`
  const merged = hints.limitsParts ? parts.map((part) => `(${part} ${inOrder})`) : parts
  return `${merged.join('\nunion all\n')} order by ${orderBy(scan)} ${limited}`
}

/** With a bare placeholder, SQLite would prepare the statement anew for each value. */
function limitOf(placeholders: Placeholders): string {
  return `limit cast(${placeholders.add('limit', ({ limit }) => BigInt(limit))} as bigint)`
}

/** The expression for whether a scan has any row: true or 1. */
export function existsText(scan: Scan, placeholders: Placeholders, role: ScanRole, hints: Hints): string {
  // The last series comes first: it is the longest, and nearly always has a row.
  const from = fromClause(scan.resource)
  const parts = scanParts(scan)
    .toReversed()
    .map((part) => `exists (select 1 from ${from} ${where(scan, placeholders, part, hints, role)})`)
  return `(${parts.join(' or ')})`
}

/**
 * A part of a scan that an index returns in the order of the key: one series, and for each filter with several columns one
 * of these. No row is in two parts. A page of a market's data points of every source, for example, merges the parts
 * `{ series: '0' }`, `{ series: '1' }` and `{ series: '2' }`; most pages have a single part.
 */
export type ScanPart = {
  /** The value of the column that distinguishes series, if the resource has series. */
  series?: string
  /** For each filter, by its name, the first of its columns that matches. */
  matching: Readonly<Record<string, number>>
}

function scanParts({ resource: { storage, filters }, selection }: Scan): ScanPart[] {
  const { series } = storage
  const selected = series && selection[series.filter]
  let parts = [ALL_ROWS]
  if (series !== undefined) {
    const values = selected === undefined ? series.values : [String(selected)]
    parts = values.map((value) => ({ series: value, matching: {} }))
  }
  for (const { name, columns } of filters) {
    if (columns.length === 1 || selection[name] === undefined) continue
    parts = parts.flatMap((part) =>
      columns.map((_, at) => ({ ...part, matching: { ...part.matching, [name]: at } })),
    )
  }
  return parts
}

/** All rows of a scan as one part: each condition names all columns of its filter. */
const ALL_ROWS: ScanPart = { matching: {} }

/** The conditions of a selection's filters, for one of its parts or for all rows. */
export function filterConditions(
  { resource, selection }: Pick<Scan, 'resource' | 'selection'>,
  placeholderOf: (filter: FilterName) => string,
  { series: ofPart, matching }: ScanPart = ALL_ROWS,
  { matchedByFew, matchedByMost }: Hints = POSTGRES_HINTS,
): string[] {
  const { series } = resource.storage
  const conditions: string[] = []
  // Of two indexes whose columns few rows match, SQLite may read either.
  const hasRare = resource.filters.some(({ name, isRare }) => isRare && selection[name] !== undefined)
  for (const filter of resource.filters) {
    const { name, columns, operator, isRare = false } = filter
    if (selection[name] === undefined || (name === series?.filter && ofPart !== undefined)) continue
    const placeholder = placeholderOf(name)
    const isOfValues = operator === '=' || operator === 'in'
    const hinted = isOfValues && (isRare || !hasRare) ? matchedByFew : matchedByMost
    const at = matching[name]
    if (at === undefined) conditions.push(hinted(conditionOf(filter, placeholder), isRare))
    else {
      const compared = columns.slice(0, at + 1).map((column) => `${column} ${operator} ${placeholder}`)
      conditions.push(
        hinted(compared.pop()!, isRare),
        ...compared.map((condition) => `(${condition}) is not true`),
      )
    }
  }
  if (selection.greatest !== undefined) {
    const { greatest } = selection
    conditions.push(
      matchedByFew(`${greatest} = (select max(${greatest}) from ${resource.storage.table})`, false),
    )
  }
  // A literal tells the planner that there is one value.
  if (ofPart !== undefined) conditions.push(`${FILTERS[series!.filter].columns[0]} = ${ofPart}`)
  return conditions
}

/** A value of a selection that conditions compare. */
type ComparedValue = 'market' | FilterName | 'from' | 'to'

/** The conditions of a selection: its market, its filters, a range that rows overlap, and the resource's fixed condition. */
export function selectionConditions(
  selected: Pick<Scan, 'resource' | 'selection' | 'market'>,
  placeholderOf: (value: ComparedValue) => string,
  part?: ScanPart,
  hints?: Hints,
): string[] {
  const { resource, selection, market } = selected
  const { storage, scope } = resource
  const conditions: string[] = []
  if (scope !== null && !isOfAllMarkets(resource, selection)) {
    const isNumbered = storage.marketColumn === 'market'
    if (isNumbered && market === null) throw new TypeError('the number of the market is not known')
    conditions.push(`${storage.marketColumn} = ${placeholderOf(isNumbered ? 'market' : 'marketId')}`)
  }
  if (storage.condition !== undefined) conditions.push(storage.condition)
  conditions.push(...overlapConditions(resource, selection, placeholderOf))
  return [...conditions, ...filterConditions(selected, placeholderOf, part, hints)]
}

/** The conditions for rows that overlap a range of times. */
function overlapConditions(
  { overlapRange }: Resource,
  { from, to }: Scan['selection'],
  placeholderOf: (value: 'from' | 'to') => string,
): string[] {
  if (overlapRange === undefined) return []
  const { start, end } = overlapRange
  return [
    ...(from === undefined ? [] : [`(${end} is null or ${end} > ${placeholderOf('from')})`]),
    ...(to === undefined ? [] : [`${start} < ${placeholderOf('to')}`]),
  ]
}

/** The `where` clause of a part of a scan; empty if it selects all rows. */
function where(
  scan: Scan,
  placeholders: Placeholders,
  part: ScanPart,
  hints: Hints,
  role: ScanRole = 'scan',
): string {
  const placeholderOf = (name: ComparedValue) =>
    placeholders.add(name, ({ scan }) => (name === 'market' ? scan.market! : scan.selection[name]!))
  const conditions = [
    ...selectionConditions(scan, placeholderOf, part, hints),
    ...endConditions(scan, placeholders, role),
  ]
  return conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`
}

/** The conditions that limit the key to the range between the ends of a scan. */
function endConditions(scan: Scan, placeholders: Placeholders, role: ScanRole): string[] {
  const { resource, selection } = scan
  // An id that a filter fixes is the same as in the cursor, and is not compared.
  const compared = resource.key.flatMap(({ column, type }, index) =>
    type === 'id' && fixingFilter(resource, selection, column) !== undefined ? [] : [{ column, index }],
  )
  const columns = compared.map(({ column }) => column).join(', ')
  const condition = (end: 'lower' | 'upper', operator: '>' | '<'): string[] => {
    const bound = scan[end]
    if (bound === null) return []
    // All rows have the key of the end.
    if (compared.length === 0) return bound.inclusive ? [] : ['1 = 0']
    const values = compared.map(({ index }) =>
      placeholders.add(`${role} ${end} ${index}`, (inputs) => inputs[role]![end]!.key[index]!),
    )
    return [`(${columns}) ${operator}${bound.inclusive ? '=' : ''} (${values.join(', ')})`]
  }
  return [...condition('lower', '>'), ...condition('upper', '<')]
}

/** Each column has the table's name before it. A bare name could mean an output column, which has another type. */
export function orderBy(
  { resource, descending }: Pick<Scan, 'resource' | 'descending'>,
  table?: string,
): string {
  const prefix = table === undefined ? '' : `${table}.`
  return resource.key.map(({ column }) => `${prefix}${column}${descending ? ' desc' : ''}`).join(', ')
}

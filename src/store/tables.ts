import { KEPT } from '../resources/kept.ts'
import { integer, type MergeRule, place, type Table, text } from '../resources/table.ts'

export type { Column, ColumnType, MergeRule, Table } from '../resources/table.ts'

/**
 * Where the row of a data point has its cells. Points are many: their rows are read by these numbers, since taking a row
 * apart by name leaves something to collect for each.
 */
export const POINT = {
  ...{ market: 0, source: 1, timestamp: 2, seq: 3 },
  ...{ price: 4, twap: 5, height: 6, eventIndex: 7 },
} as const

/** A value of any column, as text; null where there is none. */
export type Cell = string | null

/** Every table that holds what a store holds; the position in the stream is the last. */
export const TABLES: readonly Table[] = [
  {
    name: 'markets',
    counted: null,
    columns: [integer('market'), text('market_id')],
    keyLength: 1,
    spread: 'everywhere',
  },
  ...KEPT.flatMap(({ tables }) => tables),
  {
    name: 'kept_from',
    counted: null,
    columns: [text('resource'), integer('missing_from'), integer('height')],
    keyLength: 2,
  },
  {
    name: 'pruned',
    counted: null,
    columns: [integer('id'), integer('before_timestamp'), integer('before_height')],
    keyLength: 1,
  },
  {
    name: 'gaps',
    counted: null,
    columns: [integer('from_height'), integer('to_height'), text('kind')],
    keyLength: 1,
  },
  { name: 'imported', counted: null, columns: [integer('from_height'), integer('to_height')], keyLength: 1 },
  {
    name: 'stream',
    counted: null,
    columns: [
      ...[integer('id'), text('chain_id'), integer('first_height'), integer('height')],
      ...[integer('timestamp'), integer('began_height'), text('block_one_hashes')],
    ],
    keyLength: 1,
  },
]

const BY_NAME = new Map(TABLES.map((table) => [table.name, table]))

/**
 * The table of a name.
 *
 * @throws {TypeError} where there is none.
 */
export function tableOf(name: string): Table {
  const table = BY_NAME.get(name)
  if (table === undefined) throw new TypeError(`store/tables.ts describes no table ${name}`)
  return table
}

/** Where the rows of a table name their market, by number or id; -1 if they name none. */
export function marketColumn({ columns }: Table): number {
  return columns.findIndex(({ name }) => name === 'market' || name === 'market_id')
}

/** Whether the rows of a table come from events, whose places they keep. */
export function keepsPlaces({ columns }: Table): boolean {
  return columns.some(({ name }) => name === 'event_index')
}

/**
 * `on conflict ... do update` of a table: which values of a row that is there stand, column by column.
 *
 * @param isImported the expression for whether a height is imported, where rows of events stand before those of imported
 * blocks, whatever their places
 */
export function onConflict(table: Table, isImported: ((height: string) => string) | null = null): string {
  const { name, columns, keyLength } = table
  const key = columns.slice(0, keyLength).map((column) => column.name)
  const others = columns.slice(keyLength)
  const head = `on conflict (${key.join(', ')}) do update set`
  const isNewer = `(excluded.height, excluded.event_index) >= (${name}.height, ${name}.event_index)`
  const all = others.map((column) => `${column.name} = excluded.${column.name}`).join(', ')
  const hasPlaceInKey = key.includes('height')
  if (hasPlaceInKey || !(keepsPlaces(table) || others.some(({ merge }) => merge !== 'newer')))
    return `${head} ${all}`
  if (table.onlyIfDifferent) {
    const values = others.filter((column) => !place.some((known) => known.name === column.name))
    const differs = values.map((column) => `${name}.${column.name} is distinct from excluded.${column.name}`)
    // A row that an import has brought from before its blocks is at no place that anybody follows.
    return `${head} ${all} where ${differs.join(' or ')} or ${name}.height = 0`
  }
  if (others.every(({ merge }) => merge === 'newer')) {
    if (isImported === null) return `${head} ${all} where ${isNewer}`
    // A row of a block that is not known is an import's, too.
    const [given, known] = ['excluded', name].map(
      (row) => `(${row}.height = 0 or ${isImported(`${row}.height`)})`,
    )
    return `${head} ${all} where case when ${given} = ${known} then ${isNewer} else ${known} end`
  }
  // A start of height 0 is from an event that is not known, and later than every other one.
  const isEarlier = `(${name}.start_height = 0 or (excluded.start_height > 0
    and (excluded.start_height, excluded.start_index) < (${name}.start_height, ${name}.start_index)))`
  const rules: Record<MergeRule, (given: string, known: string) => string> = {
    newer: (given, known) => `case when ${isNewer} then ${given} else ${known} end`,
    earliest: (given, known) => `case when ${isEarlier} then ${given} else ${known} end`,
    least: (given, known) => `case when ${given} < ${known} then ${given} else ${known} end`,
    greatest: (given, known) => `case when ${given} > ${known} then ${given} else ${known} end`,
    sum: (given, known) => `${known} + ${given}`,
    given: (given) => given,
  }
  const sets = others.map(
    (column) =>
      `${column.name} = ${rules[column.merge](`excluded.${column.name}`, `${name}.${column.name}`)}`,
  )
  return `${head} ${sets.join(', ')}`
}

/** Rows of a table whose keys lie after `after` and not after `upTo`; null: from the first, to the last. */
export type RowRange = { after: readonly Cell[] | null; upTo: readonly Cell[] | null }

/** The tables of a store as they are, for moving and comparing stores. Reading is one snapshot. */
export type TableReader = {
  /** Up to `limit` rows of a range, in the order of the key. */
  read(table: Table, range: RowRange, limit: number): Promise<Cell[][]>
  close(): Promise<void>
}

export type TableWriter = TableReader & {
  /** Puts rows, all of the range, in the place of what the range holds; all of it, or nothing. */
  replace(table: Table, range: RowRange, rows: readonly (readonly Cell[])[]): Promise<void>
}

/** The key of a row. */
export function keyOf({ keyLength }: Table, row: readonly Cell[]): readonly Cell[] {
  return row.slice(0, keyLength)
}

/** `where` and `order by` of a range: the key as a row value, `$1`, `$2`, ... its ends in turn. */
export function rangeClauses({ columns, keyLength }: Table, { after, upTo }: RowRange) {
  const key = columns.slice(0, keyLength).map(({ name }) => name)
  let position = 0
  const compare = (operator: string) =>
    `(${key.join(', ')}) ${operator} (${key.map(() => `$${++position}`).join(', ')})`
  const conditions = [...(after === null ? [] : [compare('>')]), ...(upTo === null ? [] : [compare('<=')])]
  return {
    where: conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`,
    order: `order by ${key.join(', ')}`,
    values: [...(after ?? []), ...(upTo ?? [])],
    next: `$${position + 1}`,
  }
}

import { earlierStartInSql, notBeforeInSql } from '../../domain/event-position.ts'
import { listed, wordsOfName } from '../../domain/words.ts'
import type { KeyValue } from '../../model/resource.ts'
import {
  anyText,
  defineTable,
  integer,
  keyText,
  type MergeRule,
  marketId,
  type NamedColumn,
  natural,
  oneOf,
  orNull,
  type PruneColumns,
  type Table,
  text,
} from '../../model/table.ts'
import { STORED } from '../../resources/stored.ts'

export type { ColumnType, MergeRule, NamedColumn, Table } from '../../model/table.ts'

/** A value of any column, as text; null if the column is null. */
export type TextCell = string | null

/** All tables with stored data; the table of the store head is the last one. */
export const TABLES: readonly Table[] = [
  defineTable({
    name: 'markets',
    columns: { market: integer(), market_id: marketId() },
    key: ['market'],
    distribution: 'everywhere',
  }),
  ...STORED.flatMap(({ tables }) => tables),
  defineTable({
    name: 'since',
    columns: { resource: text(), height: natural(), start_timestamp: orNull(integer()) },
    key: ['resource'],
    distribution: 'nowhere',
  }),
  defineTable({
    name: 'old_positions',
    columns: { resource: text(), height: natural() },
    key: ['resource'],
    distribution: 'nowhere',
  }),
  defineTable({
    name: 'pruned',
    columns: { id: integer(), before_timestamp: orNull(integer()), before_height: orNull(integer()) },
    key: ['id'],
    distribution: 'nowhere',
  }),
  defineTable({
    name: 'gaps',
    columns: {
      from_height: integer(),
      to_height: integer(),
      kind: oneOf('missing', 'incomplete'),
      start_timestamp: orNull(integer()),
      end_timestamp: orNull(integer()),
    },
    key: ['from_height'],
    distribution: 'nowhere',
  }),
  defineTable({
    name: 'imported',
    columns: { from_height: integer(), to_height: integer(), lacks: anyText() },
    key: ['from_height'],
    distribution: 'nowhere',
  }),
  defineTable({
    name: 'accepted_gaps',
    columns: { from_height: integer(), to_height: integer('greatest') },
    key: ['from_height'],
    distribution: 'nowhere',
  }),
  defineTable({
    name: 'stream',
    columns: {
      id: integer(),
      chain_id: keyText(),
      first_height: integer(),
      height: natural(),
      timestamp: integer(),
      began_height: integer(),
      block_one_hashes: orNull(anyText()),
    },
    key: ['id'],
    distribution: 'nowhere',
  }),
]

/** A table with rows that are pruned. */
export type PrunedTable = Table & { pruned: PruneColumns; counted: string }

/**
 * The tables that are pruned.
 *
 * @throws {TypeError} for a table whose deleted rows no report would count.
 */
export const PRUNED_TABLES: readonly PrunedTable[] = TABLES.filter((table): table is PrunedTable => {
  if (table.pruned !== undefined && table.counted === undefined)
    throw new TypeError(`${table.name}: its rows are pruned, and no report counts them`)
  return table.pruned !== undefined
})

/** The kinds of rows that are pruned, in words. */
export const PRUNED_ROWS = listed(PRUNED_TABLES.map(({ counted }) => wordsOfName(counted)))

const TABLES_BY_NAME = new Map(TABLES.map((table) => [table.name, table]))

/**
 * The table with a name.
 *
 * @throws {TypeError} if there is none.
 */
export function tableOf(name: string): Table {
  const table = TABLES_BY_NAME.get(name)
  if (table === undefined) throw new TypeError(`core/store/schema/tables.ts describes no table ${name}`)
  return table
}

/** The column in which the rows of a table name their market, by number or id; undefined if they do not. */
export function marketColumn({ columns }: Table): 'market' | 'market_id' | undefined {
  const found = columns.find(({ name }) => name === 'market' || name === 'market_id')
  return found?.name as 'market' | 'market_id' | undefined
}

/** Whether the rows of a table are from events, and have their positions. */
export function hasPositions({ columns }: Table): boolean {
  return columns.some(({ name }) => name === 'event_index')
}

/** The statement that inserts a row of a table, with a placeholder for each column. */
export function insertText({ name, columns }: Table): string {
  const names = columns.map((column) => column.name).join(', ')
  return `insert into ${name} (${names}) values (${columns.map((_, index) => `$${index + 1}`).join(', ')})`
}

/** The columns of a table that are its key, and the others. */
function splitColumns({ columns, keyLength }: Table): { key: NamedColumn[]; others: NamedColumn[] } {
  return { key: columns.slice(0, keyLength), others: columns.slice(keyLength) }
}

/**
 * What happens to a stored row when another one with the same key is written: it is overwritten always, or only by a row
 * from the same or a later event, or by the rule of `fullIf` (see {@link Table}), or each column has a rule of its own.
 */
type ConflictRule = 'always' | 'if newer' | 'by fullness' | 'by column'

function conflictRuleOf(table: Table): ConflictRule {
  const { key, others } = splitColumns(table)
  // Rows with the same position in their keys are from the same event.
  if (key.some(({ name }) => name === 'height')) return 'always'
  if (others.some(({ merge }) => merge !== 'newer')) return 'by column'
  if (!hasPositions(table)) return 'always'
  return table.fullIf === undefined ? 'if newer' : 'by fullness'
}

/**
 * The clause `on conflict ... do update` of a table. In SQL, `excluded` is the row that is written, and the table's name is
 * the stored row. `mergeRows` (write/merge-rows.ts) does the same with two rows of one batch.
 */
export function onConflict(table: Table): string {
  const { key, others } = splitColumns(table)
  const head = `on conflict (${key.map(({ name }) => name).join(', ')}) do update set`
  const overwritten = others.map(({ name }) => `${name} = excluded.${name}`).join(', ')
  const rule = conflictRuleOf(table)
  switch (rule) {
    case 'always':
      return `${head} ${overwritten}`
    case 'if newer':
      return `${head} ${overwritten} where ${notBeforeInSql('excluded', table.name)}`
    case 'by fullness':
      return `${head} ${overwritten} where ${isFullerInSql(table.name, table.fullIf!)}`
    case 'by column':
      return `${head} ${others.map((column) => mergedColumn(table.name, column)).join(', ')}`
    default:
      return rule satisfies never
  }
}

/** The assignment to a column by its own rule. */
function mergedColumn(table: string, { name, merge }: NamedColumn): string {
  const [written, stored] = [`excluded.${name}`, `${table}.${name}`]
  const writtenIf = (condition: string) => `case when ${condition} then ${written} else ${stored} end`
  const values: Record<MergeRule, string> = {
    newer: writtenIf(notBeforeInSql('excluded', table)),
    earliest: writtenIf(earlierStartInSql('excluded', table)),
    least: writtenIf(`${written} < ${stored}`),
    greatest: writtenIf(`${written} > ${stored}`),
    sum: `${stored} + ${written}`,
    given: written,
  }
  return `${name} = ${values[merge]}`
}

/**
 * Whether the written row replaces the stored one by the rule of `fullIf`: of two full rows the newer one counts, a full row
 * replaces one that is not, and of two that are not full the earlier one counts.
 */
function isFullerInSql(table: string, fullIf: string): string {
  const [written, stored] = [`excluded.${fullIf}`, `${table}.${fullIf}`]
  return `case
    when ${written} and ${stored} then ${notBeforeInSql('excluded', table)}
    when ${written} or ${stored} then ${written}
    else ${notBeforeInSql(table, 'excluded')}
  end`
}

/**
 * The rows of a table whose keys are after `after`, and not after `upTo`; null for no limit. Either may be the beginning of
 * a key: all rows whose keys begin with it are then in the range.
 */
export type RowRange = { after: readonly TextCell[] | null; upTo: readonly TextCell[] | null }

/** The rows whose keys begin with these values. */
export const rowsUnder = (...key: TextCell[]): RowRange => ({ after: key, upTo: key })

/** The key of a row. */
export function keyOfRow({ keyLength }: Table, row: readonly TextCell[]): readonly TextCell[] {
  return row.slice(0, keyLength)
}

/** The parts of a statement that reads a range of rows in key order. */
type RangeClauses = {
  /** Empty if the range has no limit. */
  where: string
  order: string
  /** The values of `where`. */
  values: KeyValue[]
  /** The first placeholder that `where` does not use, for example `$3`. */
  next: string
}

/**
 * The clauses `where` and `order by` of a range. The key is a row value, `$1`, `$2`, ... are the values of its ends in this
 * order, with integers bound as such.
 */
export function rangeClauses({ columns, keyLength }: Table, { after, upTo }: RowRange): RangeClauses {
  const key = columns.slice(0, keyLength)
  const names = key.map(({ name }) => name)
  const values: KeyValue[] = []
  const compare = (operator: string, ends: readonly TextCell[]) => {
    const positions = ends.map(
      (end, index) => `$${values.push(key[index]!.type === 'integer' ? BigInt(end!) : end!)}`,
    )
    return `(${names.slice(0, ends.length).join(', ')}) ${operator} (${positions.join(', ')})`
  }
  const conditions = [
    ...(after === null ? [] : [compare(after.length < keyLength ? '>=' : '>', after)]),
    ...(upTo === null ? [] : [compare('<=', upTo)]),
  ]
  return {
    where: conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`,
    order: `order by ${names.join(', ')}`,
    values,
    next: `$${values.length + 1}`,
  }
}

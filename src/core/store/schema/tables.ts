import { listed, wordsOfName } from '../../domain/words.ts'
import { anyText, integer, keyText, marketId, natural, oneOf, orNull, text } from '../../model/columns.ts'
import { defineTable, type PruneColumns, type Table } from '../../model/table.ts'
import { STORED } from '../../resources/stored.ts'

export type { NamedColumn, Table } from '../../model/table.ts'

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
    columns: {
      id: integer(),
      before_timestamp: orNull(integer()),
      before_height: orNull(integer()),
      /** The first day whose payments are added up in `funding_daily_sums`: pruning has reached those before. */
      sums_from_day: orNull(integer()),
    },
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

/** Whether the rows of a table are from events, and have their positions. */
export function hasPositions({ columns }: Table): boolean {
  return columns.some(({ name }) => name === 'event_index')
}

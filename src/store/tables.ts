/** How a column's values are written as text: integers in decimal, booleans as 0 and 1. */
export type ColumnType = 'integer' | 'text' | 'boolean'

export type Column = { name: string; type: ColumnType }

/** A table as far as every store has it; its key is its first columns. */
export type Table = { name: string; columns: readonly Column[]; keyLength: number }

/** A value of any column, as text; null where there is none. */
export type Cell = string | null

const integer = (name: string): Column => ({ name, type: 'integer' })
const text = (name: string): Column => ({ name, type: 'text' })
const boolean = (name: string): Column => ({ name, type: 'boolean' })
const place = [integer('height'), integer('event_index')]

/** Every table that holds what a store holds; the position in the stream is the last. */
export const TABLES: readonly Table[] = [
  {
    name: 'checkpoints',
    columns: [integer('at_block'), text('hash'), text('block_hash'), integer('block_timestamp'), ...place],
    keyLength: 2,
  },
  { name: 'markets', columns: [integer('market'), text('market_id')], keyLength: 1 },
  {
    name: 'funding_period_data_points',
    columns: [
      ...[integer('market'), integer('source'), integer('timestamp'), integer('seq')],
      ...[text('price'), text('twap'), ...place],
    ],
    keyLength: 4,
  },
  {
    name: 'funding_period_spans',
    columns: [
      ...[integer('market'), integer('seq'), integer('first_timestamp'), integer('last_timestamp')],
      integer('points'),
    ],
    keyLength: 2,
  },
  {
    name: 'funding_period_block_spans',
    columns: [integer('market'), integer('blocks'), integer('first_timestamp'), integer('last_timestamp')],
    keyLength: 2,
  },
  {
    name: 'funding_periods',
    columns: [
      ...[text('market_id'), integer('seq'), integer('start_timestamp'), integer('end_timestamp')],
      ...[
        text('funding_payment'),
        text('funding_rate'),
        text('internal_twap'),
        text('external_twap'),
        ...place,
      ],
    ],
    keyLength: 2,
  },
  {
    name: 'auctions',
    columns: [
      ...[text('market_id'), ...place, boolean('opening_auction'), boolean('leave')],
      ...[integer('start_timestamp'), integer('end_timestamp')],
    ],
    keyLength: 3,
  },
  {
    name: 'liquidity_provisions',
    columns: [text('provision_id'), text('market_id'), text('party_id'), integer('status'), ...place],
    keyLength: 1,
  },
  { name: 'liquidity_provider_lists', columns: [text('market_id'), ...place], keyLength: 1 },
  {
    name: 'liquidity_providers',
    columns: [text('market_id'), text('party_id'), text('fee_share'), text('sla')],
    keyLength: 2,
  },
  {
    name: 'pruned',
    columns: [integer('id'), integer('before_timestamp'), integer('before_height')],
    keyLength: 1,
  },
  { name: 'gaps', columns: [integer('from_height'), integer('to_height'), text('kind')], keyLength: 1 },
  {
    name: 'stream',
    columns: [
      integer('id'),
      text('chain_id'),
      integer('first_height'),
      integer('height'),
      integer('timestamp'),
      integer('began_height'),
      text('block_one_hashes'),
    ],
    keyLength: 1,
  },
]

/** Rows of a table whose keys lie behind `after` and not behind `upTo`; null: from the first, to the last. */
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

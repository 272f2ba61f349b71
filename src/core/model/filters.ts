import { MAX_INT64 } from '../domain/integers.ts'
import type { KeyValue } from './row.ts'
import type { Table } from './table.ts'

/** The type of a filter's value, named as the type of a parameter. A `uint64` may exceed what columns can store. */
type ValueOf = {
  marketId: string
  assetId: string
  partyId: string
  /** Several parties, as {@link idSet} writes them. */
  partyIds: string
  /** A party that trades, which the network's own party does not. */
  traderId: string
  source: bigint
  uint64: bigint
}

type FilterForm = {
  /** A row matches if one of these columns does. In an index, each precedes the key, unless a market has few rows. */
  columns: readonly string[]
  /** How a column compares with the value. `in`: it is one of the value's ids. */
  operator: '=' | '>=' | '<=' | 'in'
  /** Whether it matches far fewer rows than a market has. If several filters are given, this one's index is read. */
  isRare?: true
  type: keyof ValueOf
  /** Its effect, as a sentence for people. */
  meaning: string
  /** The name of its command-line option, in camel case. */
  option: string
}

/**
 * Every filter. Parameters, OpenAPI, SQL, streams, the client and the command line follow from this. A resource may replace
 * a filter's columns, type or meaning.
 */
export const FILTERS = {
  marketId: {
    columns: ['market_id'],
    operator: '=',
    type: 'marketId',
    option: 'market',
    meaning: 'Only rows of this market.',
  },
  partyId: {
    columns: ['party_id'],
    operator: '=',
    isRare: true,
    type: 'partyId',
    option: 'party',
    meaning: 'Only rows of this party.',
  },
  assetId: {
    columns: ['asset_id'],
    operator: '=',
    type: 'assetId',
    option: 'asset',
    meaning: 'Only rows of this asset.',
  },
  partyIds: {
    columns: ['party_id'],
    operator: 'in',
    isRare: true,
    type: 'partyIds',
    option: 'parties',
    meaning: 'Only rows of these parties.',
  },
  source: {
    columns: ['source'],
    operator: '=',
    type: 'source',
    option: 'source',
    meaning: 'Only rows of this source: SOURCE_EXTERNAL or SOURCE_INTERNAL; SOURCE_UNSPECIFIED means all.',
  },
  seq: {
    columns: ['seq'],
    operator: '=',
    type: 'uint64',
    option: 'seq',
    meaning: 'Only rows of this funding period.',
  },
  epochSeq: {
    columns: ['epoch'],
    operator: '=',
    type: 'uint64',
    option: 'epoch',
    meaning: 'Only rows of this epoch.',
  },
  epochFrom: {
    columns: ['epoch'],
    operator: '>=',
    type: 'uint64',
    option: 'epochFrom',
    meaning: 'Only rows of this epoch and later ones.',
  },
  epochTo: {
    columns: ['epoch'],
    operator: '<=',
    type: 'uint64',
    option: 'epochTo',
    meaning: 'Only rows of this epoch and earlier ones.',
  },
} as const satisfies Record<string, FilterForm>

export type FilterName = keyof typeof FILTERS

/** A filter of a resource. */
export type Filter = FilterForm & {
  name: FilterName
  /**
   * The table with the filter's columns, if it is not that of the rows. Its key is that of a row, followed by one more column,
   * and a row matches if one of its rows there does.
   */
  through?: Table
}

/** A filter in a resource's description. */
export type DescribedFilter =
  | FilterName
  | ({ name: FilterName } & Partial<Pick<Filter, 'columns' | 'type' | 'meaning' | 'through'>>)

/** The requested rows: values of filters, and a range of times. */
export type Selection = { -readonly [Name in FilterName]?: ValueOf[(typeof FILTERS)[Name]['type']] } & {
  /** The first key column, from (inclusive) and to (exclusive). */
  from?: bigint
  to?: bigint
  /** A column. Only the rows with the greatest value that any row of the resource has in it. */
  greatest?: string
}

/** Several ids as one value, which both databases read with `json_each`: a JSON object with the ids as keys. */
export function idSet(ids: readonly string[]): string {
  return JSON.stringify(Object.fromEntries([...new Set(ids)].sort().map((id) => [id, 1])))
}

/** The ids in a value of {@link idSet}. */
export function idsIn(value: string): string[] {
  return Object.keys(JSON.parse(value) as object)
}

/** A filter with what a description replaces. */
export function filterOf(described: DescribedFilter): Filter {
  const changes = typeof described === 'string' ? { name: described } : described
  return { ...FILTERS[changes.name], ...changes }
}

/** The condition for a filter, with the placeholder of its value. */
export function conditionOf({ columns, operator, through }: Filter, placeholder: string): string {
  const compared = columns.map((column) =>
    operator === 'in'
      ? `${column} in (select key from json_each(${placeholder}))`
      : `${column} ${operator} ${placeholder}`,
  )
  const condition = compared.length === 1 ? compared[0]! : `(${compared.join(' or ')})`
  if (through === undefined) return condition
  const key = rowKeyIn(through).join(', ')
  // The limit, which is never reached, keeps PostgreSQL from joining the tables: it would read every row there of each row here.
  return `(${key}) in (select ${key} from ${through.name} where ${condition} limit ${MAX_INT64})`
}

/** The key of a row in a table of {@link Filter.through}. */
export function rowKeyIn({ columns, keyLength }: Table): string[] {
  return columns.slice(0, keyLength - 1).map(({ name }) => name)
}

/** The filter that fixes a column to one value in all rows of a selection; undefined if none does. */
export function fixingFilter(
  { filters }: { filters: readonly Filter[] },
  selection: Selection,
  column: string,
): Filter | undefined {
  return filters.find(
    ({ name, operator, columns }) =>
      operator === '=' && columns.length === 1 && columns[0] === column && selection[name] !== undefined,
  )
}

/** Whether a value is too large for any row to match: columns store 63 bits. */
export function matchesNothing({ type }: Filter, value: KeyValue | undefined): boolean {
  return type === 'uint64' && value !== undefined && (value as bigint) > MAX_INT64
}

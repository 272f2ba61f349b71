import { MAX_INT64 } from '../domain/integers.ts'
import type { KeyValue } from './row.ts'

/** The type of a filter's value, named as the type of a parameter. A `uint64` may exceed what columns can store. */
type ValueOf = {
  marketId: string
  partyId: string
  /** A party that trades, which the network's own party does not. */
  traderId: string
  source: bigint
  uint64: bigint
}

type FilterForm = {
  /** A row matches if one of these columns does. In an index, each precedes the key, unless a market has few rows. */
  columns: readonly string[]
  /** How a column compares with the value. */
  operator: '=' | '>='
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
} as const satisfies Record<string, FilterForm>

export type FilterName = keyof typeof FILTERS

/** A filter of a resource. */
export type Filter = FilterForm & { name: FilterName }

/** A filter in a resource's description. */
export type DescribedFilter =
  | FilterName
  | ({ name: FilterName } & Partial<Pick<FilterForm, 'columns' | 'type' | 'meaning'>>)

/** The requested rows: values of filters, and a range of times. */
export type Selection = { -readonly [Name in FilterName]?: ValueOf[(typeof FILTERS)[Name]['type']] } & {
  /** The first key column, from (inclusive) and to (exclusive). */
  from?: bigint
  to?: bigint
}

/** A filter with what a description replaces. */
export function filterOf(described: DescribedFilter): Filter {
  const changes = typeof described === 'string' ? { name: described } : described
  return { ...FILTERS[changes.name], ...changes }
}

/** The condition for a filter, with the placeholder of its value. */
export function conditionOf({ columns, operator }: Filter, placeholder: string): string {
  const compared = columns.map((column) => `${column} ${operator} ${placeholder}`)
  return compared.length === 1 ? compared[0]! : `(${compared.join(' or ')})`
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

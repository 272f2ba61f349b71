import type { Reading } from './page.ts'
import type { Statement } from './page-statement.ts'

/** The tables whose rows name ids, by an index. Of the providers of a market those of their lists: each provider stands in one. */
const NAMERS = {
  market: {
    column: 'market_id',
    tables: ['markets', 'instruments', 'funding_periods', 'liquidity_provider_lists', 'liquidity_provisions'],
  },
  party: { column: 'party_id', tables: ['liquidity_providers'] },
} as const

export type IdKind = keyof typeof NAMERS

/** The first id, of those that any row names, in one direction from a place on: a look into an index of each table. */
export function nextId(
  kind: IdKind,
  operator: '>' | '<' | '=' | '>=' | '<=',
  place: string | null,
): Statement {
  const { column, tables } = NAMERS[kind]
  const end = operator.startsWith('<') ? 'max' : 'min'
  const where = place === null ? '' : `where ${column} ${operator} $1`
  const each = tables.map((table) => `select ${end}(${column}) as id from ${table} ${where}`)
  return {
    text: `select ${end}(id) from (${each.join(' union all ')}) as named`,
    values: place === null ? [] : [place],
  }
}

/** Whether any of those rows names an id. */
export function* isNamed(kind: IdKind, id: string): Reading<boolean> {
  const [row] = yield nextId(kind, '=', id)
  return typeof row?.[0] === 'string'
}

/** The first ids that begin with some digits, two at most. */
export function* findIds(kind: IdKind, digits: string): Reading<string[]> {
  const found: string[] = []
  while (found.length < 2) {
    const last = found.at(-1)
    const [row] = yield last === undefined ? nextId(kind, '>=', digits) : nextId(kind, '>', last)
    const id = row?.[0]
    if (typeof id !== 'string' || !id.startsWith(digits)) break
    found.push(id)
  }
  return found
}

import type { TableRow } from '../../model/table.ts'
import type { Mutation } from '../queries-protocol.ts'
import { FIND_MARKET } from '../statements.ts'

/** Numbers of the markets seen so far, by id. They never change. */
export type MarketNumbers = Map<string, bigint>

/** Citus rejects subqueries in `values`. */
const INSERT_MARKET = `
  insert into markets (market, market_id)
  select coalesce(max(market), 0) + 1, cast($1 as text) from markets where true
  on conflict (market_id) do nothing`

/** Gives each market a number. The table contains every known market. */
export function* numberMarkets(ids: Iterable<string>, markets: MarketNumbers): Mutation {
  const unknown = [...ids].filter((id) => !markets.has(id))
  // One statement after another, because each takes the next number.
  for (const id of unknown) yield { text: INSERT_MARKET, values: [[id]] }
  const numbers = yield { text: FIND_MARKET, values: unknown.map((id) => [id]) }
  for (const [index, id] of unknown.entries()) markets.set(id, BigInt(numbers[index]![0]![0]!))
}

/** Rows of a table that names markets by number, with these numbers in place of the markets' ids. */
export function numbered<Row extends TableRow>(rows: readonly Row[], markets: MarketNumbers): Row[] {
  return rows.map((row) => ({ ...row, market: markets.get(row.market as string)! }))
}

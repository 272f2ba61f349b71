import type { TableRow } from '../../model/table.ts'
import { type Mutation, readEach } from '../queries-protocol.ts'
import { FIND_MARKET } from '../statements.ts'

/** The stored numbers of markets that have been looked up so far, by id. They never change. */
export type MarketNumbers = Map<string, bigint>

/** Citus rejects subqueries in `values`. */
const INSERT_MARKET = `
  insert into markets (market, market_id)
  select coalesce(max(market), 0) + 1, cast($1 as text) from markets where true
  on conflict (market_id) do nothing`

/** Adds the markets with these ids to `markets`, and those that are not stored to the table, each with the next number. */
export function* numberMarkets(ids: Iterable<string>, markets: MarketNumbers): Mutation {
  const unnumbered = [...ids].filter((id) => !markets.has(id))
  // One statement after another, because each takes the next number.
  for (const id of unnumbered) yield { text: INSERT_MARKET, values: [id] }
  for (const [id, [row]] of yield* readEach(FIND_MARKET, unnumbered, (id) => [id])) {
    markets.set(id, BigInt(row![0]!))
  }
}

/** Rows of a table that names markets by number, with these numbers instead of the markets' ids. */
export function numbered<Row extends TableRow>(rows: readonly Row[], markets: MarketNumbers): Row[] {
  return rows.map((row) => ({ ...row, market: markets.get(row.market as string)! }))
}

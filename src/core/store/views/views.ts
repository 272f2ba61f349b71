import type { ViewDialect } from './dialect.ts'
import { FUNDING_VIEWS } from './funding-views.ts'
import { LIQUIDITY_VIEWS } from './liquidity-views.ts'
import { MARKET_VIEWS } from './market-views.ts'
import { NETWORK_VIEWS } from './network-views.ts'
import type { View } from './view.ts'

/**
 * The views. Names, types and meanings of their columns stay the same, and new columns are added at the end: PostgreSQL accepts
 * no other replacement of a view.
 *
 * Every upgrade of a store ends with all of them (schema-version.ts). So a change of a view needs a new step of the schema,
 * which may be a comment; and a step that changes or drops a column that a view reads begins with
 * `drop view if exists`. Views name their columns one by one, so that all other changes of tables are free.
 */
export const VIEWS: readonly View[] = [
  ...NETWORK_VIEWS,
  ...MARKET_VIEWS,
  ...FUNDING_VIEWS,
  ...LIQUIDITY_VIEWS,
]

/** The statements that create the views of a database, or replace them. */
export function viewStatements(dialect: ViewDialect): string[] {
  return VIEWS.map(({ name, columns, from }) => {
    const selected = columns.map((column) => `  ${column.sql(dialect)} as ${column.name}`)
    return dialect.created(name, `select\n${selected.join(',\n')}\n${from(dialect)}`)
  })
}

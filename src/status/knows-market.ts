import type { Store } from '../store/store.ts'
import { TABLES } from '../store/tables.ts'
import { walkTable } from '../store/walk-table.ts'
import { withOpen } from '../with-open.ts'

/**
 * Whether any table of a store names a market. Reads whole tables, but for data points, whose markets have a separate
 * table: it is for saying why a selection is empty.
 */
export function knowsMarket(store: Store, marketId: string, signal?: AbortSignal): Promise<boolean> {
  return withOpen(store.openTableReader(), async (reader) => {
    for (const table of TABLES) {
      const column = table.columns.findIndex(({ name }) => name === 'market_id')
      if (column === -1) continue
      for await (const rows of walkTable(reader, table, {}, signal)) {
        if (rows.some((row) => row[column] === marketId)) return true
      }
    }
    return false
  })
}

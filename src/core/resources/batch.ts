import type { Place } from '../domain/place.ts'
import type { MarketDataEvent } from '../events/event.ts'
import type { Table, TableRow } from './table.ts'

/** A market's latest data: its list of providers replaces the one before, whole. */
export type LiquidityProviderList = Place & { event: MarketDataEvent }

/** Changes by a run of complete blocks, committed atomically. */
export type Batch = {
  blocks: number
  /** Positions in partly stored blocks: stored events after them are replaced, auctions included. */
  replaced: Place[]
  /** Rows by the name of their table, in the order of the stream: of rows of one key the newer one stands. */
  rows: Map<string, TableRow[]>
  /** By market id; the newest of each. */
  liquidityProviderLists: Map<string, LiquidityProviderList>
}

export function createBatch(): Batch {
  return { blocks: 0, replaced: [], rows: new Map(), liquidityProviderLists: new Map() }
}

/** Adds a row of a table. */
export function put<Row extends TableRow>(batch: Batch, { name }: Table<Row>, row: Row): void {
  const rows = batch.rows.get(name)
  if (rows === undefined) batch.rows.set(name, [row])
  else rows.push(row)
}

/** The rows of a table. */
export function rowsOf<Row extends TableRow>({ rows }: Batch, { name }: Table<Row>): readonly Row[] {
  return (rows.get(name) ?? []) as readonly TableRow[] as readonly Row[]
}

/**
 * Rows that a commit of the batch touches, for deciding when it is large enough. A list of providers counts as one:
 * lists are decoded when they are written, and most are replaced before; their bytes count in the batch's weight.
 */
export function batchRows(batch: Batch): number {
  let count = batch.liquidityProviderLists.size
  for (const rows of batch.rows.values()) count += rows.length
  return count
}

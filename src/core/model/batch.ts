import { type EventPosition, isBefore } from '../domain/event-position.ts'
import type { MarketDataEvent } from '../events/event.ts'
import { BatchRows, type RowSource } from './batch-rows.ts'
import type { Table, TableRow } from './table.ts'

/** A market's latest data: its list of providers replaces the one before, whole. */
export type LiquidityProviderList = EventPosition & { event: MarketDataEvent }

/** Changes by a run of complete blocks, committed atomically. */
export type Batch = {
  blocks: number
  /** Positions in partly stored blocks: stored events after them are replaced, auctions included. */
  replaced: EventPosition[]
  /** Rows by the name of their table. */
  rows: Map<string, BatchRows>
  /** By market id, in the order of the stream: the last one counts, and those before it say when its rows last changed. */
  liquidityProviderLists: Map<string, LiquidityProviderList[]>
}

export function createBatch(): Batch {
  return { blocks: 0, replaced: [], rows: new Map(), liquidityProviderLists: new Map() }
}

/** Adds a row of a table. */
export function put<Row extends TableRow>(batch: Batch, { name }: Table<Row>, row: Row): void {
  rowsToWrite(batch, name).add(row)
}

/** Adds rows of a table that are created when they are written. */
export function putSource(batch: Batch, { name }: Table, source: RowSource): void {
  rowsToWrite(batch, name).addSource(source)
}

function rowsToWrite({ rows }: Batch, table: string): BatchRows {
  let found = rows.get(table)
  if (found === undefined) {
    found = new BatchRows()
    rows.set(table, found)
  }
  return found
}

/** Adds a list of providers; of two from one position, the one that is added later counts. */
export function putList({ liquidityProviderLists }: Batch, list: LiquidityProviderList): void {
  const { marketId } = list.event
  const lists = liquidityProviderLists.get(marketId)
  if (lists === undefined) liquidityProviderLists.set(marketId, [list])
  else lists.splice(lists.findLastIndex((known) => !isBefore(list, known)) + 1, 0, list)
}

/** The rows of a table. */
export function rowsOf<Row extends TableRow>({ rows }: Batch, { name }: Table<Row>): readonly Row[] {
  return (rows.get(name)?.all() ?? []) as readonly TableRow[] as readonly Row[]
}

/**
 * Rows that a commit of the batch touches, for deciding when it is large enough. All lists of a market count as one:
 * few of them are decoded when they are written; their bytes count in the batch's weight.
 */
export function batchRows(batch: Batch): number {
  let count = batch.liquidityProviderLists.size
  for (const rows of batch.rows.values()) count += rows.length
  return count
}

import { type EventPosition, isBefore } from '../domain/event-position.ts'
import type { MarketDataEvent } from '../events/event.ts'
import { BatchRows, type RowSource } from './batch-rows.ts'
import type { Table, TableRow } from './table.ts'

/** Data of a market, with the position of their event. Their list of providers replaces the previous one as a whole. */
export type PositionedMarketData = EventPosition & { event: MarketDataEvent }

/** The changes of complete blocks, to be committed together. */
export type Batch = {
  blocks: number
  /** Positions in incomplete blocks that are now complete: stored events after them are replaced, also auctions. */
  replaced: EventPosition[]
  /** Rows by the name of their table. */
  rows: Map<string, BatchRows>
  /**
   * By market id, in the order of the stream: the last data count, and the lists in the earlier ones say when the rows of
   * providers last changed.
   */
  marketData: Map<string, PositionedMarketData[]>
}

/** A batch without blocks. */
export function createBatch(): Batch {
  return { blocks: 0, replaced: [], rows: new Map(), marketData: new Map() }
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
  let ofTable = rows.get(table)
  if (ofTable === undefined) {
    ofTable = new BatchRows()
    rows.set(table, ofTable)
  }
  return ofTable
}

/** Adds data of a market. If others have the same position, those added later count. */
export function addMarketData({ marketData }: Batch, list: PositionedMarketData): void {
  const { marketId } = list.event
  const lists = marketData.get(marketId)
  if (lists === undefined) marketData.set(marketId, [list])
  // Nearly always.
  else if (!isBefore(list, lists.at(-1)!)) lists.push(list)
  else lists.splice(lists.findLastIndex((known) => !isBefore(list, known)) + 1, 0, list)
}

/** The rows of a table. */
export function rowsOf<Row extends TableRow>({ rows }: Batch, { name }: Table<Row>): readonly Row[] {
  return (rows.get(name)?.all() ?? []) as readonly TableRow[] as readonly Row[]
}

/**
 * The number of rows that a commit of the batch touches, by which a batch is large enough. All lists of a market count as
 * one, because few of them are decoded when they are written. Their bytes count in the batch's weight.
 */
export function batchRows(batch: Batch): number {
  let count = batch.marketData.size
  for (const rows of batch.rows.values()) count += rows.length
  return count
}

import type { EventPosition } from '../domain/event-position.ts'
import type { MarketDataEvent } from '../events/event.ts'
import { BatchRows, type RowSource } from './batch-rows.ts'
import type { Table, TableRow } from './table.ts'

/** Data of a market, with the position of their event. Their list of providers replaces the previous one as a whole. */
export type PositionedMarketData = EventPosition & { event: MarketDataEvent }

/**
 * The data of a market in a batch, in the order of the stream. The last count, and the lists in the earlier ones say when the
 * rows of providers last changed.
 */
export type MarketDataSequence = {
  readonly first: EventPosition
  readonly last: PositionedMarketData
  /**
   * An upper bound of the seqs for which the data have estimates, found without decoding their figures; -1 if none has one. If
   * it exceeds the seq of the last data, the figures of all are decoded to find the greatest (resources/market-data/row.ts).
   * Null if some of the data have only figures, as imported ones do.
   */
  readonly highestSeq: bigint | null
  /** All before the last, the latest first. */
  earlier(): Iterable<PositionedMarketData>
  /** Adds data. If others have the same position, those added later count. */
  add(data: PositionedMarketData): void
}

/** The changes of whole blocks, to be committed together. */
export type Batch = {
  blocks: number
  /** Positions in incomplete blocks that are now complete: stored rows from later events of these blocks are replaced. */
  replaced: EventPosition[]
  /** Rows by the name of their table. */
  rows: Map<string, BatchRows>
  /** By market id. */
  marketData: Map<string, MarketDataSequence>
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

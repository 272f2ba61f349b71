/** What is old: rows of an earlier time (Unix nanoseconds), or of a lower height. */
export type PruneBound = { by: 'time' | 'height'; before: bigint }

/** The key of a checkpoint. */
export type CheckpointKey = { atBlock: bigint; hash: string }

/** The points of one source of a market, by the market's number in the store. */
export type PointRun = { market: bigint; source: 0n | 1n | 2n }

/** The rest of a data point's key within its run. */
export type PointKey = { timestamp: bigint; seq: bigint }

/** A run of rows that has been looked at: how many were taken out, and its last key; null: no row follows. */
export type PrunedChunk<Key> = { rows: number; last: Key | null }

/**
 * Takes old rows out of a store, a bounded number at a time, beside a writer and readers at work. Each call is
 * one short transaction, in which the spans of funding periods are kept right, and the bound is noted once rows
 * go because of it.
 */
export type Pruner = {
  /** The numbers of the markets that there are. */
  markets(): Promise<bigint[]>
  /** Takes old checkpoints out among the next `limit` behind a key. */
  checkpoints(
    bound: PruneBound,
    after: CheckpointKey | null,
    limit: number,
  ): Promise<PrunedChunk<CheckpointKey>>
  /** Takes old data points out among the next `limit` of a run behind a key. */
  dataPoints(
    bound: PruneBound,
    run: PointRun,
    after: PointKey | null,
    limit: number,
  ): Promise<PrunedChunk<PointKey>>
  close(): Promise<void>
}

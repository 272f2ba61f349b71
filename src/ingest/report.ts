import type { LeftOutReason } from '../events/left-out.ts'
import type { CutOffNotice } from '../records/read-records.ts'
import type { Batch } from '../resources/batch.ts'

/** Rows written, by table; rows written again by a later event count again. */
export type RowCounts = {
  checkpoints: number
  fundingPeriodDataPoints: number
  fundingPeriods: number
  auctions: number
  instruments: number
  liquidityProvisions: number
  liquidityProviders: number
}

/** What an ingestion has done. */
export type IngestionReport = {
  /** Blocks committed. */
  blocks: number
  /** Whole blocks that the store held already. */
  heldBlocks: number
  /** Those of them to which events have been added, of resources that they lacked. */
  completedBlocks: number
  /** Blocks committed in the place of what an import had brought of them. */
  replacedBlocks: number
  records: number
  /** Bytes read, as stored. */
  bytes: number
  rows: RowCounts
  /** Events and list elements left out, by reason. */
  leftOut: Partial<Record<LeftOutReason, number>>
  /** Events passed over by the rules on blocks. */
  passedOver: { beforeFirstBlock: number; outsideBlocks: number; repeated: number }
  unfinishedBlocks: number
  /** The height of a block that the input ends within, and that is not committed; as text. */
  pendingHeight: string | null
  cutOff: CutOffNotice[]
  /** Times the sequence number did not go up by one within a file. */
  sequenceBreaks: number
  /** Files of named directories whose names are not those of event files. */
  foreignFiles: string[]
  /** The store's position afterwards, as text; null where it is empty. */
  height: string | null
  /** The store's recorded gaps afterwards. */
  gaps: { from: string; to: string; kind: string }[]
  /** Heights of blocks that are held without the events of a resource, afterwards. */
  resourceGaps: { resource: string; from: string; to: string }[]
  seconds: number
  interrupted: boolean
}

export function noRows(): RowCounts {
  return {
    checkpoints: 0,
    fundingPeriodDataPoints: 0,
    fundingPeriods: 0,
    auctions: 0,
    instruments: 0,
    liquidityProvisions: 0,
    liquidityProviders: 0,
  }
}

/** What each of the counts counts. */
const COUNTED: Record<keyof RowCounts, string> = {
  checkpoints: 'checkpoints',
  fundingPeriodDataPoints: 'funding_period_data_points',
  fundingPeriods: 'funding_periods',
  auctions: 'auctions',
  instruments: 'instruments',
  liquidityProvisions: 'liquidity_provisions',
  liquidityProviders: 'liquidity_providers',
}

export function countRows(counts: RowCounts, batch: Batch): void {
  for (const [name, table] of Object.entries(COUNTED)) {
    counts[name as keyof RowCounts] += batch.rows.get(table)?.length ?? 0
  }
  for (const { event } of batch.liquidityProviderLists.values()) {
    counts.liquidityProviders += event.feeShares.length
  }
}

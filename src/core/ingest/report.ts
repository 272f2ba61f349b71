import type { Coverage, Gap, InText } from '../domain/coverage.ts'
import { inText } from '../domain/coverage.ts'
import type { LeftOutReason } from '../events/left-out.ts'
import type { CutOffNotice } from '../records/read-records.ts'
import type { Batch } from '../resources/batch.ts'
import { KEPT } from '../resources/kept.ts'

/** Rows written, by what reports call them; rows written again by a later event count again. */
export type RowCounts = Record<string, number>

/** What an ingestion has done. */
export type IngestionReport = {
  /** Blocks committed. */
  blocks: number
  /** Whole blocks that the store held already. */
  heldBlocks: number
  /** Of these, blocks of which the store has an import's rows. */
  importedBlocks: number
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
  /** The store's position afterwards, as text; null if it is empty. */
  height: string | null
  /** The store's recorded gaps afterwards. */
  gaps: InText<Gap>[]
  seconds: number
  interrupted: boolean
}

/** The coverage part of a report; null: the store is empty. */
export function reportOfCoverage(coverage: Coverage | null): Pick<IngestionReport, 'height' | 'gaps'> {
  const { height = null, gaps = [] } = coverage ?? {}
  return {
    height: height?.toString() ?? null,
    gaps: gaps.map(inText),
  }
}

/** The counted rows, in the order of the list of kept data: the name in reports, and the table. */
const COUNTED = KEPT.flatMap(({ tables }) =>
  tables.flatMap(({ name, counted }) => (counted === null ? [] : [{ table: name, counted }])),
)

export function noRows(): RowCounts {
  return Object.fromEntries(COUNTED.map(({ counted }) => [counted, 0]))
}

export function countRows(counts: RowCounts, batch: Batch): void {
  const add = (name: string, rows: number) => {
    counts[name] = counts[name]! + rows
  }
  for (const { table, counted } of COUNTED) add(counted, batch.rows.get(table)?.length ?? 0)
  // Their rows are made when the lists are written.
  for (const { event } of batch.liquidityProviderLists.values())
    add('liquidityProviders', event.feeShares.length)
}

import { type Coverage, type GapText, gapText } from '../domain/coverage.ts'
import type { LeftOutReason } from '../events/left-out.ts'
import type { CutOffNotice } from '../records/read-records.ts'
import { STORED } from '../resources/stored.ts'
import type { GainedRows } from '../store/queries-protocol.ts'

/**
 * How many more rows the store has than before, by their names in reports; negative if later events have removed more than
 * were added. Rows that are only changed are not counted.
 */
export type RowCounts = Record<string, number>

/** The result of an ingestion, also as the JSON that `--json` prints: its names are public. */
export type IngestionReport = {
  /** Number of committed blocks. */
  blocks: number
  /** Complete blocks that were already stored. */
  heldBlocks: number
  /** Of these, imported blocks. */
  importedBlocks: number
  records: number
  /** Bytes read, as stored. */
  bytes: number
  rows: RowCounts
  /** Events and list elements left out, by reason. */
  leftOut: Partial<Record<LeftOutReason, number>>
  /** Events skipped by the rules on blocks. */
  passedOver: { beforeFirstBlock: number; outsideBlocks: number; repeated: number }
  /** Incomplete blocks that were dropped. */
  unfinishedBlocks: number
  /** The height of the block within which the input ends, and which is not committed, as text; null if there is none. */
  pendingHeight: string | null
  cutOff: CutOffNotice[]
  /** How often the sequence number did not increase by one within a file. */
  sequenceBreaks: number
  /** Files in named folders that do not have the names of event files. */
  foreignFiles: string[]
  /** The store head afterwards, as text; null if the store is empty. */
  height: string | null
  /** The store's recorded gaps afterwards. */
  gaps: GapText[]
  seconds: number
  interrupted: boolean
}

/** The coverage part of a report; null if the store is empty. */
export function reportOfCoverage(coverage: Coverage | null): Pick<IngestionReport, 'height' | 'gaps'> {
  const { height = null, gaps = [] } = coverage ?? {}
  return {
    height: height?.toString() ?? null,
    gaps: gaps.map(gapText),
  }
}

/** The counted rows, in the order of stored data: the name in reports, and the table. */
const COUNTED = STORED.flatMap(({ tables }) =>
  tables.flatMap(({ name, counted }) => (counted === undefined ? [] : [{ table: name, counted }])),
)

/** Zero rows under each name. */
export function noRows(): RowCounts {
  return Object.fromEntries(COUNTED.map(({ counted }) => [counted, 0]))
}

/** Adds the rows that a commit has added or removed. */
export function countRows(counts: RowCounts, gained: GainedRows): void {
  for (const { table, counted } of COUNTED) counts[counted] = counts[counted]! + (gained.get(table) ?? 0)
}

import type { ImportedText } from '#core/domain/coverage'
import type { IngestionReport, RowCounts } from '#core/ingest/report'
import type { LeftOutRowReason } from './rows/row-values.ts'

export type ImportedResource = keyof typeof NO_FIRST_TIMES

/** The time of the first row of each resource, Unix nanoseconds as text; null if there was none. */
export const NO_FIRST_TIMES = {
  checkpoints: null,
  epochs: null,
  fundingPayments: null,
  fundingPeriodDataPoints: null,
  fundingPeriods: null,
  liquidityProvisions: null,
  liquidityProviders: null,
  liquidityProviderHistory: null,
  paidLiquidityFees: null,
  paidLiquidityFeesStats: null,
  marketData: null,
  instruments: null,
} as const satisfies Record<string, string | null>

/** The result of an import. */
export type ImportReport = Pick<
  IngestionReport,
  'height' | 'gaps' | 'seconds' | 'interrupted' | 'foreignFiles'
> & {
  source: string
  chainId: string
  /** Number of committed blocks. */
  blocks: number
  /** Number of blocks of the source that were already stored. */
  heldBlocks: number
  /** Number of written rows. */
  rows: RowCounts
  /** Number of rows read from the source. */
  rowsRead: number
  /** Number of rows and list elements left out, by reason. */
  leftOut: Partial<Record<LeftOutRowReason, number>>
  /** The time of the first row of each resource. Earlier rows may have been deleted, or may never have existed. */
  first: Record<ImportedResource, string | null>
  /** Resources that were not imported, or not for all blocks, with the reasons. */
  notImported: { resource: string; reason: string }[]
  /** The imported heights in the store, afterwards. */
  imported: ImportedText[]
}

import type { ImportedText } from '#core/domain/coverage'
import type { IngestionReport, RowCounts } from '#core/ingest/report'
import type { LeftOutRowReason } from './decode-rows.ts'

export type ImportedResource = keyof typeof NO_FIRST_TIMES

/** Times, Unix nanoseconds as text, of the first rows found; null if none was. */
export const NO_FIRST_TIMES = {
  checkpoints: null,
  fundingPayments: null,
  fundingPeriodDataPoints: null,
  fundingPeriods: null,
  liquidityProvisions: null,
  liquidityProviders: null,
  liquidityProviderHistory: null,
  paidLiquidityFees: null,
  marketData: null,
  instruments: null,
} as const satisfies Record<string, string | null>

/** What an import has done. */
export type ImportReport = Pick<
  IngestionReport,
  'height' | 'gaps' | 'seconds' | 'interrupted' | 'foreignFiles'
> & {
  source: string
  chainId: string
  /** Blocks committed. */
  blocks: number
  /** Blocks of the source that the store held already. */
  heldBlocks: number
  /** Rows written. */
  rows: RowCounts
  /** Rows read of the source. */
  rowsRead: number
  /** Rows and list elements left out, by reason. */
  leftOut: Partial<Record<LeftOutRowReason, number>>
  /** By resource, the time of the first row found; earlier rows may have been deleted or never have existed. */
  first: Record<ImportedResource, string | null>
  /** Resources that are not imported, or not of all blocks, and why. */
  notImported: { resource: string; reason: string }[]
  /** Heights that the store holds from imports, afterwards. */
  imported: ImportedText[]
}

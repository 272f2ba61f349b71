import { SOURCES } from '../resources/funding-period-data-points.ts'
import type { ResourceName, Row, Selection } from '../resources/resource.ts'

/** A value of a table: text, an integer as digits, a list of texts, or none. */
export type CellValue = string | null

/**
 * What a column of a table holds. Integers are those that 64 bits with a sign can hold, as the store keeps them;
 * prices and quantities, which can be of any size, are texts. Times are Unix nanoseconds.
 */
export type ColumnKind = 'text' | 'integer' | 'time' | 'list'

/** A column of a resource's rows as a table: the nodes of the API, with nested fields as columns of their own. */
export type ExportColumn = {
  name: string
  kind: ColumnKind
  /** Whether a row may have none. */
  nullable: boolean
}

/** A resource as a table. */
export type ExportTable = {
  columns: readonly ExportColumn[]
  /** The values of a row, one for each column; those of a list joined by commas. */
  cells(row: Row, selection: Selection): CellValue[]
}

const column =
  (kind: ColumnKind, nullable = false) =>
  (name: string): ExportColumn => ({ name, kind, nullable })
const text = column('text')

const FEE_SHARE_FIELDS = ['equityLikeShare', 'averageEntryValuation', 'averageScore', 'virtualStake'] as const

const SLA_FIELDS = [
  'currentEpochFractionOfTimeOnBook',
  'lastEpochFractionOfTimeOnBook',
  'lastEpochFeePenalty',
  'lastEpochBondPenalty',
  'hysteresisPeriodFeePenalties',
  'requiredLiquidity',
  'notionalVolumeBuys',
  'notionalVolumeSells',
] as const

/** Each resource as a table; the cursor of a row is added by the formats that have one. */
export const EXPORT_TABLES: Record<ResourceName, ExportTable> = {
  checkpoints: {
    columns: [column('integer')('atBlock'), text('hash'), text('blockHash')],
    cells: (row) => row.map(String),
  },

  fundingPeriodDataPoints: {
    columns: [
      text('marketId'),
      column('integer')('seq'),
      text('dataPointType'),
      text('price'),
      column('time')('timestamp'),
      text('twap'),
    ],
    cells: ([timestamp, seq, source, price, twap], { marketId }) => [
      marketId!,
      String(seq),
      SOURCES[Number(source)]!,
      price as string,
      String(timestamp),
      twap as string,
    ],
  },

  liquidityProviders: {
    columns: [
      text('partyId'),
      text('marketId'),
      ...FEE_SHARE_FIELDS.map(text),
      ...SLA_FIELDS.map((name) =>
        column(name === 'hysteresisPeriodFeePenalties' ? 'list' : 'text', true)(name),
      ),
    ],
    cells: ([marketId, partyId, feeShare, sla]) => {
      const share = JSON.parse(feeShare as string) as Record<string, string>
      const kept = sla === null ? null : (JSON.parse(sla as string) as Record<string, string | string[]>)
      return [
        partyId as string,
        marketId as string,
        ...FEE_SHARE_FIELDS.map((name) => share[name]!),
        ...SLA_FIELDS.map((name) => (kept === null ? null : String(kept[name]))),
      ]
    },
  },
}

import { integer, place, type Table, text } from '../table.ts'

export const fundingPeriodTables: readonly Table[] = [
  {
    // The start is the earliest event's, all else the latest's. Before the points, whose series depend on it.
    name: 'funding_periods',
    counted: 'fundingPeriods',
    columns: [
      ...[text('market_id'), integer('seq'), integer('start_timestamp', 'earliest')],
      ...[integer('start_height', 'earliest'), integer('start_index', 'earliest')],
      ...[integer('end_timestamp'), text('funding_payment'), text('funding_rate')],
      ...[text('internal_twap'), text('external_twap'), ...place],
    ],
    keyLength: 2,
    spread: 'market_id',
  },
]

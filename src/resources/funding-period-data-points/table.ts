import { digits, integer, place, type Table, text } from '../table.ts'

export const dataPointTables: readonly Table[] = [
  {
    name: 'funding_period_data_points',
    counted: 'fundingPeriodDataPoints',
    columns: [
      ...[integer('market'), integer('source'), integer('timestamp'), integer('seq')],
      ...[digits('price'), digits('twap'), ...place],
    ],
    keyLength: 4,
    spread: 'market',
  },
  {
    name: 'funding_period_spans',
    counted: null,
    columns: [
      ...[integer('market'), integer('seq'), integer('first_timestamp', 'least')],
      ...[integer('last_timestamp', 'greatest'), integer('points', 'sum')],
      // The start of the period as its series were written with it; null if the period is not stored.
      integer('start_timestamp', 'given'),
    ],
    keyLength: 2,
    spread: 'market',
  },
  {
    name: 'funding_period_block_spans',
    counted: null,
    columns: [
      ...[integer('market'), integer('blocks')],
      ...[integer('first_timestamp', 'least'), integer('last_timestamp', 'greatest')],
    ],
    keyLength: 2,
    spread: 'market',
  },
  {
    // Of imported points, which go again once their blocks come from events.
    name: 'funding_period_imported_spans',
    counted: null,
    columns: [
      ...[integer('market'), integer('source'), integer('blocks')],
      ...[integer('first_timestamp', 'least'), integer('last_timestamp', 'greatest')],
    ],
    keyLength: 3,
    spread: 'market',
  },
  {
    // Least and greatest are null where they are among first and last (domain/series.ts).
    name: 'funding_period_series',
    counted: null,
    columns: [
      ...[integer('market'), integer('source'), integer('seconds'), integer('bucket'), integer('points')],
      ...[text('price_first'), text('price_last'), text('price_minimum'), text('price_maximum')],
      ...[text('twap_first'), text('twap_last'), text('twap_minimum'), text('twap_maximum')],
      integer('seq'),
    ],
    keyLength: 4,
    spread: 'market',
  },
]

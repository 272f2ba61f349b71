import { integer, place, type Table, text } from '../table.ts'

export const instrumentTables: readonly Table[] = [
  {
    name: 'instruments',
    counted: 'instruments',
    columns: [
      ...[text('market_id'), text('code'), text('name'), integer('product'), text('quote_name')],
      ...[integer('decimal_places'), integer('position_decimal_places'), integer('state')],
      ...[integer('trading_mode'), text('settlement_asset'), text('interest_rate')],
      ...[text('clamp_lower_bound'), text('clamp_upper_bound'), text('scaling_factor')],
      ...[text('rate_lower_bound'), text('rate_upper_bound'), ...place],
    ],
    keyLength: 1,
    spread: 'everywhere',
  },
  {
    name: 'assets',
    counted: null,
    columns: [
      ...[text('asset_id'), text('name'), text('symbol'), integer('decimals'), integer('status'), ...place],
    ],
    keyLength: 1,
    spread: 'everywhere',
  },
]

import { integer, place, type Table, text } from '../table.ts'

export const marketDataTables: readonly Table[] = [
  {
    name: 'market_data',
    counted: null,
    columns: [
      ...[text('market_id'), integer('timestamp'), text('mark_price'), text('open_interest')],
      ...[integer('market_state'), integer('trading_mode'), text('funding_payment'), text('funding_rate')],
      ...[text('internal_twap'), text('external_twap'), integer('seq'), ...place],
    ],
    keyLength: 1,
    spread: 'market_id',
  },
]

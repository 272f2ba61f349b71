import { SOURCES } from '../../resources/funding-period-data-points/description.ts'
import { integer, number, textOf, time } from './columns.ts'
import { asset, market, ofAsset, party, type View, withMarket } from './view.ts'

/** A TWAP of a period: before its end the table has the opening price. */
const finalTwap = (column: string) =>
  `case when funding_periods.end_timestamp is not null then funding_periods.${column} end`

/** What markets pay for funding, and the prices that it follows from. */
export const FUNDING_VIEWS: readonly View[] = [
  {
    name: 'v_funding_periods',
    meaning: 'A funding period of a perpetual market. What its latest event did not set is null.',
    columns: [
      ...market('funding_periods'),
      integer('seq', 'Number of the period within its market.', 'funding_periods.seq'),
      ...time('start_timestamp', 'Start of the period.', 'funding_periods.start_timestamp'),
      ...time('end_timestamp', 'End of the period; null while it runs.', 'funding_periods.end_timestamp'),
      ...ofAsset(
        'funding_payment',
        'Payment for one whole unit of position, positive if long positions paid short ones',
        'funding_periods.funding_payment',
      ),
      ...number('funding_rate', 'Payment divided by the external TWAP.', 'funding_periods.funding_rate'),
      ...ofAsset(
        'internal_twap',
        'Time-weighted average of the internal prices, null while the period runs',
        finalTwap('internal_twap'),
      ),
      ...ofAsset(
        'external_twap',
        'Time-weighted average of the external prices, null while the period runs',
        finalTwap('external_twap'),
      ),
      ...asset,
    ],
    from: () => `from funding_periods
  ${withMarket('funding_periods')}`,
  },
  {
    name: 'v_funding_points',
    meaning: 'A data point of a funding period: a price with the TWAP up to it.',
    columns: [
      ...market('markets'),
      integer('seq', 'Number of the funding period within its market.', 'points.seq'),
      textOf('source', `\`${SOURCES.slice(1).join('` or `')}\`.`, 'sources.value'),
      ...time('timestamp', 'Time of the price.', 'points.timestamp'),
      ...ofAsset('price', 'The price', 'points.price'),
      ...ofAsset(
        'twap',
        'Time-weighted average price of the source in this period up to this point',
        'points.twap',
      ),
      ...asset,
    ],
    // The key of points is market, source and time: with each of the sources, a range of times is one range of the key.
    // The key of points is market, source and time: with each of the sources, a range of times is one range of the key. A
    // cross join makes SQLite read the tables in this order.
    from: ({ words }) => `from ${words(SOURCES, 'sources')}
  cross join markets
  cross join funding_period_data_points as points
  ${withMarket('markets')}
where points.market = markets.market and points.source = sources.key`,
  },
  {
    name: 'v_funding_payments',
    meaning: 'What a party received or paid at the end of a funding period.',
    columns: [
      ...market('funding_payments'),
      party('funding_payments'),
      integer('seq', 'Number of the funding period within its market.', 'funding_payments.seq'),
      ...time('timestamp', 'Time of the block in which the payment was made.', 'funding_payments.timestamp'),
      ...ofAsset('amount', 'Amount that the party received, negative if it paid', 'funding_payments.amount'),
      ...ofAsset(
        'loss_amount',
        'Part of the amount that others could not pay, zero or negative: the balance changed by the sum of both',
        'funding_payments.loss_amount',
      ),
      ...asset,
    ],
    from: () => `from funding_payments
  ${withMarket('funding_payments')}`,
  },
]

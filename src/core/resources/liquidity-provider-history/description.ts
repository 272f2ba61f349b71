import { defineResource } from '../../model/resource.ts'
import { AMOUNT, EQUITY_LIKE_SHARE, FRACTION, PENALTY } from '../liquidity-providers/description.ts'
import { historyTable, paidFeesTable } from './table.ts'

/** Fields from the SLA of a provider. */
const FIGURES = ['time_on_book', 'fee_penalty', 'bond_penalty', 'required_liquidity']

/** The figures of a market's or a party's liquidity providers for each ended epoch. */
export const liquidityProviderHistory = defineResource({
  name: 'liquidityProviderHistory',
  nodeName: 'LiquidityProviderEpoch',
  summary: 'List the performance of liquidity providers, by epoch',
  meaning: 'Performance of a liquidity provider on a market in a completed epoch.',
  path: '/api/v2/liquidity/provider-history',
  tag: 7,
  cursor: 'h',
  key: [
    { column: 'timestamp', type: 'int64' },
    { column: 'market_id', type: 'id' },
    { column: 'party_id', type: 'id' },
    { column: 'epoch', type: 'uint64' },
  ],
  filters: ['marketId', 'partyId'],
  required: { list: ['marketId', 'partyId'], stream: ['marketId', 'partyId'] },
  dateRange: true,
  storage: {
    table: historyTable,
    // Later fees for the same epoch, and any fees after the figures, do not count: streams would not send the row again.
    condition: '(has_figures or fees_paid is not null)',
    from: ({
      notAfter,
    }) => `select market_id, party_id, epoch, timestamp, has_figures, ${FIGURES.map((name) => `case when has_figures then ${name} end as ${name}`).join(', ')},
        equity_like_share, height, event_index, (
          select fees.amount from paid_liquidity_fees as fees
          where fees.market_id = history.market_id and fees.epoch = history.epoch and fees.party_id = history.party_id
            and ${notAfter('fees', 'history')}
            and (fees.height, fees.event_index) = (
              select first.height, first.event_index from paid_liquidity_fees as first
              where first.market_id = history.market_id and first.epoch = history.epoch
              order by first.height, first.event_index limit 1
            )
        ) as fees_paid
      from liquidity_provider_history as history`,
    derivedFrom: [historyTable.name, paidFeesTable.name],
  },
  fields: [
    { name: 'marketId', meaning: 'The market.', form: 'marketId' },
    { name: 'partyId', meaning: 'The party.', form: 'partyId' },
    { name: 'epoch', meaning: 'Number of the epoch.', form: 'integer' },
    {
      name: 'timestamp',
      meaning:
        'Time of the block in which the epoch ended, or, if its market settled before, in which its last fees were paid, Unix nanoseconds.',
      form: 'time',
    },
    { name: 'atBlock', meaning: 'Height of that block.', column: 'height', form: 'integer' },
    {
      name: 'timeOnBook',
      meaning: 'Fraction of the epoch during which its orders covered its commitment.',
      form: 'text',
      decimal: FRACTION,
      ifNull: 'null',
    },
    {
      name: 'feePenalty',
      meaning: 'Fraction of its fees lost for the epoch.',
      form: 'text',
      decimal: PENALTY,
      ifNull: 'null',
    },
    {
      name: 'bondPenalty',
      meaning: 'Fraction of its bond lost for the epoch.',
      form: 'text',
      decimal: PENALTY,
      ifNull: 'null',
    },
    {
      name: 'requiredLiquidity',
      meaning: 'Amount to be offered on each side of the book, in the smallest unit of the settlement asset.',
      form: 'text',
      decimal: AMOUNT,
      ifNull: 'null',
    },
    {
      name: 'equityLikeShare',
      meaning: `${EQUITY_LIKE_SHARE} Null if the market listed none.`,
      form: 'text',
      decimal: FRACTION,
      ifNull: 'null',
    },
    {
      name: 'feesPaid',
      meaning:
        'The fees that the core allocated to it in the epoch, before the fee penalty and without any bonus, in the smallest unit of the settlement asset. Null if the core sent none.',
      form: 'number',
      ifNull: 'null',
    },
  ],
  coverage: 'times by market',
})

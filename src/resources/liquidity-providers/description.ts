import { defineResource } from '../resource.ts'
import { LIVE_STATUSES, providerTable } from './table.ts'

/** The liquidity providers of a market or a party. Fee shares and SLA figures are kept as the API's JSON. */
export const liquidityProviders = defineResource({
  name: 'liquidityProviders',
  nodeName: 'LiquidityProvider',
  summary: 'List the liquidity providers of a market or a party',
  meaning: 'A party that provides liquidity on a market.',
  path: '/api/v2/liquidity/providers',
  grpcMethod: 'ListLiquidityProviders',
  tag: 3,
  cursor: 'l',
  key: [
    { column: 'market_id', type: 'id', filter: 'marketId' },
    { column: 'party_id', type: 'id', filter: 'partyId' },
  ],
  scope: null,
  filters: ['marketId', 'partyId'],
  needsFilter: true,
  dateRange: false,
  storage: {
    table: providerTable,
    // Of a party with a live provision on the market.
    condition: `exists (
      select 1 from liquidity_provisions
      where liquidity_provisions.market_id = liquidity_providers.market_id
        and liquidity_provisions.party_id = liquidity_providers.party_id
        and liquidity_provisions.status in (${LIVE_STATUSES.join(', ')}))`,
    madeOf: ['liquidity_provider_lists', 'liquidity_provisions'],
    arrivals: 'all rows',
  },
  fields: [
    { name: 'partyId', meaning: 'The party.', form: 'partyId' },
    { name: 'marketId', meaning: 'The market.', form: 'marketId' },
    {
      name: 'feeShare',
      meaning: "The provider's share of the liquidity fees.",
      form: {
        typeName: 'LiquidityProviderFeeShare',
        stored: [
          { name: 'party', meaning: 'The party.', form: 'partyId', isRepeated: true },
          { name: 'equityLikeShare', meaning: 'Its fraction of the liquidity fees.', form: 'text' },
          {
            name: 'averageEntryValuation',
            meaning: "Average market value at which it committed, in the asset's decimals.",
            form: 'text',
          },
          {
            name: 'averageScore',
            meaning: 'Average quality of its order placement (liquidity score).',
            form: 'text',
          },
          {
            name: 'virtualStake',
            meaning: "Its share of the market's growth (virtual stake), in the asset's decimals.",
            form: 'text',
          },
        ],
      },
    },
    {
      name: 'sla',
      meaning: 'How well the party meets its commitment. Null if the market has no report of it.',
      ifNull: 'null',
      form: {
        typeName: 'LiquidityProviderSla',
        stored: [
          { name: 'party', meaning: 'The party.', form: 'partyId', isRepeated: true },
          {
            name: 'currentEpochFractionOfTimeOnBook',
            meaning: 'Fraction of the current epoch during which its orders covered its commitment.',
            form: 'text',
          },
          {
            name: 'lastEpochFractionOfTimeOnBook',
            meaning: 'The same for the last completed epoch.',
            form: 'text',
          },
          {
            name: 'lastEpochFeePenalty',
            meaning: 'Fraction of its fees lost for the last epoch.',
            form: 'text',
          },
          {
            name: 'lastEpochBondPenalty',
            meaning: 'Fraction of its bond lost for the last epoch.',
            form: 'text',
          },
          {
            name: 'hysteresisPeriodFeePenalties',
            meaning: 'Fee penalties of the earlier epochs that still count.',
            form: 'texts',
          },
          {
            name: 'requiredLiquidity',
            meaning: "Amount to be offered on each side of the book, in the asset's decimals.",
            form: 'text',
          },
          { name: 'notionalVolumeBuys', meaning: 'Volume of its buy orders.', form: 'text' },
          { name: 'notionalVolumeSells', meaning: 'Volume of its sell orders.', form: 'text' },
        ],
      },
    },
  ],
  rowsStay: false,
  coverage: 'blocks by market',
})

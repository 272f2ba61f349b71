import { defineResource, type KeyColumn } from '../resource.ts'
import { textCursor } from '../text-cursor.ts'
import { providerTable } from './table.ts'

const key: readonly KeyColumn[] = [
  { column: 'market_id', type: 'id', filter: 'marketId' },
  { column: 'party_id', type: 'id', filter: 'partyId' },
]

/** The liquidity providers of a market or a party. Fee shares and SLA figures are kept as the API's JSON. */
export const liquidityProviders = defineResource({
  name: 'liquidityProviders',
  nodeName: 'LiquidityProvider',
  summary: 'List the liquidity providers of a market or a party',
  meaning: 'A party that provides liquidity on a market.',
  path: '/api/v2/liquidity/providers',
  grpcMethod: 'ListLiquidityProviders',
  tag: 3,
  cursor: textCursor('l', key),
  key,
  scope: null,
  filters: ['marketId', 'partyId'],
  needsFilter: true,
  dateRange: false,
  storage: {
    table: providerTable,
    columns: ['market_id', 'party_id', 'fee_share', 'sla'],
    // Of a party with a live provision on the market: active, undeployed, pending (docs/events.md).
    condition: `exists (
      select 1 from liquidity_provisions
      where liquidity_provisions.market_id = liquidity_providers.market_id
        and liquidity_provisions.party_id = liquidity_providers.party_id
        and liquidity_provisions.status in (1, 5, 6))`,
    madeOf: ['liquidity_provider_lists', 'liquidity_provisions'],
    arrivals: 'all rows',
  },
  fields: [
    { name: 'partyId', meaning: 'The party.', column: 'party_id', form: 'partyId' },
    { name: 'marketId', meaning: 'The market.', column: 'market_id', form: 'marketId' },
    {
      name: 'feeShare',
      meaning: "What the party's provision has a share of.",
      column: 'fee_share',
      form: {
        typeName: 'LiquidityProviderFeeShare',
        stored: [
          { name: 'party', meaning: 'The party.', form: 'partyId', isRepeated: true },
          { name: 'equityLikeShare', meaning: 'Its share of the fees for liquidity.', form: 'text' },
          {
            name: 'averageEntryValuation',
            meaning: "Average valuation of the market at which it came in, in the asset's decimals.",
            form: 'text',
          },
          {
            name: 'averageScore',
            meaning: 'How well its orders have been placed, on average.',
            form: 'text',
          },
          {
            name: 'virtualStake',
            meaning: "Its commitment as grown with the market, in the asset's decimals.",
            form: 'text',
          },
        ],
      },
    },
    {
      name: 'sla',
      meaning: 'How the party keeps its commitment; null where the market has nothing on it.',
      column: 'sla',
      ifNull: 'null',
      form: {
        typeName: 'LiquidityProviderSla',
        stored: [
          { name: 'party', meaning: 'The party.', form: 'partyId', isRepeated: true },
          {
            name: 'currentEpochFractionOfTimeOnBook',
            meaning: 'Fraction of this epoch in which enough of its orders stood in the book.',
            form: 'text',
          },
          {
            name: 'lastEpochFractionOfTimeOnBook',
            meaning: 'The same of the last epoch.',
            form: 'text',
          },
          {
            name: 'lastEpochFeePenalty',
            meaning: 'Part of its fees that it lost for the last epoch.',
            form: 'text',
          },
          {
            name: 'lastEpochBondPenalty',
            meaning: 'Part of its bond that it lost for the last epoch.',
            form: 'text',
          },
          {
            name: 'hysteresisPeriodFeePenalties',
            meaning: 'Fee penalties of the epochs before that still count.',
            form: 'texts',
          },
          {
            name: 'requiredLiquidity',
            meaning: "What it must keep in the book on each side, in the asset's decimals.",
            form: 'text',
          },
          { name: 'notionalVolumeBuys', meaning: 'What its buy orders offer.', form: 'text' },
          { name: 'notionalVolumeSells', meaning: 'What its sell orders offer.', form: 'text' },
        ],
      },
    },
  ],
  rowsStay: false,
  coverage: 'blocks by market',
})

import type { DecimalForm } from '../../model/field.ts'
import { defineResource } from '../../model/resource.ts'
import { LIVE_STATUSES, providerListTable, providerTable, provisionTable } from './table.ts'

export const EQUITY_LIKE_SHARE =
  "The provider's share of the market, by size and age of its commitment. Its part of the fees also depends on its average score and penalties."

/** The core divides to 16 digits. */
export const FRACTION: DecimalForm = { scale: 16 }
/** Fractions times a parameter of the network or of the market. */
export const PENALTY: DecimalForm = { scale: 20 }
/** Some amounts are calculated to fractions of the smallest unit, with more digits than a decimal has. */
export const AMOUNT: DecimalForm = { scale: 0, isRounded: true }

const IS_LIVE = `liquidity_provisions.status in (${LIVE_STATUSES.join(', ')})`

/** The liquidity providers of a market or a party. Fee shares and SLA figures are stored as the API's JSON. */
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
    { column: 'market_id', type: 'id' },
    { column: 'party_id', type: 'id' },
  ],
  filters: ['marketId', 'partyId'],
  required: { list: ['marketId', 'partyId'], stream: ['marketId', 'partyId'] },
  storage: {
    table: providerTable,
    // Only parties with a live provision on the market.
    condition: `exists (
      select 1 from liquidity_provisions
      where liquidity_provisions.market_id = liquidity_providers.market_id
        and liquidity_provisions.party_id = liquidity_providers.party_id
        and ${IS_LIVE})`,
    shownBy: [provisionTable],
    // The events: the one that gave the row its position, the list with its figures, and its live provisions.
    fromInGaps: `select market_id, party_id, fee_share, sla, height, event_index from liquidity_providers
      union select market_id, party_id, fee_share, sla, list_height, list_index from liquidity_providers
      union select liquidity_providers.market_id, liquidity_providers.party_id, fee_share, sla,
        liquidity_provisions.height, liquidity_provisions.event_index
      from liquidity_providers join liquidity_provisions
        on liquidity_provisions.market_id = liquidity_providers.market_id
        and liquidity_provisions.party_id = liquidity_providers.party_id
        and ${IS_LIVE}`,
    derivedFrom: [providerListTable.name, provisionTable.name],
  },
  fields: [
    { name: 'partyId', meaning: 'The party.', form: 'partyId' },
    { name: 'marketId', meaning: 'The market.', form: 'marketId' },
    {
      name: 'feeShare',
      meaning: "Figures that determine the provider's part of the liquidity fees.",
      form: {
        typeName: 'LiquidityProviderFeeShare',
        stored: [
          { name: 'party', meaning: 'The party.', form: 'partyId', isRepeated: true },
          { name: 'equityLikeShare', meaning: EQUITY_LIKE_SHARE, form: 'text', decimal: FRACTION },
          {
            name: 'averageEntryValuation',
            meaning:
              'Average market value at which it committed, in the smallest unit of the settlement asset.',
            form: 'text',
            decimal: AMOUNT,
          },
          {
            name: 'averageScore',
            meaning:
              'How close its orders are to the middle of the order book (liquidity score). Its part of the fees is `equityLikeShare` times this, divided by the sum over the providers of the market. If AMMs, which are not listed, hold a part of the equity-like share, that is an upper bound.',
            form: 'text',
            decimal: FRACTION,
          },
          {
            name: 'virtualStake',
            meaning:
              "Its commitment plus its share of the market's growth since then, in the smallest unit of the settlement asset.",
            form: 'text',
            decimal: AMOUNT,
          },
        ],
      },
    },
    {
      name: 'sla',
      meaning: 'How well the party meets its commitment. Null if the core sent none.',
      ifNull: 'null',
      form: {
        typeName: 'LiquidityProviderSla',
        stored: [
          { name: 'party', meaning: 'The party.', form: 'partyId', isRepeated: true },
          {
            name: 'currentEpochFractionOfTimeOnBook',
            meaning: 'Fraction of the current epoch during which its orders covered its commitment.',
            form: 'text',
            decimal: FRACTION,
          },
          {
            name: 'lastEpochFractionOfTimeOnBook',
            meaning: 'The same for the last completed epoch.',
            form: 'text',
            decimal: FRACTION,
          },
          {
            name: 'lastEpochFeePenalty',
            meaning: 'Fraction of its fees lost for the last epoch.',
            form: 'text',
            decimal: PENALTY,
          },
          {
            name: 'lastEpochBondPenalty',
            meaning: 'Fraction of its bond lost for the last epoch.',
            form: 'text',
            decimal: PENALTY,
          },
          {
            name: 'hysteresisPeriodFeePenalties',
            meaning: 'Fee penalties of the earlier epochs that still count.',
            form: 'texts',
          },
          {
            name: 'requiredLiquidity',
            meaning:
              'Amount to be offered on each side of the book, in the smallest unit of the settlement asset.',
            form: 'text',
            decimal: AMOUNT,
          },
          {
            name: 'notionalVolumeBuys',
            meaning:
              'Volume of its buy orders that counts towards its commitment, in the smallest unit of the settlement asset.',
            form: 'text',
            decimal: AMOUNT,
          },
          {
            name: 'notionalVolumeSells',
            meaning:
              'Volume of its sell orders that counts towards its commitment, in the smallest unit of the settlement asset.',
            form: 'text',
            decimal: AMOUNT,
          },
        ],
      },
    },
  ],
  coverage: 'blocks by market',
})

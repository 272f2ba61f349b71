import type { Resource } from './resource.ts'

/**
 * The liquidity providers of a market or a party; a row is `[marketId, partyId, feeShare, sla]`, the last two
 * as the API's JSON, made when they were taken in.
 */
export const liquidityProviders: Resource = {
  name: 'liquidityProviders',
  bodyField: 'liquidityProviders',
  path: '/api/v2/liquidity/providers',
  cursorTag: 3,
  key: [
    { column: 'market_id', type: 'id', filter: 'marketId' },
    { column: 'party_id', type: 'id', filter: 'partyId' },
  ],
  scope: null,
  filters: ['marketId', 'partyId'],
  dateRange: false,
  node: ([marketId, partyId, feeShare, sla]) =>
    `{"partyId":"${partyId}","marketId":"${marketId}","feeShare":${feeShare},"sla":${sla}}`,
}

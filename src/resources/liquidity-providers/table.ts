import { integer, place, type Table, text } from '../table.ts'

export const liquidityProviderTables: readonly Table[] = [
  {
    name: 'liquidity_provisions',
    counted: 'liquidityProvisions',
    columns: [text('provision_id'), text('market_id'), text('party_id'), integer('status'), ...place],
    keyLength: 1,
    spread: 'everywhere',
  },
  {
    name: 'liquidity_provider_lists',
    counted: null,
    columns: [text('market_id'), ...place],
    keyLength: 1,
    spread: 'market_id',
  },
  {
    name: 'liquidity_providers',
    counted: 'liquidityProviders',
    columns: [text('market_id'), text('party_id'), text('fee_share'), text('sla'), ...place],
    keyLength: 2,
    onlyIfDifferent: true,
    spread: 'market_id',
  },
]

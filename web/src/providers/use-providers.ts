import type { LiquidityProvider, LiquidityProviderFilters } from 'lyra-client'
import { askLines } from '../service/ask-lines.ts'
import { lastHeight, latestCoverage } from '../service/coverage.ts'
import { lyra } from '../service/lyra.ts'
import { useChanges } from '../service/use-changes.ts'
import { type Query, useQuery } from '../service/use-query.ts'

/** Providers that are shown, and sorted, at most; a market has a few dozen. */
export const MAX_PROVIDERS = 1_000

/** The rows of all markets, in one request. */
export const EXPORT_PATH = '/api/v2/export/liquidity-providers'

/** Providers of all markets have no stream: they are asked for again with the blocks, so often. */
const REFRESH_NS = 15_000_000_000n

/** The list, and whether there are more than it holds. */
export type ProviderList = { providers: LiquidityProvider[]; more: boolean; blockHeight: string }

/** The providers of a market or a party, or of all markets where neither is named, kept up to date. */
export function useProviders(filters: LiquidityProviderFilters): Query<ProviderList> {
  const isAll = filters.marketId === undefined && filters.partyId === undefined
  const name = JSON.stringify(filters)
  const { version } = useChanges(isAll ? null : name, (options) =>
    lyra.streamLiquidityProviders(filters, options),
  )
  const coverage = latestCoverage()
  const markets = coverage?.liquidityProviders.map(({ marketId, count }) => `${marketId} ${count}`) ?? []
  const time = BigInt(coverage?.blocks.lastTimestamp ?? 0) / REFRESH_NS
  return useQuery(
    coverage === null ? null : isAll ? `${time} ${markets.join()}` : `${name} ${version}`,
    (signal) => (isAll ? askAll(signal) : ask(filters, signal)),
    { keep: true },
  )
}

async function ask(filters: LiquidityProviderFilters, signal: AbortSignal): Promise<ProviderList> {
  const page = await lyra.liquidityProvidersPage(filters, { first: MAX_PROVIDERS, signal })
  return {
    providers: page.rows.map(({ node }) => node),
    more: page.pageInfo.hasNextPage,
    blockHeight: page.blockHeight,
  }
}

async function askAll(signal: AbortSignal): Promise<ProviderList> {
  const providers = await askLines<LiquidityProvider>(`${EXPORT_PATH}?format=ndjson`, signal)
  const coverage = latestCoverage()
  return {
    providers: providers.slice(0, MAX_PROVIDERS),
    more: providers.length > MAX_PROVIDERS,
    blockHeight: coverage === null ? '' : lastHeight(coverage),
  }
}

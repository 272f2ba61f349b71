import type { LiquidityProvider } from 'lyra-client'
import { SECOND } from '../../../src/core/domain/time.ts'
import { askLines } from '../service/ask-lines.ts'
import { lastHeight, latestCoverage } from '../service/coverage.ts'
import { lyra } from '../service/lyra.ts'
import { useChanges } from '../service/use-changes.ts'
import { type Query, useQuery } from '../service/use-query.ts'
import { type ProviderRow, withFees } from './fees.ts'
import { MOST_OF_MARKET, providersTarget } from './requests.ts'

/** Providers of all markets that are shown, sorted and added up at most. */
const MOST_OF_ALL = 20_000

/** Providers of all markets have no stream: they are asked for again with the blocks, so often. */
const REFRESH_NS = 15n * SECOND

/** The list, and whether there are more providers than it has. */
export type ProviderList = { providers: ProviderRow[]; more: boolean; blockHeight: string }

/**
 * The providers of a market, or of all markets if none is named, kept up to date. A market's are always read
 * together: their fee shares have one sum.
 */
export function useProviders(market: string | null): Query<ProviderList> {
  const coverage = latestCoverage()
  const { version } = useChanges(coverage === null ? null : market, (client, options) =>
    client.streamLiquidityProviders({ marketId: market! }, options),
  )
  const markets = coverage?.liquidityProviders.map(({ marketId, count }) => `${marketId} ${count}`) ?? []
  const time = BigInt(coverage?.blocks.lastTimestamp ?? 0) / REFRESH_NS
  return useQuery(
    coverage === null ? null : (market ?? 'all markets'),
    (signal) => (market === null ? askAll(signal) : ask(market, signal)),
    { version: market === null ? `${time} ${markets.join()}` : version },
  )
}

async function ask(marketId: string, signal: AbortSignal): Promise<ProviderList> {
  const page = await lyra.liquidityProvidersPage({ marketId }, { first: MOST_OF_MARKET, signal })
  return {
    providers: withFees(page.rows.map(({ node }) => node)),
    more: page.pageInfo.hasNextPage,
    blockHeight: page.blockHeight,
  }
}

async function askAll(signal: AbortSignal): Promise<ProviderList> {
  const providers = await askLines<LiquidityProvider>(providersTarget(null), signal)
  const coverage = latestCoverage()
  return {
    providers: withFees(providers).slice(0, MOST_OF_ALL),
    more: providers.length > MOST_OF_ALL,
    blockHeight: coverage === null ? '' : lastHeight(coverage),
  }
}

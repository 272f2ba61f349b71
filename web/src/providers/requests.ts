import { exportTarget, pageTarget } from '../../../client/src/requests.ts'

/** Providers of a market that are read at most: a market has a few dozen. */
export const MOST_OF_MARKET = 5_000

/** The request of all providers of a market, or of all markets if none is named. */
export function providersTarget(market: string | null): string {
  return market === null
    ? exportTarget('liquidityProviders', {}, { format: 'ndjson' })
    : pageTarget('liquidityProviders', { marketId: market }, { first: MOST_OF_MARKET })
}

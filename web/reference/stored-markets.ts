/** The parts of a market's summary that are used. */
type Summary = Record<
  'runningPeriod' | 'lastPaidPeriod' | 'estimate' | 'lastExternalPoint' | 'lastInternalPoint',
  object | null
> & { marketId: string; providers: string }

/** The part of a market that an operation needs to show rows, by a part of its path. */
const NEEDS: [path: string, isMet: (market: Summary) => boolean][] = [
  ['data-points', (market) => market.lastExternalPoint !== null || market.lastInternalPoint !== null],
  ['funding-periods', (market) => market.runningPeriod !== null || market.lastPaidPeriod !== null],
  ['liquidity', (market) => market.providers !== '0'],
  ['funding-estimates', (market) => market.estimate !== null],
]

/** Returns a market with rows of an operation; undefined if there is none. */
export type StoredMarkets = (path: string) => string | undefined

/** The market with the most of these parts is first. */
export async function loadStoredMarkets(): Promise<StoredMarkets> {
  const summaries = await load().catch(() => [])
  const met = (market: Summary) => NEEDS.filter(([, isMet]) => isMet(market)).length
  const sorted = summaries.toSorted((a, b) => met(b) - met(a))
  return (path) => {
    const need = NEEDS.find(([part]) => path.includes(part))
    const found = need === undefined ? undefined : sorted.find((market) => need[1](market))
    return (found ?? sorted[0])?.marketId
  }
}

async function load(): Promise<Summary[]> {
  const response = await fetch('/api/v2/market-summaries?pagination.first=200&pagination.newestFirst=false')
  if (!response.ok) return []
  const { marketSummaries } = (await response.json()) as {
    marketSummaries: { edges: { node: Summary }[] }
  }
  return marketSummaries.edges.map(({ node }) => node)
}

import { latestCoverage } from './coverage.ts'
import { instrumentOf, instruments, marketLabel } from './instruments.ts'

/** Which markets are offered: those with rows of a kind, or all that any row names. */
export type MarketKind = 'funding' | 'providers' | 'all'

/** A 64-digit id, in the case of the API. */
export const MARKET_ID = /^[0-9a-f]{64}$/

/** The ids of the markets of which the service has any rows, by name. */
export function knownMarkets(kind: MarketKind = 'all'): string[] {
  const coverage = latestCoverage()
  if (coverage === null) return []
  const { fundingPeriodDataPoints, fundingPeriods, liquidityProviders } = coverage
  const lists = {
    funding: [fundingPeriodDataPoints, fundingPeriods],
    providers: [liquidityProviders.filter(({ count }) => count !== '0')],
    all: [fundingPeriodDataPoints, fundingPeriods, liquidityProviders],
  }[kind]
  const ids = new Set(lists.flat().map(({ marketId }) => marketId))
  if (kind === 'all') for (const id of instruments.value?.keys() ?? []) ids.add(id)
  return [...ids].sort((left, right) => {
    const [a, b] = [marketLabel(left), marketLabel(right)]
    return a < b ? -1 : a > b ? 1 : left < right ? -1 : 1
  })
}

/** Whether the market's code, name or id contains every word searched for. */
export function marketMatches(marketId: string, wanted: string): boolean {
  const instrument = instrumentOf(marketId)
  const text = `${instrument?.code ?? ''} ${instrument?.name ?? ''} ${marketId}`.toLowerCase()
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

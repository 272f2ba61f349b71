import { effect } from '@preact/signals'
import type { Coverage } from 'lyra-client'
import { fundingMarket, fundingRequests } from './funding/data/requests.ts'
import { param, type View, view } from './location.ts'
import { providersTarget } from './providers/requests.ts'
import { latestCoverage } from './service/coverage.ts'
import { askEarly } from './service/early.ts'
import { MARKET_ID } from './service/markets.ts'

/** Requests the first view's data while its code is loading: on a slow network both take long. */
export function askForFirstView(): void {
  const shown = view.peek()
  const stop = effect(() => {
    const coverage = latestCoverage()
    // A store without a block would refuse them.
    const targets = coverage === null ? null : targetsOf(shown, coverage)
    if (targets === null) return
    for (const target of targets) askEarly(target)
    queueMicrotask(() => stop())
  })
}

/** The requests that a view makes first; null before they are known. */
function targetsOf(shown: View, coverage: Coverage): string[] | null {
  const market = param('market')?.toLowerCase() ?? null
  switch (shown) {
    case 'funding': {
      const given = { from: param('from'), to: param('to'), span: param('span') }
      const marketId = fundingMarket()
      return marketId === null ? null : fundingRequests(coverage, marketId, given)
    }
    case 'providers':
      return market === null || MARKET_ID.test(market) ? [providersTarget(market)] : []
    // Markets arrive by a stream, and nothing is asked early for the other views.
    case 'markets':
    case 'party':
    case 'checkpoints':
    case 'node':
      return []
  }
}

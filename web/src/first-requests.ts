import { effect } from '@preact/signals'
import { fundingMarket, fundingRequests } from './funding/requests.ts'
import { param, view } from './location.ts'
import { SUMMARIES_URL } from './markets/summary.ts'
import { latestCoverage } from './service/coverage.ts'
import { askEarly } from './service/early.ts'

/** Asks for what the first view will show while its code is on the way: on a slow network both take long. */
export function askForFirstView(): void {
  const shown = view.peek()
  const stop = effect(() => {
    const coverage = latestCoverage()
    const marketId = shown === 'funding' ? fundingMarket() : null
    // A store without a block would refuse them.
    if (coverage === null || (shown === 'funding' && marketId === null)) return
    if (shown === 'markets') askEarly(SUMMARIES_URL)
    if (marketId !== null) {
      const given = { from: param('from'), to: param('to'), span: param('span') }
      for (const target of fundingRequests(coverage, marketId, given)) askEarly(target)
    }
    queueMicrotask(() => stop())
  })
}

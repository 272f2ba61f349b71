import { marketSummaries } from '#core/resources/market-summaries'
import { MarketSummaries } from '#core/store/readings/market-summaries'
import type { Reader } from '#core/store/store'
import { type AskedPage, pageQuestion } from './page.ts'
import { pageBody } from './page-body.ts'
import { madeOf, type Question } from './question.ts'

/** What each reader keeps of the markets. */
const summariesOf = new WeakMap<Reader, MarketSummaries>()

/** A page of markets, each with its current nodes from other operations. */
export const marketSummariesQuestion: Question<AskedPage> = {
  ...pageQuestion(marketSummaries),
  make: async ({ query, backward }, { reader }) => {
    const summaries = summariesOf.get(reader) ?? new MarketSummaries()
    summariesOf.set(reader, summaries)
    const asked = { query: { ...query, resource: marketSummaries }, backward }
    const page = await reader.read(() => summaries.read(asked.query))
    return page.position === null ? null : madeOf(pageBody(asked, page), page.position, page.version)
  },
  lane: () => 'report',
  keptUntil: () => 'the next commit',
}

import { marketSummaries } from '../../resources/market-summaries.ts'
import { MarketSummaries } from '../../store/readings/market-summaries.ts'
import type { Reader } from '../../store/store.ts'
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

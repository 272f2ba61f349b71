import { marketSummaries } from '#core/resources/market-summaries'
import { MarketSummaries } from '#core/store/readings/market-summaries'
import type { Reader } from '#core/store/store'
import { exportTableOf } from '../../export/columns.ts'
import { type FileOptions, fileOptionsOf, madeFile } from './csv-file.ts'
import { type AskedPage, pageQuestion } from './page.ts'
import { pageBody } from './page-body.ts'
import { MAX_PAGE_SIZE } from './parameter-types.ts'
import { PAGINATION_PARAMETERS } from './parameters.ts'
import { madeOf, type Question } from './question.ts'

/** What each reader keeps of the markets. */
const summariesOf = new WeakMap<Reader, MarketSummaries>()

const { columns, cells } = exportTableOf(marketSummaries)

type AskedSummaries = AskedPage & { file: FileOptions | null }

const PAGES = pageQuestion(marketSummaries)

/** A page of markets, each with its current nodes from other operations. */
export const marketSummariesQuestion: Question<AskedSummaries> = {
  ...PAGES,
  check: (values, pathId) => {
    const { query, backward } = PAGES.check(values, pathId)
    const file = fileOptionsOf(values, PAGINATION_PARAMETERS)
    return { query: file === null ? query : { ...query, limit: MAX_PAGE_SIZE }, backward, file }
  },
  make: async ({ query, backward, file }, { reader }) => {
    const summaries = summariesOf.get(reader) ?? new MarketSummaries()
    summariesOf.set(reader, summaries)
    const asked = { query: { ...query, resource: marketSummaries }, backward }
    const page = await reader.read(() => summaries.read(asked.query))
    const { position, version, more } = page
    if (position === null) return null
    if (file === null) return madeOf(pageBody(asked, page), position, version)
    const rows = page.rows.map((row) => cells(row, query.selection))
    return madeFile({ name: marketSummaries.name, ...file }, columns, { rows, more }, { position, version })
  },
  lane: () => 'report',
  keptUntil: () => 'the next commit',
  description: { list: marketSummaries, isFile: true },
}

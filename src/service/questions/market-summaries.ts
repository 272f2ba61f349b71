import { marketSummaries } from '#core/resources/market-summaries'
import { MarketSummaries } from '#core/store/queries/summaries/market-summaries'
import type { Reader } from '#core/store/store'
import { exportTableOf } from '../formats/columns.ts'
import { type FileOptions, fileAnswer, fileOptionsOf } from './csv-file.ts'
import { pageQuestion } from './page.ts'
import { pageBody } from './page-body.ts'
import type { CheckedPage } from './page-request.ts'
import { MAX_PAGE_SIZE } from './parameter-types.ts'
import { PAGINATION_PARAMETERS } from './parameters.ts'
import { type Question, renderedBody } from './question.ts'

const cachedSummaries = new WeakMap<Reader, MarketSummaries>()

/** The summaries that a reader caches, for all questions. */
export function summariesOf(reader: Reader): MarketSummaries {
  const summaries = cachedSummaries.get(reader) ?? new MarketSummaries()
  cachedSummaries.set(reader, summaries)
  return summaries
}

const { columns, cells } = exportTableOf(marketSummaries)

type CheckedSummaries = CheckedPage & { file: FileOptions | null }

const PAGES = pageQuestion(marketSummaries)

/** A page of markets, each with its current nodes from other operations. */
export const marketSummariesQuestion: Question<CheckedSummaries> = {
  ...PAGES,
  check: (values, pathId) => {
    const checked = PAGES.check(values, pathId)
    const file = fileOptionsOf(values, PAGINATION_PARAMETERS)
    return file === null ? { ...checked, file } : { ...checked, file, limit: MAX_PAGE_SIZE }
  },
  render: async ({ file, ...checked }, { reader }) => {
    const summaries = summariesOf(reader)
    const query = { ...checked, resource: marketSummaries }
    const page = await reader.read(() => summaries.read(query))
    const { storeHead, version, more } = page
    if (storeHead === null) return null
    if (file === null) return renderedBody(pageBody(query, page), storeHead, version)
    const rows = page.rows.map((row) => cells(row, query.selection))
    return fileAnswer(
      { name: marketSummaries.name, ...file },
      columns,
      { rows, more },
      { storeHead, version },
    )
  },
  workload: () => ({ queue: 'report' }),
  sourceOf: () => 'the next commit',
  description: { list: marketSummaries, isFile: true },
}

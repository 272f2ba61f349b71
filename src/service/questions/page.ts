import type { Resource } from '#core/model/resource'
import { areAdjacent } from '#core/store/pages/scan'
import { pageBody } from './page-body.ts'
import { type CheckedPage, pageRequest } from './page-request.ts'
import { DEFAULT_PAGE_SIZE } from './parameter-types.ts'
import { parametersOf } from './parameters.ts'
import { type Question, renderedBody } from './question.ts'

/** More rows than a page has by default make a long page, for which short ones must not wait. */
const LONG_PAGE_ROWS = DEFAULT_PAGE_SIZE

/** The question for a page of a resource's rows. */
export function pageQuestion(resource: Resource): Question<CheckedPage> {
  return {
    path: resource.path,
    parameters: parametersOf(resource),
    check: (values, pathId) => pageRequest(resource, pathId, values),
    render: async (checked, { reader, form, requestedAt }) => {
      const query = { ...checked, resource, requestedAt }
      const { edges: _, ...rowsAlone } = query
      const page = await reader.page(form === 'json' ? query : rowsAlone)
      const { storeHead, version } = page
      if (storeHead === null) return null
      if (form === 'json') return renderedBody(pageBody(query, page), storeHead, version)
      // Loaded only if it is needed: most services speak no gRPC.
      const { pageMessage } = await import('./page-message.ts')
      const body = pageMessage(query, page)
      return { body, checkSum: null, storeHead, version }
    },
    workload: ({ limit, selection }) =>
      limit > LONG_PAGE_ROWS
        ? { queue: 'long' }
        : { queue: 'short', rows: limit, readsOnlyItsRows: areAdjacent(resource, selection) },
    sourceOf: ({ selection: { marketId = null, greatest } }) => ({
      resource: resource.name,
      // Rows of other markets may have a greater value.
      scope: greatest === undefined ? marketId : null,
    }),
    description: { list: resource },
  }
}

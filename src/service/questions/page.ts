import type { Resource } from '#core/model/resource'
import { pageBody } from './page-body.ts'
import { type AskedPage, isLong, pageRequest } from './page-request.ts'
import { parametersOf } from './parameters.ts'
import { type Question, renderedBody } from './question.ts'

/** The question for a page of a resource's rows. */
export function pageQuestion(resource: Resource): Question<AskedPage> {
  return {
    path: resource.path,
    parameters: parametersOf(resource),
    check: (values, pathId) => pageRequest(resource, pathId, values),
    render: async (asked, { reader, form, askedAt }) => {
      const query = { ...asked, resource, askedAt }
      const page = await reader.page(query)
      const { storeHead, version } = page
      if (storeHead === null) return null
      const json = pageBody(query, page)
      if (form === 'json') return renderedBody(json, storeHead, version)
      // Loaded by those that speak gRPC: most services do not.
      const { pageMessage } = await import('./page-message.ts')
      return { body: pageMessage(resource, json), checkSum: null, storeHead, version }
    },
    queueClass: (asked) => (isLong(asked) ? 'long' : 'short'),
    sourceOf: ({ selection }) => ({ resource: resource.name, scope: selection.marketId ?? null }),
    description: { list: resource },
  }
}

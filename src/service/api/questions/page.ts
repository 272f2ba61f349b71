import type { Resource } from '#core/resources/resource'
import type { PageQuery } from '#core/store/pages/page'
import { pageBody } from './page-body.ts'
import { isLong, pageRequest } from './page-request.ts'
import { parametersOf } from './parameters.ts'
import { checkSumOfMaker, type Question } from './question.ts'

/** A page that is asked for: a {@link PageRequest} without its resource, which cannot be sent between threads. */
export type AskedPage = { query: Omit<PageQuery, 'resource'>; backward: boolean }

/** The question for a page of a resource's rows. */
export function pageQuestion(resource: Resource): Question<AskedPage> {
  return {
    path: resource.path,
    parameters: parametersOf(resource),
    check: (values, pathId) => {
      const { query, backward } = pageRequest(resource, pathId, values)
      const { resource: _, ...asked } = query
      return { query: asked, backward }
    },
    make: async ({ query, backward }, { reader, form, buffers, askedAt }) => {
      const asked = { query: { ...query, resource }, backward }
      const page = await reader.page(askedAt === undefined ? asked.query : { ...asked.query, askedAt })
      const { position, version } = page
      if (position === null) return null
      let release: (() => void) | undefined
      const json =
        buffers === null
          ? pageBody(asked, page)
          : pageBody(asked, page, (bytes) => {
              const block = buffers.take(bytes)
              release = () => buffers.give(block)
              return Buffer.from(block, 0, bytes)
            })
      if (form === 'json') {
        const made = { body: json, checkSum: checkSumOfMaker(json), position, version }
        return release === undefined ? made : { ...made, release }
      }
      // Loaded by those that speak gRPC: most services do not.
      const { pageMessage } = await import('./page-message.ts')
      const body = pageMessage(resource, json)
      release?.()
      return { body, checkSum: null, position, version }
    },
    lane: ({ query }) => (isLong(query) ? 'long' : 'usual'),
    keptUntil: ({ query: { selection } }) => ({ resource: resource.name, scope: selection.marketId ?? null }),
    description: { list: resource },
  }
}

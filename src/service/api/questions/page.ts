import type { Resource } from '#core/resources/resource'
import { pageBody } from './page-body.ts'
import { type AskedPage, isLong, pageRequest } from './page-request.ts'
import { parametersOf } from './parameters.ts'
import { madeOf, type Question } from './question.ts'

/** The question for a page of a resource's rows. */
export function pageQuestion(resource: Resource): Question<AskedPage> {
  return {
    path: resource.path,
    parameters: parametersOf(resource),
    check: (values, pathId) => pageRequest(resource, pathId, values),
    make: async (asked, { reader, form, buffers, askedAt }) => {
      const query = { ...asked, resource, askedAt }
      const page = await reader.page(query)
      const { position, version } = page
      if (position === null) return null
      let release: (() => void) | undefined
      const take = (bytes: number) => {
        const block = buffers!.take(bytes)
        release = () => buffers!.give(block)
        return Buffer.from(block, 0, bytes)
      }
      const json = pageBody(query, page, buffers === null ? undefined : take)
      if (form === 'json') return { ...madeOf(json, position, version), release }
      // Loaded by those that speak gRPC: most services do not.
      const { pageMessage } = await import('./page-message.ts')
      const body = pageMessage(resource, json)
      release?.()
      return { body, checkSum: null, position, version }
    },
    lane: (asked) => (isLong(asked) ? 'long' : 'usual'),
    keptUntil: ({ selection }) => ({ resource: resource.name, scope: selection.marketId ?? null }),
    description: { list: resource },
  }
}

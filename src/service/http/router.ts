import { type ApiError, notFound } from './errors.ts'
import type { Exchange } from './exchange.ts'

/** What answers the requests of a path. */
export type Route = {
  /** `/api/v2/series/:marketId`: the last part may be a parameter, which may be empty. */
  path: string
  /** Whether it reads no rows, and so answers whatever the rate and the state of the store. */
  isUnlimited?: true
  /** Whether nothing exists for a path parameter. */
  isMissing?(id: string): boolean
  /** Answers GET and HEAD, synchronously if possible. Rejects with {@link ApiError}, and with internal errors. */
  answer(exchange: Exchange): Promise<void> | undefined
}

/** The route of a request's path, and the parameter in it; an error for an unknown path. */
export type FindRoute = (path: string) => { route: Route; pathId: string | null } | ApiError

/** Folders whose paths are listed in the error of an unknown one. The data node has none of them. */
const NAMED_FOLDERS = /^\/api\/v2\/(?:stream|export)\//

/** A target may begin with the server's address (RFC 9112, 3.2.2). */
const ADDRESS = /^https?:\/\/[^/]*(?=\/)/

/** Finds routes by whole paths first, then by the part before a parameter. */
export function createRouter(routes: readonly Route[]): FindRoute {
  const whole = new Map<string, Route>()
  const withParameter = new Map<string, Route>()
  for (const route of routes) {
    const [head, parameter] = route.path.split(':') as [string, string?]
    if (parameter === undefined) whole.set(head, route)
    else withParameter.set(head, route)
  }
  const unknown = (path: string) => {
    const folder = NAMED_FOLDERS.exec(path)?.[0]
    if (folder === undefined) return notFound()
    // A path with an ending is the same export, and only the documentation lists it.
    const siblings = [...whole.keys()].filter((own) => own.startsWith(folder) && !own.includes('.'))
    return notFound(
      `this is Lyra, whose ${folder} has ${siblings.map((own) => own.slice(folder.length)).join(', ')}`,
    )
  }
  return (given) => {
    const path = given.startsWith('/') ? given : given.replace(ADDRESS, '')
    const route = whole.get(decoded(path, decodeURI))
    if (route !== undefined) return { route, pathId: null }
    const cut = path.lastIndexOf('/') + 1
    const ofFolder = withParameter.get(decoded(path.slice(0, cut), decodeURI))
    if (ofFolder === undefined) return unknown(path)
    const pathId = decoded(path.slice(cut), decodeURIComponent)
    return ofFolder.isMissing?.(pathId) === true ? notFound() : { route: ofFolder, pathId }
  }
}

/** Text that cannot be decoded names nothing. */
function decoded(text: string, decode: (text: string) => string): string {
  if (!text.includes('%')) return text
  try {
    return decode(text)
  } catch {
    return ''
  }
}

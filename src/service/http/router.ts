import { type ApiError, notFound } from './errors.ts'
import type { Exchange } from './exchange.ts'

/** What answers the requests of a path. */
export type Route = {
  /** `/api/v2/series/:marketId`: one part may be a parameter, which may be empty. */
  path: string
  /** Whether its requests do not count for the rate limit, and its errors show no store head. */
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

/** Finds routes by whole paths first, then by the parts before and after a parameter. */
export function createRouter(routes: readonly Route[]): FindRoute {
  const whole = new Map<string, Route>()
  /** Those with a parameter, by what follows it, and then by what precedes it. */
  const withParameter = new Map<string, Map<string, Route>>([['', new Map()]])
  for (const route of routes) {
    const [, head, tail] = /^([^:]*):\w+(.*)$/.exec(route.path) ?? []
    if (head === undefined) whole.set(route.path, route)
    else withParameter.set(tail!, (withParameter.get(tail!) ?? new Map<string, Route>()).set(head, route))
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
    for (const [tail, byHead] of withParameter) {
      if (!path.endsWith(tail)) continue
      const rest = path.slice(0, path.length - tail.length)
      const cut = rest.lastIndexOf('/') + 1
      const found = byHead.get(decoded(rest.slice(0, cut), decodeURI))
      if (found === undefined) continue
      const pathId = decoded(rest.slice(cut), decodeURIComponent)
      return found.isMissing?.(pathId) === true ? notFound() : { route: found, pathId }
    }
    return unknown(path)
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

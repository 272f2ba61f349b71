import { malformedRequest } from './errors.ts'

/** Names and values of a query, in their order. */
export type QueryPairs = [name: string, value: string][]

/** The query of a request target: the text after its first `?`. */
export function queryOf(target: string): string {
  const mark = target.indexOf('?')
  return mark === -1 ? '' : target.slice(mark + 1)
}

/** The path of a request target. */
export function pathOf(target: string): string {
  const mark = target.indexOf('?')
  return mark === -1 ? target : target.slice(0, mark)
}

/**
 * Reads a query as URL search parameters (`+` is a space), strictly.
 *
 * @throws {ApiError} 400 for invalid percent-encoding, and for invalid UTF-8.
 */
export function parseQuery(query: string): QueryPairs {
  const pairs: QueryPairs = []
  for (const part of query.split('&')) {
    if (part === '') continue
    const mark = part.indexOf('=')
    const name = mark === -1 ? part : part.slice(0, mark)
    const value = mark === -1 ? '' : part.slice(mark + 1)
    pairs.push([decodeComponent(name), decodeComponent(value)])
  }
  return pairs
}

/** Whether a query contains a name, with any value, even if the rest cannot be decoded. */
export function hasName(query: string, wanted: string): boolean {
  if (!query.includes('%') && !query.includes(wanted)) return false
  return query.split('&').some((part) => {
    try {
      return parseQuery(part)[0]?.[0] === wanted
    } catch {
      return false
    }
  })
}

/**
 * Checks that a request target is valid and can be decoded.
 *
 * @throws {ApiError} 400 for invalid percent-encoding, invalid UTF-8, and a fragment.
 */
export function checkTarget(target: string): void {
  if (!/[%#]/.test(target)) return
  if (target.includes('#')) {
    throw malformedRequest('the request target contains a fragment, which must not be sent; write # as %23')
  }
  decode(pathOf(target), 'path')
  parseQuery(queryOf(target))
}

function decodeComponent(text: string): string {
  return decode(text.includes('+') ? text.replaceAll('+', ' ') : text, 'query')
}

function decode(text: string, where: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    throw malformedRequest(
      `the ${where} of the request contains invalid percent-encoding or invalid UTF-8; write % as %25`,
    )
  }
}

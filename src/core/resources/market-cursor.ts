import type { Key, Resource, Row } from '../model/resource.ts'
import { type CursorFault, decodeCursor, encodeCursor } from './cursor.ts'
import { LISTS } from './resources.ts'

/*
 * Cursors of rows that are bound to a market contain only its fingerprint. If the rows of all markets are one list,
 * by market id, a cursor names its market: `x`, the 32 bytes of its id in base64url, and the row's own cursor. So it
 * resumes in the middle of a market, even if markets were added or removed since.
 */

const MARKET_CURSOR = /^x([A-Za-z0-9_-]{43})(.+)$/

/** The cursor of a row in the list of all markets, of a resource whose rows are bound to one. */
export function encodeMarketCursor(resource: Resource, marketId: string, row: Row | Key): string {
  return `${marketCursorHead(marketId)}${encodeCursor(resource, { marketId }, row)}`
}

/** Text before a row's own cursor. */
export function marketCursorHead(marketId: string): string {
  return `x${Buffer.from(marketId, 'hex').toString('base64url')}`
}

/** The market and the key in such a cursor, or its fault. */
export function decodeMarketCursor(
  resource: Resource,
  text: string,
): { marketId: string; key: Key } | CursorFault {
  if (text === '') return 'empty'
  const match = MARKET_CURSOR.exec(text)
  if (match === null)
    return LISTS.some(({ cursor }) => cursor.isOne(text)) ? 'of another resource' : 'garbled'
  const [, written, rest] = match as unknown as [string, string, string]
  const id = Buffer.from(written, 'base64url')
  if (id.toString('base64url') !== written) return 'garbled'
  const marketId = id.toString('hex')
  const key = decodeCursor(resource, { marketId }, rest)
  if (typeof key !== 'string') return { marketId, key }
  // The fingerprint within is of another market than the id before it: no service has written that.
  return key === 'of another market' ? 'garbled' : key
}

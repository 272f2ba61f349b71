import type { Key, Resource, Row } from '../model/resource.ts'
import { type CursorFault, decodeCursor, encodeCursor } from './cursor.ts'
import { LISTS } from './resources.ts'

/*
 * Cursors of rows that are bound to a market contain only its fingerprint. In one list of all markets, sorted by market id,
 * a cursor also names its market: `x`, the 32 bytes of its id in base64url, and the row's own cursor. It resumes in the
 * middle of a market, even if markets were added or removed since.
 */

const MARKET_CURSOR = /^x([A-Za-z0-9_-]{43})(.+)$/

/** The cursor of a row in the list of all markets, for a resource whose rows are bound to one. */
export function encodeMarketCursor(resource: Resource, marketId: string, row: Row | Key): string {
  return `${marketCursorHead(marketId)}${encodeCursor(resource, { marketId }, row)}`
}

/** The text before a row's own cursor. */
export function marketCursorHead(marketId: string): string {
  return `x${Buffer.from(marketId, 'hex').toString('base64url')}`
}

/** The market and the key in such a cursor, or the reason why it is invalid. */
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
  // The fingerprint belongs to another market than the id before it: no service has written this.
  return key === 'of another market' ? 'garbled' : key
}

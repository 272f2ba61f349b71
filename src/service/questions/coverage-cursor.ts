import { MAX_INT64 } from '#core/domain/integers'
import type { ContentsQuery } from '#core/store/queries/contents/store-contents'

/** Start of the rest of the coverage. */
type CoverageRest = Pick<ContentsQuery, 'fromHeight' | 'afterMarket'>

/** Longest id of a market in a cursor: that of any event is shorter. */
const MAX_ID = 1_024

const HEIGHT = /^\d{1,20}$/

/** The rest as the text that clients send back. */
export function encodeCoverageCursor({ fromHeight, afterMarket }: CoverageRest): string {
  return Buffer.from(JSON.stringify([fromHeight?.toString() ?? null, afterMarket])).toString('base64url')
}

/** Parses a cursor; null for a text that {@link encodeCoverageCursor} cannot have written. */
export function decodeCoverageCursor(text: string): CoverageRest | null {
  let parts: unknown
  try {
    parts = JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    return null
  }
  if (!Array.isArray(parts) || parts.length !== 2) return null
  const [height, market] = parts as unknown[]
  const isHeight = height === null || (typeof height === 'string' && HEIGHT.test(height))
  const isMarket = market === null || (typeof market === 'string' && isDatabaseText(market))
  if (!isHeight || !isMarket) return null
  const fromHeight = height === null ? null : BigInt(height)
  // No store holds blocks of greater heights.
  if (fromHeight !== null && fromHeight > MAX_INT64) return null
  return { fromHeight, afterMarket: market }
}

/** Whether every database takes a text as a value. */
function isDatabaseText(text: string): boolean {
  return text.length <= MAX_ID && text.isWellFormed() && !text.includes('\0')
}

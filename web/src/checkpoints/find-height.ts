import type { LyraClient } from 'lyra-client'

/** Checkpoints that are read at a time on the way to a height. */
const PAGE_ROWS = 5_000

/** Position of a height in the list: the cursor of the checkpoint before it, newest first; null at the top. */
export type HeightPlace = {
  before: string | null
  /** The height of the last checkpoint at or below the one asked for; null if there is none. */
  atBlock: string | null
}

/**
 * Finds the last checkpoint at or below a height. The API knows no such filter, so the list is walked from its
 * nearer end.
 *
 * @param last height of the newest checkpoint or of the last block, first that of the oldest
 * @param onProgress called with the height that has been reached
 */
export async function findHeight(
  lyra: Pick<LyraClient, 'checkpointsPage'>,
  height: bigint,
  heights: { first: bigint; last: bigint },
  signal: AbortSignal,
  onProgress: (atBlock: string) => void,
): Promise<HeightPlace> {
  const fromTop = heights.last - height <= height - heights.first
  let cursor: string | undefined
  // From the top: the last one above the height that was passed. From below: the last one at or below it.
  let passed: { cursor: string; atBlock: string } | null = null
  for (;;) {
    const page = await lyra.checkpointsPage(
      {},
      { first: PAGE_ROWS, after: cursor, newestFirst: fromTop, signal },
    )
    for (const { node, cursor: own } of page.rows) {
      const above = BigInt(node.atBlock) > height
      if (above !== fromTop) {
        return fromTop
          ? { before: passed?.cursor ?? null, atBlock: node.atBlock }
          : { before: own, atBlock: passed?.atBlock ?? null }
      }
      passed = { cursor: own, atBlock: node.atBlock }
    }
    if (passed !== null) onProgress(passed.atBlock)
    if (!page.pageInfo.hasNextPage) {
      return fromTop
        ? { before: passed?.cursor ?? null, atBlock: null }
        : { before: null, atBlock: passed?.atBlock ?? null }
    }
    cursor = page.pageInfo.endCursor
  }
}

/** Reads a height as someone typed it, or copied it from a page; null if it is none. Commas may only group digits in threes. */
export function readHeight(typed: string): string | null {
  const text = typed.trim()
  const digits = /^\d{1,3}(,\d{3})+$/.test(text) ? text.replaceAll(',', '') : text
  return /^\d{1,19}$/.test(digits) ? digits : null
}

const BETWEEN = Buffer.from(',{"node":')

/**
 * Cuts the row behind a page's last one off edges that a database has written.
 *
 * @param text the edges, with commas between them
 * @param count how many they are: one more than `limit` at most
 * @param reversed whether the last row read stands first
 */
export function cutEdges(
  text: Buffer,
  count: number,
  limit: number,
  reversed: boolean,
): { edges: Buffer; more: boolean } {
  if (count <= limit) return { edges: text, more: false }
  const edges = reversed
    ? text.subarray(text.indexOf(BETWEEN) + 1)
    : text.subarray(0, text.lastIndexOf(BETWEEN))
  return { edges, more: true }
}

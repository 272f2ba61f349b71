import type { StreamOptions, StreamRow } from 'lyra-client'

export type FollowOptions<Node> = {
  /** Rows of later blocks are reported; of those that come from now on if it is not given. */
  afterBlock?: string
  signal: AbortSignal
  onRow: (row: Node) => void
  /** The page is visible again, and rows may have been missed if none has arrived yet. */
  onResume?: () => void
}

/**
 * Follows a stream as long as the page is seen: a browser has six connections to a host, for all of its tabs
 * together. Resumes after the last row.
 *
 * @throws {LyraApiError} if the service refuses the stream for good
 */
export async function followStream<Node>(
  open: (options: StreamOptions) => AsyncIterable<StreamRow<Node>>,
  { afterBlock, signal, onRow, onResume }: FollowOptions<Node>,
): Promise<void> {
  let cursor: string | undefined
  for (let seen = 0; !signal.aborted; seen++) {
    if (document.hidden) await nextChange(signal)
    if (document.hidden) continue
    if (seen > 0) onResume?.()
    const hidden = new AbortController()
    const onChange = () => document.hidden && hidden.abort()
    document.addEventListener('visibilitychange', onChange)
    try {
      const ends = AbortSignal.any([signal, hidden.signal])
      for await (const row of open({ after: cursor, afterBlock, signal: ends })) {
        cursor = row.cursor
        onRow(row.row)
      }
    } finally {
      document.removeEventListener('visibilitychange', onChange)
    }
  }
}

/** Resolves when the page is hidden or seen, or the signal ends it. */
function nextChange(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    document.addEventListener('visibilitychange', () => resolve(), { once: true, signal })
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

import { createLyraClient, type LyraClient, type StreamOptions, type StreamRow } from 'lyra-client'
import { watchedFetch } from './connection.ts'

/**
 * The service sends something every 4 s. A stream that is silent for longer does not come through: a proxy buffers its answer, or all
 * connections of the browser are in use.
 */
const SILENT_MS = 10_000

export type FollowOptions<Node> = {
  /** The height after which rows are reported; without it, those of blocks that arrive from now on. */
  afterBlock?: string
  signal: AbortSignal
  onRow: (row: Node) => void
  /** The stream does not come through, or does so again. Called with true once, and with false whenever anything comes. */
  onSilence: (isSilent: boolean) => void
  /** Whether to follow also while the page is hidden. */
  whileHidden?: boolean
  /** The page is visible again, and rows may have been missed if none has arrived yet. */
  onResume?: () => void
}

/**
 * Follows a stream, as long as the page is seen unless it says otherwise: a browser has six connections to a host, for all of its
 * tabs together. Resumes after the last row.
 *
 * @throws {LyraApiError | LyraAnswerError} if the service has no such stream, or the answer is none
 */
export async function followStream<Node>(
  open: (client: LyraClient, options: StreamOptions) => AsyncIterable<StreamRow<Node>>,
  { afterBlock, signal, onRow, onSilence, whileHidden = false, onResume }: FollowOptions<Node>,
): Promise<void> {
  let silence: ReturnType<typeof setTimeout> | undefined
  const listen = () => {
    clearTimeout(silence)
    silence = setTimeout(() => onSilence(true), SILENT_MS)
  }
  const onPiece = () => {
    onSilence(false)
    listen()
  }
  const client = createLyraClient({ url: location.origin, fetch: heardFetch(onPiece) })
  const isPaused = () => document.hidden && !whileHidden
  let cursor: string | undefined
  for (let seen = 0; !signal.aborted; seen++) {
    if (isPaused()) await nextChange(signal)
    if (isPaused()) continue
    if (seen > 0) onResume?.()
    const hidden = new AbortController()
    const onChange = () => isPaused() && hidden.abort()
    document.addEventListener('visibilitychange', onChange)
    listen()
    try {
      const ends = AbortSignal.any([signal, hidden.signal])
      for await (const row of open(client, { after: cursor, afterBlock, signal: ends })) {
        cursor = row.cursor
        onRow(row.row)
      }
    } finally {
      clearTimeout(silence)
      document.removeEventListener('visibilitychange', onChange)
    }
  }
}

/** `fetch` that tells of each piece of a body. */
function heardFetch(onPiece: () => void): typeof fetch {
  return async (input, init) => {
    const response = await watchedFetch(input, init)
    if (response.body === null) return response
    const heard = new TransformStream<Uint8Array, Uint8Array>({
      transform: (piece, body) => {
        onPiece()
        body.enqueue(piece)
      },
    })
    return new Response(response.body.pipeThrough(heard), response)
  }
}

/** Resolves when the page is hidden or seen, or the signal ends it. */
function nextChange(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    document.addEventListener('visibilitychange', () => resolve(), { once: true, signal })
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

import type { LyraClient, StreamOptions, StreamRow } from 'lyra-client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { lastHeight, latestCoverage } from './coverage.ts'
import { followStream } from './follow-stream.ts'

/** Rows come one by one, many at a time: they are shown together, so often at most. */
const SHOW_MS = 1_500

/** Changes on the service since a view was opened. */
export type Changes = {
  /** Changes whenever there may be something new to ask for. */
  version: string
  /** How many rows the stream has brought. */
  rows: number
}

/**
 * Counts a stream's events, so that a view can reload. While there is no such stream, or it does not come through, each new block
 * counts.
 *
 * @param key names the stream; null follows none
 */
export function useChanges<Node>(
  key: string | null,
  open: (client: LyraClient, options: StreamOptions) => AsyncIterable<StreamRow<Node>>,
): Changes {
  const [seen, setSeen] = useState({ rows: 0, resumed: 0 })
  const [isSilent, setSilent] = useState(false)
  const latest = useRef(open)
  latest.current = open
  const coverage = latestCoverage()
  useEffect(() => {
    setSeen({ rows: 0, resumed: 0 })
    if (key === null) return
    const stop = new AbortController()
    let waiting = 0
    let timer: ReturnType<typeof setTimeout> | undefined
    const show = () => {
      timer = undefined
      const rows = waiting
      waiting = 0
      setSeen((known) => ({ ...known, rows: known.rows + rows }))
    }
    followStream((client, options) => latest.current(client, options), {
      signal: stop.signal,
      onRow: () => {
        waiting++
        timer ??= setTimeout(show, SHOW_MS)
      },
      onSilence: setSilent,
      onResume: () => setSeen((known) => ({ ...known, resumed: known.resumed + 1 })),
    }).catch(() => setSilent(true))
    return () => {
      stop.abort()
      clearTimeout(timer)
    }
  }, [key])
  const height = isSilent && coverage !== null ? lastHeight(coverage) : ''
  return { version: `${seen.rows} ${seen.resumed} ${height}`, rows: seen.rows }
}

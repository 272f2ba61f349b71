import { LyraApiError, type MarketSummary } from 'lyra-client'
import { useEffect, useState } from 'preact/hooks'
import { lastHeight, latestCoverage } from '../service/coverage.ts'
import { followStream } from '../service/follow-stream.ts'
import { lyra } from '../service/lyra.ts'
import { type Query, useQuery } from '../service/use-query.ts'
import { askSummaries } from './summary.ts'

/** Changes arrive one by one and are shown together, milliseconds. */
const SHOW_MS = 200

/** How long the stream may take to send every summary before the list is requested, milliseconds. */
const STREAM_WAIT_MS = 2_000

/** How the stream stands: `late` if it has not sent every summary in time, `refused` if it never will. */
type StreamState = 'awaited' | 'late' | 'refused'

/**
 * The state of all markets, by their stream. If that is refused, the list is requested after each block; if it is late, once.
 */
export function useSummaries(): Query<MarketSummary[]> {
  const coverage = latestCoverage()
  const hasBlocks = coverage !== null
  const [stream, setStream] = useState<StreamState>('awaited')
  const [streamed, setStreamed] = useState<MarketSummary[] | null>(null)
  const blocks = hasBlocks ? `${lastHeight(coverage)} ${coverage.instruments.count}` : ''
  const isListed = hasBlocks && streamed === null && stream !== 'awaited'
  const list = useQuery(isListed ? 'all' : null, askSummaries, {
    version: stream === 'refused' ? blocks : '',
  })
  useEffect(() => {
    if (!hasBlocks) return
    const stop = new AbortController()
    const summaries = new Map<string, MarketSummary>()
    let isComplete = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const show = () => {
      clearTimeout(timer)
      timer = undefined
      setStreamed([...summaries.values()])
    }
    const late = setTimeout(
      () => setStream((known) => (known === 'refused' ? known : 'late')),
      STREAM_WAIT_MS,
    )
    const onComplete = () => {
      clearTimeout(late)
      isComplete = true
      show()
    }
    followStream(({ signal }) => lyra.streamMarketSummaries({}, { signal, onComplete }), {
      signal: stop.signal,
      onRow: (change) => {
        // The first event of a market has all parts.
        summaries.set(change.marketId, { ...summaries.get(change.marketId)!, ...change })
        if (isComplete) timer ??= setTimeout(show, SHOW_MS)
      },
    }).catch((error) => {
      if (error instanceof LyraApiError) setStream('refused')
    })
    return () => {
      stop.abort()
      clearTimeout(late)
      clearTimeout(timer)
    }
  }, [hasBlocks])
  if (streamed === null) return list
  return {
    data: streamed,
    isOther: false,
    staleSince: null,
    error: null,
    loading: false,
    reload: list.reload,
  }
}

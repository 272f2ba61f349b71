import type { MarketSummary } from 'lyra-client'
import { useEffect, useState } from 'preact/hooks'
import { lastHeight, latestCoverage } from './coverage.ts'
import { followStream } from './follow-stream.ts'
import { askSummaries } from './summary.ts'
import { type Query, useQuery } from './use-query.ts'

/** Changes arrive one by one and are shown together, milliseconds. */
const SHOW_MS = 200

/** How long the stream may take to send every summary before the list is requested, milliseconds. */
const STREAM_WAIT_MS = 2_000

/**
 * The state of all markets, by their stream. While that has not sent every summary in time, does not come through or is refused, the
 * list is requested after each block.
 *
 * @param whileHidden whether it is followed also while the page is hidden
 */
export function useSummaries(whileHidden = false): Query<MarketSummary[]> {
  const coverage = latestCoverage()
  const hasBlocks = coverage !== null
  const [streamed, setStreamed] = useState<MarketSummary[] | null>(null)
  /** When the stream last sent anything, milliseconds, if the list is requested since then; null while the stream is well. */
  const [listedSince, setListedSince] = useState<number | null>(null)
  const list = useQuery(hasBlocks && listedSince !== null ? `${listedSince}` : null, askSummaries, {
    version: hasBlocks ? `${lastHeight(coverage)} ${coverage.instruments.count}` : '',
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
    let heardAt = Date.now()
    const requestList = () => setListedSince((known) => known ?? heardAt)
    const late = setTimeout(requestList, STREAM_WAIT_MS)
    const onComplete = () => {
      clearTimeout(late)
      isComplete = true
      setListedSince(null)
      show()
    }
    followStream((client, { signal }) => client.streamMarketSummaries({}, { signal, onComplete }), {
      signal: stop.signal,
      whileHidden,
      onRow: (change) => {
        // The first event of a market has all parts.
        summaries.set(change.marketId, { ...summaries.get(change.marketId)!, ...change })
        if (isComplete) timer ??= setTimeout(show, SHOW_MS)
      },
      onSilence: (isSilent) => {
        if (!isSilent) heardAt = Date.now()
        if (isSilent) requestList()
        else if (isComplete) setListedSince(null)
      },
    }).catch(requestList)
    return () => {
      stop.abort()
      clearTimeout(late)
      clearTimeout(timer)
    }
  }, [hasBlocks])
  if (streamed === null || (list.data !== null && !list.isOther)) return list
  const { error, loading, reload } = list
  return {
    data: streamed,
    isOther: false,
    staleSince: error === null ? null : listedSince,
    error,
    loading,
    reload,
  }
}

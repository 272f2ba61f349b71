import { LyraApiError, type MarketSummary, type MarketSummaryChange } from 'lyra-client'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { lastHeight, latestCoverage } from '../service/coverage.ts'
import { followStream } from '../service/follow-stream.ts'
import { lyra } from '../service/lyra.ts'
import { type Query, useQuery } from '../service/use-query.ts'
import { askSummaries, withChanges } from './summary.ts'

/** Changes arrive one by one and are shown together. */
const SHOW_MS = 200

/**
 * Requests the list of market summaries, and follows their stream. If the service refuses the stream, requests the list
 * again after each block.
 */
export function useSummaries(): Query<MarketSummary[]> {
  const coverage = latestCoverage()
  const hasBlocks = coverage !== null
  const [streams, setStreams] = useState(true)
  const [changes, setChanges] = useState<ReadonlyMap<string, MarketSummaryChange>>(new Map())
  const blocks = hasBlocks ? `${lastHeight(coverage)} ${coverage.instruments.count}` : ''
  const query = useQuery(hasBlocks ? 'all' : null, askSummaries, { version: streams ? '' : blocks })
  useEffect(() => {
    if (!hasBlocks) return
    const stop = new AbortController()
    const changed = new Map<string, MarketSummaryChange>()
    let timer: ReturnType<typeof setTimeout> | undefined
    const show = () => {
      timer = undefined
      setChanges(new Map(changed))
    }
    followStream((options) => lyra.streamMarketSummaries({}, options), {
      signal: stop.signal,
      onRow: (row) => {
        changed.set(row.marketId, { ...changed.get(row.marketId), ...row })
        timer ??= setTimeout(show, SHOW_MS)
      },
    }).catch((error) => {
      if (error instanceof LyraApiError) setStreams(false)
    })
    return () => {
      stop.abort()
      clearTimeout(timer)
    }
  }, [hasBlocks])
  const { data } = query
  const summaries = useMemo(() => (data === null ? null : withChanges(data, changes)), [data, changes])
  return { ...query, data: summaries }
}

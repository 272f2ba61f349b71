import { type LiquidityProvider, type LiquidityProviderFilters, LyraApiError } from 'lyra-client'
import { useEffect, useState } from 'preact/hooks'
import { lastHeight, latestCoverage } from '../service/coverage.ts'
import { followStream } from '../service/follow-stream.ts'
import { lyra } from '../service/lyra.ts'
import { type Query, useQuery } from '../service/use-query.ts'

/** Providers that are shown, and sorted, at most; a market has a few dozen. */
export const MAX_PROVIDERS = 1_000

/** Changes come one by one, many at a time. */
const REST_MS = 400

/** The list, and whether there are more than it holds. */
export type ProviderList = { providers: LiquidityProvider[]; more: boolean; blockHeight: string }

/** The providers of a market or a party, kept up to date by the stream, or by the blocks that come without one. */
export function useProviders(filters: LiquidityProviderFilters | null): Query<ProviderList> {
  const [changes, setChanges] = useState(0)
  const [streams, setStreams] = useState(true)
  const name = filters === null ? null : JSON.stringify(filters)
  const coverage = latestCoverage()
  const height = streams || coverage === null ? '' : lastHeight(coverage)
  const query = useQuery(
    name === null ? null : `${name} ${changes} ${height}`,
    async (signal) => {
      const page = await lyra.liquidityProvidersPage(filters!, { first: MAX_PROVIDERS, signal })
      return {
        providers: page.rows.map(({ node }) => node),
        more: page.pageInfo.hasNextPage,
        blockHeight: page.blockHeight,
      }
    },
    { keep: true },
  )
  useEffect(() => {
    if (name === null) return
    const stop = new AbortController()
    void follow(JSON.parse(name), stop.signal, () => setChanges((count) => count + 1)).catch((error) => {
      if (error instanceof LyraApiError) setStreams(false)
    })
    return () => stop.abort()
  }, [name])
  return query
}

/** Tells of changes, those that come together as one. */
async function follow(
  filters: LiquidityProviderFilters,
  signal: AbortSignal,
  onChange: () => void,
): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  signal.addEventListener('abort', () => clearTimeout(timer))
  await followStream((options) => lyra.streamLiquidityProviders(filters, options), {
    signal,
    onRow: () => {
      clearTimeout(timer)
      timer = setTimeout(onChange, REST_MS)
    },
    onResume: onChange,
  })
}

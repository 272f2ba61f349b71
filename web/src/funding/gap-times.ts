import type { Coverage, LyraClient } from 'lyra-client'
import { useEffect, useState } from 'preact/hooks'
import type { Shade } from '../charts/draw.ts'
import { lyra } from '../service/lyra.ts'

/** Gaps of which the time is asked: the last ones. */
const MOST_GAPS = 8

/** How long to wait for the first row after a gap. */
const WAIT_MS = 4_000

/** Times that were found, by market and heights. */
const known = new Map<string, Shade>()

/**
 * The time span of a gap's blocks: from the market's last point before it to its first one after it. The coverage only
 * has heights, so the stream is asked for the first row after it. Null if no point followed.
 */
async function askGapTime(
  client: Pick<LyraClient, 'streamFundingPeriodDataPoints' | 'fundingPeriodDataPointsPage'>,
  marketId: string,
  lastHeight: string,
  signal: AbortSignal,
): Promise<Shade | null> {
  const stop = AbortSignal.any([signal, AbortSignal.timeout(WAIT_MS)])
  const filters = { marketId, source: 'SOURCE_INTERNAL' } as const
  for await (const { row } of client.streamFundingPeriodDataPoints(filters, {
    afterBlock: lastHeight,
    signal: stop,
  })) {
    const to = BigInt(row.timestamp)
    const { rows } = await client.fundingPeriodDataPointsPage({ marketId, to }, { first: 1, signal })
    const before = rows[0]?.node.timestamp
    return { kind: 'gap', from: before === undefined ? to : BigInt(before), to }
  }
  return null
}

/** The times of the gaps of a service, as a market's points show them. */
export function useGapTimes(marketId: string, gaps: Coverage['blocks']['gaps']): readonly Shade[] {
  const [shades, setShades] = useState<readonly Shade[]>([])
  const last = gaps.slice(-MOST_GAPS)
  const key = last.map(({ from, to }) => `${from}-${to}`).join(' ')
  useEffect(() => {
    const stop = new AbortController()
    const ask = async () => {
      const found: Shade[] = []
      for (const range of key === '' ? [] : key.split(' ')) {
        const name = `${marketId} ${range}`
        const shade =
          known.get(name) ??
          (await askGapTime(lyra, marketId, range.split('-')[1]!, stop.signal).catch(() => null))
        if (stop.signal.aborted) return
        if (shade === null) continue
        known.set(name, shade)
        found.push(shade)
      }
      setShades(found)
    }
    void ask()
    return () => stop.abort()
  }, [marketId, key])
  return shades
}

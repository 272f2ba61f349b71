import type { Coverage, LyraClient } from 'lyra-client'
import { useEffect, useState } from 'preact/hooks'
import type { Shade } from '../charts/draw.ts'
import { lyra } from '../service/lyra.ts'

/** Maximum number of gaps whose times are requested: the last ones. */
const MOST_GAPS = 8

/** How long to wait for the rows about a gap, and before asking again if they did not come. */
const WAIT_MS = 4_000

/** Blocks before a gap that are searched for the market's last point: more if it was quiet. */
const BLOCKS_BEFORE = [64n, 4_096n, 262_144n]

/** Times that were found, by market and heights. */
const known = new Map<string, Shade>()

/**
 * The time span of a gap's blocks: from the market's last internal point before it to its first later one after it. The
 * coverage only has heights, so the stream is asked for the rows of the blocks about it. A point's own time does not tell
 * on which side it lies: an oracle may date a point back, and a new period repeats the last point of the one before. Null
 * if there is no point on one side; an error if the rows took longer than `WAIT_MS`.
 */
export async function askGapTime(
  client: Pick<LyraClient, 'streamFundingPeriodDataPoints'>,
  marketId: string,
  gap: { from: string; to: string },
  signal: AbortSignal,
): Promise<Shade | null> {
  const stop = AbortSignal.any([signal, AbortSignal.timeout(WAIT_MS)])
  const rowsAfter = (height: bigint) =>
    client.streamFundingPeriodDataPoints(
      { marketId, source: 'SOURCE_INTERNAL' },
      { afterBlock: `${height < 0n ? 0n : height}`, signal: stop },
    )
  let next: string | null = null
  for await (const { row } of rowsAfter(BigInt(gap.to))) {
    next = JSON.stringify(row)
    break
  }
  for (const blocks of next === null ? [] : BLOCKS_BEFORE) {
    let last: bigint | null = null
    let isAfter = false
    for await (const { row } of rowsAfter(BigInt(gap.from) - 1n - blocks)) {
      const time = BigInt(row.timestamp)
      isAfter ||= JSON.stringify(row) === next
      if (isAfter && last === null) break
      if (isAfter && time > last!) return { kind: 'gap', from: last!, to: time }
      if (!isAfter && (last === null || time > last)) last = time
    }
  }
  // A stream whose signal aborts ends without an error.
  stop.throwIfAborted()
  return null
}

/** The times of the gaps of a service, as a market's points show them. */
export function useGapTimes(marketId: string, gaps: Coverage['blocks']['gaps']): readonly Shade[] {
  const [shades, setShades] = useState<readonly Shade[]>([])
  const last = gaps.slice(-MOST_GAPS)
  const key = last.map(({ from, to }) => `${from}-${to}`).join(' ')
  useEffect(() => {
    const stop = new AbortController()
    let again: ReturnType<typeof setTimeout> | undefined
    const ask = async () => {
      const found: Shade[] = []
      let failed = false
      for (const gap of last) {
        const name = `${marketId} ${gap.from}-${gap.to}`
        const shade =
          known.get(name) ??
          (await askGapTime(lyra, marketId, gap, stop.signal).catch(() => {
            failed = true
            return null
          }))
        if (stop.signal.aborted) return
        if (shade === null) continue
        known.set(name, shade)
        found.push(shade)
      }
      setShades(found)
      if (failed) again = setTimeout(ask, WAIT_MS)
    }
    void ask()
    return () => {
      stop.abort()
      clearTimeout(again)
    }
  }, [marketId, key])
  return shades
}

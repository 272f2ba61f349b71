import { ENDED_STATES } from '../../../events/market-enums.ts'
import type { Query } from '../../queries-protocol.ts'
import { READ_LAST_TIMESTAMP } from '../series/counted-points.ts'

/** Times of the last checkpoint, and of the last data points of each market, Unix nanoseconds as text. */
type LastTimes = {
  /** The time of its block; null if there is no checkpoint. */
  checkpoint: string | null
  /** Points of markets that have not ended; `source` as stored. */
  points: { marketId: string; source: 1 | 2; timestamp: string }[]
}

const READ_CHECKPOINT = `
  select cast(block_timestamp as text) from checkpoints
  order by checkpoints.at_block desc, checkpoints.hash desc limit 1`

const READ_MARKETS = 'select market_id, cast(market as text) from markets order by markets.market_id'

/** Markets that have ended: no more points are expected. */
const READ_ENDED_MARKETS = `select market_id from instruments where state in (${ENDED_STATES.join(', ')})`

/** Reads the last times, in one snapshot, of at most `mostMarkets` markets: each takes two lookups in an index. */
export function* readLastTimes(mostMarkets: number): Query<LastTimes> {
  const [checkpoint] = yield { text: READ_CHECKPOINT }
  const ended = new Set((yield { text: READ_ENDED_MARKETS }).map(([marketId]) => marketId))
  const markets = yield { text: READ_MARKETS }
  const points: LastTimes['points'] = []
  for (const [marketId, number] of markets.filter(([id]) => !ended.has(id!)).slice(0, mostMarkets)) {
    for (const source of [1, 2] as const) {
      const [row] = yield { text: READ_LAST_TIMESTAMP, values: [BigInt(number!), BigInt(source)] }
      if (row?.[0] != null) points.push({ marketId: String(marketId), source, timestamp: String(row[0]) })
    }
  }
  return { checkpoint: checkpoint?.[0] == null ? null : String(checkpoint[0]), points }
}

import { greatest, least } from '../../../domain/integers.ts'
import type { Query } from '../../queries-protocol.ts'
import { FIND_MARKET } from '../../statements.ts'
import { readLatestData } from '../market-data.ts'

/*
 * The periods of a market that its stored rows name, by their own event, a data point or market data. A period may be named
 * before its own event is stored, or without it.
 */

/** The last period of a market, given by its number, that has data points. */
export const READ_POINTS_SEQ = pointsSeq('desc')

/** Two subqueries, because the index answers each of them. */
const READ_PERIODS_SEQS = `
  select (select cast(min(seq) as text) from funding_periods where market_id = $1),
    (select cast(max(seq) as text) from funding_periods where market_id = $1)`

/** The first and the last seq that rows name. */
type NamedSeqs = {
  first: bigint
  last: bigint
  /** Whether the event of the last one is stored. */
  isLastStored: boolean
}

/** The first and the last period of a market that any row names; null if none is named. */
export function* readNamedSeqs(marketId: string): Query<NamedSeqs | null> {
  const [stored] = yield { text: READ_PERIODS_SEQS, values: [marketId] }
  const data = yield* readLatestData(marketId)
  const seqs = [...stored!, data?.highestSeq ?? null]
  const [market] = yield { text: FIND_MARKET, values: [marketId] }
  for (const order of market === undefined ? [] : (['asc', 'desc'] as const)) {
    const [row] = yield { text: pointsSeq(order), values: [BigInt(market![0]!)] }
    seqs.push(row?.[1] ?? null)
  }
  const named = seqs.flatMap((seq) => (seq === null ? [] : [BigInt(seq)]))
  if (named.length === 0) return null
  const last = greatest(named)
  return { first: least(named), last, isLastStored: stored![1] === last.toString() }
}

function pointsSeq(order: 'asc' | 'desc'): string {
  return `
    select cast(market as text), cast(seq as text) from (
      select market, seq from funding_period_spans where market = $1 order by seq ${order} limit 1) as last_span`
}

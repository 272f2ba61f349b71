import type { PeriodStarts } from '../../domain/series.ts'
import type { MovedPeriod } from '../derived/stale-series.ts'
import type { Steps } from '../steps.ts'

/** A period that a batch touches, by the market's number. */
export type Period = {
  market: bigint
  seq: bigint
  /** Whether the period itself is in the batch. */
  hasArrived: boolean
  /** Whether the batch has points of the period. */
  hasPoints: boolean
}

/** The starts of the periods of a market that a batch touches. */
export type MarketStarts = {
  now: PeriodStarts
  /** Those that had points and start at another time than before. */
  moved: readonly (MovedPeriod & { seq: bigint })[]
}

const READ_SPAN = `
  select cast(start_timestamp as text), cast(first_timestamp as text), cast(last_timestamp as text)
  from funding_period_spans where market = $1 and seq = $2`

const READ_PERIOD = `
  select cast(start_timestamp as text) from funding_periods where market_id = $1 and seq = $2`

/**
 * The starts of the periods that a batch touches, by the number of the market: once the batch's periods are written, and
 * before its points are. Periods without points have no part in series.
 *
 * @param numbers those of the markets, by id
 */
export function* readStarts(
  touched: readonly Period[],
  numbers: ReadonlyMap<string, bigint>,
): Steps<Map<bigint, MarketStarts>> {
  const spans = yield { text: READ_SPAN, values: touched.map(({ market, seq }) => [market, seq]) }
  const known = touched.map((period, index) => ({ ...period, span: spans[index]![0] }))
  const asked = known.filter(({ hasArrived, hasPoints, span }) =>
    span === undefined ? hasPoints : hasArrived,
  )
  const ids = asked.length === 0 ? null : new Map([...numbers].map(([id, number]) => [number, id]))
  const periods = yield {
    text: READ_PERIOD,
    values: asked.map(({ market, seq }) => [ids!.get(market)!, seq]),
  }
  const read = new Map(asked.map((period, index) => [period, periods[index]![0]?.[0] ?? null]))
  const starts = new Map<bigint, { now: Map<bigint, bigint>; moved: MarketStarts['moved'][number][] }>()
  for (const { market } of touched) if (!starts.has(market)) starts.set(market, { now: new Map(), moved: [] })
  for (const period of known) {
    const { market, seq, span, hasPoints } = period
    if (span === undefined && !hasPoints) continue
    const [text = null, first, last] = span ?? []
    const before = text === null ? null : BigInt(text)
    const given = read.get(period)
    const now = given === undefined ? before : given === null ? null : BigInt(given)
    const ofMarket = starts.get(market)!
    if (now !== null) ofMarket.now.set(seq, now)
    if (span !== undefined && before !== now)
      ofMarket.moved.push({ ...{ seq, before, now }, first: BigInt(first!), last: BigInt(last!) })
  }
  return starts
}

import type { PeriodStarts } from '../../domain/series.ts'
import type { Row } from '../../resources/resource.ts'
import { READ_LAST_START } from '../readings/counted-points.ts'
import type { Steps } from './steps.ts'

/** A period that a batch touches, by the market's number. */
export type Period = {
  market: bigint
  seq: bigint
  /** Whether the period itself is in the batch. */
  hasArrived: boolean
  /** Whether the batch has points of the period. */
  hasPoints: boolean
}

/** Changes of a market's period starts by a batch. */
export type MarketStarts = {
  before: PeriodStarts
  now: PeriodStarts
  /** Periods that had points and whose start has changed. */
  moved: readonly bigint[]
  /** Whether a start is new to the market's series. */
  isChanged: boolean
  /** The latest start of a period with points, before; null without one. */
  lastBefore: bigint | null
  /** The greatest seq of a point, before; -1 without points. */
  lastSeqBefore: bigint
}

const READ_SPAN = `
  select cast(start_timestamp as text) from funding_period_spans where market = $1 and seq = $2`

const READ_PERIOD = `
  select cast(start_timestamp as text) from funding_periods where market_id = $1 and seq = $2`

const READ_LASTS = `
  select
    (${READ_LAST_START}),
    (select cast(seq as text) from funding_period_spans where market = $1
      order by funding_period_spans.seq desc limit 1)`

/** Notes the start with which the series of a period's points are written. */
export const WRITE_START =
  'update funding_period_spans set start_timestamp = $3 where market = $1 and seq = $2'

/**
 * The starts of the periods that a batch touches, by the number of the market: once the batch's periods are written, and
 * before its points are. Periods without points have no part in series.
 *
 * @param numbers those of the markets, by id
 */
export function* readStartChanges(
  touched: readonly Period[],
  numbers: ReadonlyMap<string, bigint>,
): Steps<Map<bigint, MarketStarts>> {
  const changes = new Map<bigint, ReturnType<typeof noChange>>()
  const markets = [...new Set(touched.map(({ market }) => market))]
  const lasts = yield { text: READ_LASTS, values: markets.map((market) => [market]) }
  for (const [index, market] of markets.entries()) changes.set(market, noChange(lasts[index]!))
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
  for (const period of known) {
    const { market, seq, span, hasPoints } = period
    if (span === undefined && !hasPoints) continue
    const change = changes.get(market)!
    const before = span?.[0] ?? null
    const now = read.has(period) ? read.get(period)! : before
    if (before !== null) change.before.set(seq, BigInt(before))
    if (now !== null) change.now.set(seq, BigInt(now))
    if (before === now) continue
    change.isChanged = true
    if (span !== undefined) change.moved.push(seq)
  }
  return changes
}

function noChange([row = []]: readonly Row[]) {
  const [start = null, seq = null] = row
  return {
    before: new Map<bigint, bigint>(),
    now: new Map<bigint, bigint>(),
    moved: [] as bigint[],
    isChanged: false as boolean,
    lastBefore: start === null ? null : BigInt(start),
    lastSeqBefore: BigInt(seq ?? -1),
  } satisfies MarketStarts
}

import type { Coverage } from '../../domain/coverage.ts'
import { type EventPosition, hasBlock, isBefore } from '../../domain/event-position.ts'
import { MAX_INT64 } from '../../domain/integers.ts'
import { type Missing, missingOf } from '../../domain/missing.ts'
import { DAY } from '../../domain/time.ts'
import { type Auctions, forgetClosedAuctions, noAuctions } from '../../funding/auctions.ts'
import {
  type AuctionChange,
  changeAuctions,
  type EstimateAt,
  estimatesOf,
  type PeriodEvent,
  unknownEstimate,
} from '../../funding/estimate-history.ts'
import { type FundingTerms, fundingTerms } from '../../funding/payment.ts'
import { wholeSecond } from '../../funding/whole-second.ts'
import type { Row } from '../../model/resource.ts'
import { auctionTable } from '../../resources/auctions/table.ts'
import { fundingPeriodDataPoints } from '../../resources/funding-period-data-points/description.ts'
import { fundingPeriods } from '../../resources/funding-periods/description.ts'
import type { StoreVersion } from '../changes.ts'
import type { StoreHead } from '../pages/page.ts'
import type { Query } from '../queries-protocol.ts'
import { FIND_MARKET, textOf } from '../statements.ts'
import { readFilledStore } from './freshness.ts'
import { type PrunedBefore, readPrunedBefore } from './pruned.ts'

/** The longest range of a request, and the one up to the last block if the request names no start. */
export const LONGEST_HISTORY = 31n * DAY

/** A request for the estimates of a market's periods over time. */
export type EstimateHistoryQuery = {
  marketId: string
  /** The range of times: start (inclusive) and end (exclusive), Unix nanoseconds; null if the request leaves it open. */
  start: bigint | null
  end: bigint | null
  /** The estimate after which to go on; null for the first. */
  after: EstimateKey | null
  limit: number
}

/** Estimates are in the order of their time, and of two at one time the later period's comes later. */
type EstimateKey = { time: bigint; seq: bigint }

/** What a period would have paid, had it ended at a time, or what it has paid; null if what it follows from is not stored. */
export type HistoricEstimate = Figures & {
  time: bigint
  seq: bigint
  /** Whether the market's parameters are those of the time, or of an event after it: only the latest are stored. */
  parameters: 'current' | 'later'
}

type Figures = Record<'internalTwap' | 'externalTwap' | 'fundingPayment' | 'fundingRate', string | null>

/** The estimates of a market over time, in one snapshot. */
type EstimateHistory = {
  storeHead: StoreHead
  version: StoreVersion
  estimates: readonly HistoricEstimate[]
  /** Whether more follow in the range. */
  more: boolean
  /** Why the request is refused: its range is too long, or the running period has too many points; otherwise null. */
  refusal: 'range' | 'points' | null
} & Missing

/** A request reads so many points at most. */
export const MAX_HISTORY_POINTS = 500_000

const POINTS_AT_ONCE = 5_000

/** The periods that overlap a range: they are adjacent, so the first one is the last that began before it. */
const READ_PERIODS = `
  select ${textOf('seq')}, ${textOf('start_timestamp')}, cast(end_timestamp as text), cast(start_height as text),
    start_index, cast(height as text), event_index, internal_twap, external_twap, funding_payment, funding_rate
  from funding_periods
  where market_id = $1 and start_timestamp < $3 and (end_timestamp is null or end_timestamp >= $2)
    and start_timestamp >= coalesce(
      (select max(start_timestamp) from funding_periods where market_id = $1 and start_timestamp < $2), $2)
  order by start_timestamp, seq`

const READ_SPAN = `
  select cast(first_timestamp as text), cast(last_timestamp as text) from funding_period_spans
  where market = $1 and seq = $2`

const READ_POINTS = `
  select ${textOf('timestamp')}, price, ${textOf('height')}, event_index from funding_period_data_points
  where market = $1 and source = $2 and timestamp >= $3 and timestamp <= $4 and seq = $5
  order by timestamp limit ${POINTS_AT_ONCE}`

const READ_AUCTIONS = `
  select leave, cast(case when leave then end_timestamp else start_timestamp end as text), ${textOf('height')}, event_index
  from ${auctionTable.name} where market_id = $1 and not opening_auction
  order by height, event_index`

const READ_TERMS = `
  select interest_rate, clamp_lower_bound, clamp_upper_bound, scaling_factor, rate_lower_bound, rate_upper_bound,
    cast(height as text)
  from instruments where market_id = $1`

/** Reads what the periods of a market would have paid at each time of a point, and at their ends; null in an empty store. */
export function* readEstimateHistory(query: EstimateHistoryQuery): Query<EstimateHistory | null> {
  const filled = yield* readFilledStore()
  if (filled === null) return null
  const { storeHead, version, coverage } = filled
  const end = query.end ?? BigInt(storeHead.timestamp) + 1n
  const start = query.start ?? end - LONGEST_HISTORY
  const answer = { storeHead, version, estimates: [], more: false, ...NOTHING_MISSING }
  if (end - start > LONGEST_HISTORY) return { ...answer, refusal: 'range' }
  const from = query.after === null || query.after.time < start ? start : query.after.time
  const rows = yield { text: READ_PERIODS, values: [query.marketId, from, end] }
  const periods = rows.map(
    ([seq, begin, last, startHeight, startIndex, height, index, ...paid]): StoredPeriod => ({
      seq: BigInt(seq!),
      start: BigInt(begin!),
      end: last === null ? null : BigInt(last!),
      began: positionAt(startHeight, startIndex),
      latest: positionAt(height, index),
      paid: figuresOf(...(paid.map(textOrNull) as [Figure, Figure, Figure, Figure])),
    }),
  )
  const missing = missingOf(
    coverage,
    [fundingPeriods.name, fundingPeriodDataPoints.name, auctionTable.name].map((resource) => ({
      resource,
      start: periods[0]?.start ?? start,
      end,
    })),
  )
  const [market] = yield { text: FIND_MARKET, values: [query.marketId] }
  const reading: Reading = {
    market: market === undefined ? null : BigInt(market[0]!),
    auctions: yield* readAuctions(query.marketId),
    ...(yield* readTerms(query.marketId)),
    unknown: { coverage, pruned: yield* readPrunedBefore() },
    pointsLeft: MAX_HISTORY_POINTS,
  }
  const estimates: HistoricEstimate[] = []
  for (const period of periods) {
    const { seq } = period
    const isWanted = (time: bigint) => time >= start && time < end && isAfter({ time, seq }, query.after)
    const ofPeriod = yield* readPeriod(period, reading, isWanted)
    if (ofPeriod === null) return { ...answer, ...missing, refusal: 'points' }
    for (const estimate of ofPeriod) {
      if (estimates.length === query.limit)
        return { ...answer, ...missing, estimates, more: true, refusal: null }
      estimates.push(estimate)
    }
  }
  return { ...answer, ...missing, estimates, refusal: null }
}

const NOTHING_MISSING: Missing = { missing: [], since: null }

type StoredPeriod = {
  seq: bigint
  start: bigint
  end: bigint | null
  /** Where its first and its latest event are. */
  began: EventPosition
  latest: EventPosition
  /** Those of its latest event: what it has paid, once it has ended. */
  paid: Figures
}

type Figure = string | null

const figuresOf = (
  internalTwap: Figure,
  externalTwap: Figure,
  fundingPayment: Figure,
  fundingRate: Figure,
): Figures => ({ internalTwap, externalTwap, fundingPayment, fundingRate })

const positionAt = (height: Row[number] | undefined, index: Row[number] | undefined): EventPosition => ({
  height: BigInt(height!),
  index: Number(index),
})

/** What a request reads of a market. */
type Reading = {
  /** Its number; null if it never had a point. */
  market: bigint | null
  /** Its auctions, in the order of the stream. */
  auctions: readonly Positioned<AuctionChange>[]
  terms: FundingTerms | null
  /** The height of its latest event; 0 if there is none. */
  termsHeight: bigint
  unknown: { coverage: Coverage; pruned: PrunedBefore | null }
  /** How many points may still be read. */
  pointsLeft: number
}

function isAfter({ time, seq }: EstimateKey, after: EstimateKey | null): boolean {
  return after === null || time > after.time || (time === after.time && seq > after.seq)
}

type Positioned<Event> = { event: Event; position: EventPosition }

function* readAuctions(marketId: string): Query<Positioned<AuctionChange>[]> {
  const rows = yield { text: READ_AUCTIONS, values: [marketId] }
  return rows.map(([leave, time, ...position]) => ({
    // SQLite returns booleans as numbers.
    event: { kind: 'auction', hasEnded: Number(leave) === 1, time: wholeSecond(BigInt(time!)) },
    position: positionAt(...(position as [Row[number], Row[number]])),
  }))
}

function* readTerms(marketId: string): Query<Pick<Reading, 'terms' | 'termsHeight'>> {
  const [row] = yield { text: READ_TERMS, values: [marketId] }
  if (row === undefined || row[0] === null) return { terms: null, termsHeight: 0n }
  const [interestRate, clampLowerBound, clampUpperBound, scalingFactor, lowerBound, upperBound, height] = row
  const terms = fundingTerms({
    interestRate: String(interestRate),
    clampLowerBound: textOrNull(clampLowerBound) ?? '',
    clampUpperBound: textOrNull(clampUpperBound) ?? '',
    scalingFactor: textOrNull(scalingFactor),
    lowerBound: textOrNull(lowerBound),
    upperBound: textOrNull(upperBound),
  })
  return { terms, termsHeight: BigInt(height!) }
}

const textOrNull = (cell: Row[number] | undefined): string | null => (cell == null ? null : String(cell))

/**
 * The estimates of a period; null if it has more points than may be read.
 *
 * @param isWanted whether the estimate of a time is needed
 */
function* readPeriod(
  period: StoredPeriod,
  reading: Reading,
  isWanted: (time: bigint) => boolean,
): Query<HistoricEstimate[] | null> {
  const { seq, start, end, began, latest } = period
  const { market, terms, termsHeight } = reading
  const [span] = market === null ? [] : yield { text: READ_SPAN, values: [market, seq] }
  const internal = yield* readPoints(period, 'internal', span, reading)
  const external = yield* readPoints(period, 'external', span, reading)
  if (internal === null || external === null) return null
  const points = [...internal, ...external]
  const events = [...points, ...reading.auctions.filter(({ position }) => isBefore(began, position))]
    .filter(({ position }) => end === null || !isBefore(latest, position))
    .sort((a, b) => (isBefore(a.position, b.position) ? -1 : 1))
  const ofPeriod = { seq, start, end, auctions: auctionsAt(began, reading.auctions) }
  const estimates = estimatesOf(
    ofPeriod,
    events.map(({ event }) => event),
    terms,
    isWanted,
  )
  const heights = new Map(points.map(({ event, position }) => [event.time, position.height]))
  const knownTo = knownUpTo(period, reading.unknown)
  return estimates.map((computed) => {
    const { time } = computed
    const estimate = time <= knownTo ? computed : unknownEstimate(time)
    const isPaid = estimate.payment === null && time === end
    const height = heights.get(time) ?? latest.height
    return {
      time,
      seq,
      ...(isPaid ? period.paid : estimated(estimate)),
      parameters: height < termsHeight ? 'later' : 'current',
    }
  })
}

function estimated({ internalTwap, externalTwap, payment }: EstimateAt): Figures {
  const twaps = [internalTwap, externalTwap].map((twap) => twap?.toString() ?? null)
  return figuresOf(twaps[0]!, twaps[1]!, payment?.fundingPayment ?? null, payment?.fundingRate ?? null)
}

/** A market's auctions as a period that begins at a position knows them: ended ones are forgotten. */
function auctionsAt(began: EventPosition, changes: readonly Positioned<AuctionChange>[]): Auctions {
  const auctions = noAuctions()
  for (const { event, position } of changes) if (!isBefore(began, position)) changeAuctions(auctions, event)
  forgetClosedAuctions(auctions)
  return auctions
}

const SOURCE_NUMBERS = { external: 1n, internal: 2n }

type PointOf = Positioned<Extract<PeriodEvent, { kind: 'point' }>>

function* readPoints(
  { seq }: StoredPeriod,
  source: keyof typeof SOURCE_NUMBERS,
  span: Row | undefined,
  reading: Reading,
): Query<PointOf[] | null> {
  const points: PointOf[] = []
  if (span === undefined) return points
  const last = BigInt(span[1]!)
  for (let from = BigInt(span[0]!); ; ) {
    const values = [reading.market!, SOURCE_NUMBERS[source], from, last, seq]
    const rows = yield { text: READ_POINTS, values }
    reading.pointsLeft -= rows.length
    if (reading.pointsLeft < 0) return null
    for (const [time, price, ...position] of rows) {
      // The core's prices are integers.
      if (!/^\d+$/.test(String(price))) continue
      points.push({
        event: { kind: 'point', source, time: BigInt(time!), price: BigInt(price!) },
        position: positionAt(...(position as [Row[number], Row[number]])),
      })
    }
    if (rows.length < POINTS_AT_ONCE) return points
    from = BigInt(rows.at(-1)![0]!) + 1n
  }
}

/**
 * Up to when the TWAPs of a period are known: up to the last block before the first of its blocks that is missing or
 * incomplete. They are not known at all if its points may be pruned, or its blocks were imported: without auctions.
 */
function knownUpTo({ start, began, latest }: StoredPeriod, { coverage, pruned }: Reading['unknown']): bigint {
  const isPruned =
    pruned !== null &&
    ((pruned.timestamp !== null && start < BigInt(pruned.timestamp)) ||
      (pruned.height !== null && began.height < BigInt(pruned.height)))
  const isImported =
    !hasBlock(began.height) ||
    coverage.imported.some(({ from, to }) => began.height <= to && latest.height >= from)
  if (isPruned || isImported) return start - 1n
  const gap = coverage.gaps.find((one) => one.end === null || one.end > start)
  if (gap === undefined) return MAX_INT64
  return gap.start === null || gap.start < start ? start - 1n : gap.start
}

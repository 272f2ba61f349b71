import type { EventPosition } from '../../../domain/event-position.ts'
import type { AuctionChange, PeriodEvent } from '../../../funding/estimate-history.ts'
import { type FundingTerms, fundingTerms } from '../../../funding/payment.ts'
import type { Row } from '../../../model/resource.ts'
import type { Query } from '../../queries-protocol.ts'
import { FIND_MARKET, textOf, textOrNull } from '../../statements.ts'
import { readAuctionEvents } from '../auction-events.ts'

/** The TWAPs of a period, and what it pays by them; null if not known. */
export type Figures = Record<'internalTwap' | 'externalTwap' | 'fundingPayment' | 'fundingRate', Figure>

type Figure = string | null

/** A period, as it is stored. */
export type StoredPeriod = {
  seq: bigint
  start: bigint
  end: bigint | null
  /** Where its first and its latest event are. */
  began: EventPosition
  latest: EventPosition
  /** Those of its latest event: what it has paid, once it has ended. */
  paid: Figures
}

/** The periods that overlap a range: they are adjacent, so the first one is the last that began before it. */
const READ_PERIODS = `
  select ${textOf('seq')}, ${textOf('start_timestamp')}, cast(end_timestamp as text), cast(start_height as text),
    start_index, cast(height as text), event_index, internal_twap, external_twap, funding_payment, funding_rate
  from funding_periods
  where market_id = $1 and start_timestamp < $3 and (end_timestamp is null or end_timestamp >= $2)
    and start_timestamp >= coalesce(
      (select max(start_timestamp) from funding_periods where market_id = $1 and start_timestamp < $2), $2)
  order by start_timestamp, seq`

/** Reads the periods of a market that overlap a range of times, by their starts. */
export function* readPeriods(marketId: string, from: bigint, end: bigint): Query<StoredPeriod[]> {
  const rows = yield { text: READ_PERIODS, values: [marketId, from, end] }
  return rows.map(([seq, begin, last, startHeight, startIndex, height, index, ...paid]) => ({
    seq: BigInt(seq!),
    start: BigInt(begin!),
    end: last === null ? null : BigInt(last!),
    began: positionAt(startHeight, startIndex),
    latest: positionAt(height, index),
    paid: figuresOf(...(paid.map(textOrNull) as [Figure, Figure, Figure, Figure])),
  }))
}

/** The figures of a period or an estimate, in their order. */
export const figuresOf = (
  internalTwap: Figure,
  externalTwap: Figure,
  fundingPayment: Figure,
  fundingRate: Figure,
): Figures => ({ internalTwap, externalTwap, fundingPayment, fundingRate })

/** What estimates of all periods of a market follow from, beside their points. */
export type MarketInputs = {
  /** Its number; null if it never had a point. */
  market: bigint | null
  /** Its auctions, in the order of the stream. */
  auctions: readonly Positioned<AuctionChange>[]
  terms: FundingTerms | null
  /** The height of the event from which the terms are; 0 if there is none. */
  termsHeight: bigint
}

/** An event with its position. */
export type Positioned<Event> = { event: Event; position: EventPosition }

/** Reads the inputs of a market, which has none if it is not stored. */
export function* readMarketInputs(marketId: string): Query<MarketInputs> {
  const [market] = yield { text: FIND_MARKET, values: [marketId] }
  return {
    market: market === undefined ? null : BigInt(market[0]!),
    auctions: yield* readAuctionChanges(marketId),
    ...(yield* readTerms(marketId)),
  }
}

function* readAuctionChanges(marketId: string): Query<Positioned<AuctionChange>[]> {
  const events = yield* readAuctionEvents(marketId)
  return events
    .filter(({ isOpening }) => !isOpening)
    .map(({ isLeave, second, position }) => ({
      event: { kind: 'auction', hasEnded: isLeave, time: second },
      position,
    }))
}

const READ_TERMS = `
  select interest_rate, clamp_lower_bound, clamp_upper_bound, scaling_factor, rate_lower_bound, rate_upper_bound,
    cast(height as text)
  from instruments where market_id = $1`

function* readTerms(marketId: string): Query<Pick<MarketInputs, 'terms' | 'termsHeight'>> {
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

const POINTS_AT_ONCE = 5_000

/** How many points a request may still read. */
export type PointLimit = { pointsLeft: number }

type Point = Positioned<Extract<PeriodEvent, { kind: 'point' }>>

const READ_SPAN = `
  select cast(first_timestamp as text), cast(last_timestamp as text) from funding_period_spans
  where market = $1 and seq = $2`

const READ_POINTS = `
  select ${textOf('timestamp')}, price, ${textOf('height')}, event_index from funding_period_data_points
  where market = $1 and source = $2 and timestamp >= $3 and timestamp <= $4 and seq = $5
  order by timestamp limit ${POINTS_AT_ONCE}`

const NUMBER_OF_SOURCE = { external: 1n, internal: 2n }

/**
 * Reads the points of a period, those of each source in the order of time; null if there are more than may be read.
 *
 * @param market the market's number; null if it has no points
 * @param limit is lowered by what is read
 */
export function* readPeriodPoints(
  market: bigint | null,
  seq: bigint,
  limit: PointLimit,
): Query<Point[] | null> {
  if (market === null) return []
  const [span] = yield { text: READ_SPAN, values: [market, seq] }
  if (span === undefined) return []
  const [first, last] = span.map((time) => BigInt(time!)) as [bigint, bigint]
  const points: Point[] = []
  for (const source of ['internal', 'external'] as const) {
    for (let from: bigint | null = first; from !== null; ) {
      const values = [market, NUMBER_OF_SOURCE[source], from, last, seq]
      const rows: readonly Row[] = yield { text: READ_POINTS, values }
      limit.pointsLeft -= rows.length
      if (limit.pointsLeft < 0) return null
      for (const [time, price, height, index] of rows) {
        // The core's prices are integers.
        if (!/^\d+$/.test(String(price))) continue
        points.push({
          event: { kind: 'point', source, time: BigInt(time!), price: BigInt(price!) },
          position: positionAt(height, index),
        })
      }
      from = rows.length < POINTS_AT_ONCE ? null : BigInt(rows.at(-1)![0]!) + 1n
    }
  }
  return points
}

const positionAt = (height: Row[number] | undefined, index: Row[number] | undefined): EventPosition => ({
  height: BigInt(height!),
  index: Number(index),
})

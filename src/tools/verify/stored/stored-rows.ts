import type { EventPosition } from '#core/domain/event-position'
import type {
  AuctionEvent,
  DataPointSource,
  FundingPeriodDataPointEvent,
  FundingPeriodEvent,
} from '#core/events/event'
import { type NamedRow, positionOfRow } from '#core/store/walk-table'

/** A funding period as stored: its last event, and the position of that event. */
export type StoredPeriod = { event: FundingPeriodEvent; position: EventPosition }

/** A data point as stored. */
export type StoredPoint = { event: FundingPeriodDataPointEvent; position: EventPosition }

/** The beginning or the end of an auction as stored. */
export type StoredAuction = { event: AuctionEvent; position: EventPosition }

/** The points of a period as stored: how many there are, and the times between which they lie, as text. */
export type StoredSpan = { seq: bigint; points: number; first: string; last: string }

/** The period in a row of its table. */
export function storedPeriod(marketId: string, row: NamedRow): StoredPeriod {
  const event: FundingPeriodEvent = {
    kind: 'funding-period',
    marketId,
    seq: BigInt(row.seq!),
    start: BigInt(row.start_timestamp!),
    end: row.end_timestamp === null ? null : BigInt(row.end_timestamp!),
    fundingPayment: row.funding_payment!,
    fundingRate: row.funding_rate!,
    internalTwap: row.internal_twap!,
    externalTwap: row.external_twap!,
  }
  return { event, position: positionOfRow(row) }
}

/** The data point in a row of its table. */
export function storedPoint(marketId: string, row: NamedRow): StoredPoint {
  const event: FundingPeriodDataPointEvent = {
    kind: 'funding-period-data-point',
    marketId,
    seq: BigInt(row.seq!),
    source: Number(row.source) as DataPointSource,
    price: row.price!,
    timestamp: BigInt(row.timestamp!),
    twap: row.twap!,
  }
  return { event, position: positionOfRow(row) }
}

/** The beginning or the end of an auction, in a row of its table. */
export function storedAuction(marketId: string, row: NamedRow): StoredAuction {
  const event: AuctionEvent = {
    kind: 'auction',
    marketId,
    openingAuction: row.opening_auction === '1',
    leave: row.leave === '1',
    start: BigInt(row.start_timestamp!),
    end: BigInt(row.end_timestamp!),
  }
  return { event, position: positionOfRow(row) }
}

/** The span of points in a row of its table. */
export function storedSpan(row: NamedRow): StoredSpan {
  return {
    seq: BigInt(row.seq!),
    points: Number(row.points),
    first: row.first_timestamp!,
    last: row.last_timestamp!,
  }
}

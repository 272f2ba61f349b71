import { MAX_INT64 } from '../../domain/integers.ts'
import type { MarketDataEvent, PerpetualData } from '../../events/event.ts'
import { isKeptNumber } from '../../events/left-out.ts'
import type { BatchRow, StreamPlace } from '../batch.ts'

/** How a market stood at its latest data, and the core's estimate in them; no row if only their lists are known. */
export function marketDataRow(
  { marketId, figures }: MarketDataEvent,
  { height, eventIndex }: StreamPlace,
): BatchRow | null {
  if (figures === null) return null
  const { timestamp, markPrice, openInterest, state, tradingMode, perpetual } = figures
  const estimate = perpetual !== null && isKept(perpetual) ? perpetual : null
  return [
    ...[marketId, timestamp, markPrice, openInterest.toString(), state, tradingMode],
    ...[estimate?.fundingPayment ?? null, estimate?.fundingRate ?? null],
    ...[estimate?.internalTwap ?? null, estimate?.externalTwap ?? null],
    ...[estimate?.seq ?? 0n, height, eventIndex],
  ]
}

function isKept({ seq, fundingPayment, fundingRate, internalTwap, externalTwap }: PerpetualData): boolean {
  const texts = [fundingPayment, fundingRate, internalTwap, externalTwap]
  return seq <= MAX_INT64 && texts.every((text) => text === null || isKeptNumber(text))
}

import { MAX_INT64 } from '../../domain/integers.ts'
import type { Place } from '../../domain/place.ts'
import type { MarketDataEvent, PerpetualData } from '../../events/event.ts'
import { isKeptNumber } from '../../events/left-out.ts'
import { type Batch, put } from '../batch.ts'
import type { RowOf } from '../table.ts'
import { marketDataTable } from './table.ts'

/** How a market stood at its latest data, and the core's estimate in them; no row if only their lists are known. */
export function marketDataRow(
  { marketId, figures }: MarketDataEvent,
  { height, index }: Place,
): RowOf<typeof marketDataTable> | null {
  if (figures === null) return null
  const { timestamp, markPrice, openInterest, state, tradingMode, perpetual } = figures
  const estimate = perpetual !== null && isKept(perpetual) ? perpetual : null
  return {
    market_id: marketId,
    timestamp,
    mark_price: markPrice,
    open_interest: openInterest.toString(),
    market_state: state,
    trading_mode: tradingMode,
    funding_payment: estimate?.fundingPayment ?? null,
    funding_rate: estimate?.fundingRate ?? null,
    internal_twap: estimate?.internalTwap ?? null,
    external_twap: estimate?.externalTwap ?? null,
    seq: estimate?.seq ?? 0n,
    height,
    event_index: index,
  }
}

/** Adds a market's row to a batch, if there is one. */
export function putMarketData(batch: Batch, event: MarketDataEvent, place: Place): void {
  const row = marketDataRow(event, place)
  if (row !== null) put(batch, marketDataTable, row)
}

function isKept({ seq, fundingPayment, fundingRate, internalTwap, externalTwap }: PerpetualData): boolean {
  const texts = [fundingPayment, fundingRate, internalTwap, externalTwap]
  return seq <= MAX_INT64 && texts.every((text) => text === null || isKeptNumber(text))
}

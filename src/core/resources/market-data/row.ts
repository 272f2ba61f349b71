import type { EventPosition } from '../../domain/event-position.ts'
import { greatest, MAX_INT64 } from '../../domain/integers.ts'
import type { MarketDataEvent, MarketFigures, PerpetualData } from '../../events/event.ts'
import { isStorableNumber } from '../../events/left-out.ts'
import { type Batch, type MarketDataSequence, put } from '../../model/batch.ts'
import type { RowOf } from '../../model/table.ts'
import { NO_SEQ } from './decode.ts'
import { marketDataTable } from './table.ts'

/** The row of a market's figures and of the core's estimate; null if only the lists of its data are known. */
export function marketDataRow(
  { marketId, figures }: MarketDataEvent,
  { height, index }: EventPosition,
): RowOf<typeof marketDataTable> | null {
  if (figures === null) return null
  const { timestamp, markPrice, openInterest, state, tradingMode } = figures
  const estimate = storableEstimate(figures)
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
    highest_seq: seqNamedBy(estimate),
    height,
    event_index: index,
  }
}

/** The row of a market's latest data, from all that a batch has. */
export function latestDataRow(data: MarketDataSequence): RowOf<typeof marketDataTable> | null {
  const { event, ...position } = data.last
  const row = marketDataRow(event, position)
  if (row === null) return null
  // Nearly always the running period's, which the last data name: the figures of the others need not be decoded.
  if (data.highestSeq !== null && data.highestSeq <= row.highest_seq) return row
  const earlier = Array.from(data.earlier(), ({ event: { figures } }) =>
    seqNamedBy(storableEstimate(figures)),
  )
  return { ...row, highest_seq: greatest([row.highest_seq, ...earlier]) }
}

/**
 * The seq of the period that an estimate is for; {@link NO_SEQ} if it is for none. The core sends 0 for none and for the first
 * period, whose estimate has other values, too.
 */
function seqNamedBy(estimate: PerpetualData | null): bigint {
  if (estimate === null) return NO_SEQ
  const { seq, fundingPayment, fundingRate, internalTwap, externalTwap } = estimate
  const isNamed =
    seq > 0n || [fundingPayment, fundingRate, internalTwap, externalTwap].some((text) => text !== null)
  return isNamed ? seq : NO_SEQ
}

/** The core's estimate in market data; null if there is none, or it cannot be stored. */
function storableEstimate(figures: MarketFigures | null): PerpetualData | null {
  const perpetual = figures?.perpetual ?? null
  return perpetual !== null && isStorable(perpetual) ? perpetual : null
}

/** Adds a market's row to a batch, if there is one. */
export function putMarketData(batch: Batch, event: MarketDataEvent, position: EventPosition): void {
  const row = marketDataRow(event, position)
  if (row !== null) put(batch, marketDataTable, row)
}

function isStorable({
  seq,
  fundingPayment,
  fundingRate,
  internalTwap,
  externalTwap,
}: PerpetualData): boolean {
  const texts = [fundingPayment, fundingRate, internalTwap, externalTwap]
  return seq <= MAX_INT64 && texts.every((text) => text === null || isStorableNumber(text))
}

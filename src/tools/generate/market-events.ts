import type { Message } from '#core/events/byte-writer'
import { FIRST_SECOND } from './clock.ts'
import type { Context } from './context.ts'
import { EVENT_TYPES, type EventType } from './event-types.ts'
import type { Asset, Instrument } from './instruments.ts'
import { type Market, tradingOf } from './market.ts'
import { SLA_TERMS } from './provisions.ts'

/** Writes an `Asset` event. */
export function writeAsset({ out }: Context, { id, symbol, name, decimals }: Asset): void {
  out.write(EVENT_TYPES.asset, null, { 1: id, 2: { 1: name, 2: symbol, 4: decimals, 5: '1' }, 3: 4 })
}

/** Writes a `Market` event, created or updated, with all fields that a reader may require. */
export function writeMarket({ out }: Context, market: Market, event: EventType): void {
  const { instrument, createdAt } = market
  const { mode, state } = tradingOf(market)
  out.write(event, null, {
    1: market.id,
    2: { 1: { 2: instrument.code, 3: instrument.name, 102: perpetualMessage(instrument) } },
    3: instrument.decimals,
    // Fees: their factors.
    4: { 1: { 1: '0.0002', 2: '0.0005', 3: '0.001' } },
    6: {},
    // Price monitoring.
    7: { 1: {} },
    8: mode,
    9: state,
    // Timestamps.
    10: { 1: createdAt, 3: createdAt },
    11: 2,
    18: { 1: '0.05', 2: String(SLA_TERMS.minTimeFraction), 4: 1, 5: String(SLA_TERMS.competitionFactor) },
  })
}

function perpetualMessage({ asset, funding, paidEvery }: Instrument): Message {
  return {
    1: asset.id,
    2: asset.symbol,
    3: '0.5',
    4: funding.interestRate,
    5: funding.clampLowerBound,
    6: funding.clampUpperBound,
    // DataSourceSpec: its definition, an internal one with a time trigger.
    7: { 4: { 1: { 2: { 2: { 1: FIRST_SECOND, 2: paidEvery } } } } },
    10: funding.scalingFactor,
    11: funding.lowerBound,
    12: funding.upperBound,
  }
}

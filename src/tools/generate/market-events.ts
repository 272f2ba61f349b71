import type { Message } from '#core/events/byte-writer'
import { FIRST_SECOND } from './clock.ts'
import type { Context } from './context.ts'
import type { DataSources } from './data-sources.ts'
import { EVENT_TYPES, type EventType } from './event-types.ts'
import type { Asset, Instrument } from './instruments.ts'
import { type Market, PRICE_TRIGGER, tradingOf } from './market.ts'
import { SLA_TERMS } from './provisions.ts'

/** `ConditionOperator`: greater than or equal. */
const AT_LEAST = 3

/** `PropertyKey.Type`: an integer. */
const INTEGER = 2

/** `CompositePriceType`: the price of the last trade. */
const LAST_TRADE = 3

/**
 * Writes an `Asset` event. A data node refuses an asset without a source, so it is a built-in one, with the maximum that
 * its faucet gives.
 */
export function writeAsset({ out }: Context, { id, symbol, name, decimals }: Asset): void {
  const details = { 1: name, 2: symbol, 4: decimals, 5: '1', 101: { 1: '100000000000000000' } }
  out.write(EVENT_TYPES.asset, null, { 1: id, 2: details, 3: 4 })
}

/**
 * Writes a `Market` event, for a market that is created or updated, with the fields that a core of version 0.79 sends for a
 * perpetual market. A data node stops at a market without price monitoring parameters.
 */
export function writeMarket({ out }: Context, market: Market, event: EventType): void {
  const { instrument, createdAt } = market
  const { mode, state } = tradingOf(market)
  out.write(event, null, {
    1: market.id,
    2: tradableInstrument(market),
    3: instrument.decimals,
    // Fees: their factors, and how the fee of the providers is determined (marginal cost).
    4: { 1: { 1: '0.0002', 2: '0.0005', 3: '0.001', 4: '0.0001', 5: '0.0001' }, 2: { 1: 1 } },
    // Opening auction: its minimum duration.
    5: { 1: 2 },
    6: { 1: { 1: [PRICE_TRIGGER] } },
    // Liquidity monitoring: the window of the target stake.
    7: { 1: { 1: 3600 } },
    8: mode,
    9: state,
    // Timestamps: proposed, pending, open.
    10: { 1: createdAt, 2: createdAt, 3: createdAt },
    11: 2,
    // Slippage factors.
    13: '0.001',
    14: '0',
    18: { 1: '0.05', 2: String(SLA_TERMS.minTimeFraction), 4: 1, 5: String(SLA_TERMS.competitionFactor) },
    // Liquidation: seconds between steps, fraction, size that is disposed of at once, maximum share of the book, slippage.
    19: { 1: 1, 2: '1', 3: 1_000_000_000, 4: '0.5', 5: '0.5' },
    20: { 1: '0', 3: '0', 6: LAST_TRADE },
    // Tick size, and the number of price levels that an AMM may leave empty.
    21: '1',
    23: 100,
  })
}

/** Instrument, margin calculator and a log-normal risk model, whose numbers are all zero. */
function tradableInstrument({ instrument, dataSources }: Market): Message {
  const { code, name, coin } = instrument
  return {
    1: { 2: code, 3: name, 4: { 1: [`base:${coin}`] }, 102: perpetualMessage(instrument, dataSources) },
    2: { 1: {} },
    100: { 3: {} },
  }
}

function perpetualMessage(
  { coin, asset, funding, paidEvery }: Instrument,
  { schedule, settlement, signer }: DataSources,
): Message {
  const price = `prices.${coin}.value`
  return {
    1: asset.id,
    2: asset.symbol,
    3: '0.5',
    4: funding.interestRate,
    5: funding.clampLowerBound,
    6: funding.clampUpperBound,
    // DataSourceSpecs with their ids and definitions: an internal one with a time trigger, and a signed one.
    7: {
      1: schedule,
      4: { 1: { 2: { 1: [{ 1: AT_LEAST, 2: '0' }], 2: [{ 1: FIRST_SECOND, 2: paidEvery }] } } },
    },
    8: {
      1: settlement,
      4: { 2: { 1: { 1: [{ 1: { 1: signer } }], 2: [{ 1: { 1: price, 2: INTEGER, 3: asset.decimals } }] } } },
    },
    9: { 1: price, 2: 'vegaprotocol.builtin.timetrigger' },
    10: funding.scalingFactor,
    11: funding.lowerBound,
    12: funding.upperBound,
  }
}

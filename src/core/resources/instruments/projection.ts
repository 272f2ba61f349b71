import { EVENT_KIND } from '../../events/bus-event.ts'
import type { AssetEvent, InstrumentEvent } from '../../events/event.ts'
import { PRODUCTS, TRADING_IS_OVER } from '../../events/market-enums.ts'
import { put } from '../../model/batch.ts'
import type { Projection } from '../../model/projection.ts'
import { putAuctionEnd } from '../auctions/projection.ts'
import { decodeAsset, decodeInstrument, faultOfAsset, faultOfInstrument } from './decode.ts'
import { assetTable, instrumentTable, instrumentTermTable } from './table.ts'

/** A market that is created or updated: its row, and that of its terms. */
export const instrumentProjection: Projection<InstrumentEvent> = {
  kind: 'market',
  numbers: [EVENT_KIND.marketCreated, EVENT_KIND.marketUpdated],
  decode: decodeInstrument,
  faultOf: faultOfInstrument,
  /** A market's latest event describes it. The first event with which trading is over also ends its auction. */
  project: (batch, event, { height, index }, block) => {
    const { marketId, code, name, product, quoteName, state, tradingMode, settlementAsset } = event
    const { funding, schedule, sla } = event
    put(batch, instrumentTable, {
      market_id: marketId,
      code,
      name,
      product: BigInt(PRODUCTS.indexOf(product)),
      quote_name: quoteName,
      decimal_places: event.decimalPlaces,
      position_decimal_places: event.positionDecimalPlaces,
      state,
      trading_mode: tradingMode,
      settlement_asset: settlementAsset,
      interest_rate: funding?.interestRate ?? null,
      clamp_lower_bound: funding?.clampLowerBound ?? null,
      clamp_upper_bound: funding?.clampUpperBound ?? null,
      scaling_factor: funding?.scalingFactor ?? null,
      rate_lower_bound: funding?.lowerBound ?? null,
      rate_upper_bound: funding?.upperBound ?? null,
      height,
      event_index: index,
    })
    put(batch, instrumentTermTable, {
      market_id: marketId,
      schedule_initial: schedule?.initial ?? null,
      schedule_every: schedule?.every ?? null,
      sla_price_range: sla?.priceRange ?? null,
      sla_min_time_fraction: sla?.commitmentMinTimeFraction ?? null,
      sla_hysteresis_epochs: sla?.performanceHysteresisEpochs ?? null,
      sla_competition_factor: sla?.slaCompetitionFactor ?? null,
      height,
      event_index: index,
    })
    if (TRADING_IS_OVER.includes(state)) putAuctionEnd(batch, marketId, { height, index }, block)
  },
}

/** An asset, which instruments name as theirs for settlement: a row. */
export const assetProjection: Projection<AssetEvent> = {
  kind: 'asset',
  numbers: [EVENT_KIND.asset],
  decode: decodeAsset,
  faultOf: faultOfAsset,
  /** An asset's latest event describes it. */
  project: (batch, { assetId, name, symbol, decimals, status }, { height, index }) => {
    put(batch, assetTable, {
      asset_id: assetId,
      name,
      symbol,
      decimals,
      status,
      height,
      event_index: index,
    })
  },
}

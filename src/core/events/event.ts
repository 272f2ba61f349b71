/**
 * Events that Lyra stores, of kinds that more than one resource uses, as plain values. No later stage knows protobuf. Market,
 * party and provision ids are lower case; a market or provision id is 64 hex digits, a party id is the same or `network`. An
 * asset's id is 64 hex digits in lower case, or a name such as `VOTE`, as it was sent. Times are Unix nanoseconds. Prices,
 * TWAPs and payments are the core's own text.
 */

/** Source of a data point: 0 unspecified, 1 external (oracle), 2 internal (mark or internal composite price). */
export type DataPointSource = 0 | 1 | 2

/**
 * `LiquidityProvision.Status`: 0 unspecified, 1 active, 2 stopped, 3 cancelled, 4 rejected, 5 undeployed,
 * 6 pending.
 */
export type ProvisionStatus = 0 | 1 | 2 | 3 | 4 | 5 | 6

export type CheckpointEvent = {
  kind: 'checkpoint'
  hash: string
  blockHash: string
  atBlock: bigint
}

export type FundingPeriodEvent = {
  kind: 'funding-period'
  marketId: string
  seq: bigint
  start: bigint
  end: bigint | null
  fundingPayment: string | null
  fundingRate: string | null
  internalTwap: string | null
  externalTwap: string | null
}

export type FundingPeriodDataPointEvent = {
  kind: 'funding-period-data-point'
  marketId: string
  seq: bigint
  source: DataPointSource
  price: string
  timestamp: bigint
  twap: string
}

export type AuctionEvent = {
  kind: 'auction'
  marketId: string
  openingAuction: boolean
  leave: boolean
  start: bigint
  end: bigint
}

export type LiquidityProvisionEvent = {
  kind: 'liquidity-provision'
  provisionId: string
  marketId: string
  partyId: string
  status: ProvisionStatus
}

/** A party's element of a market's fee-share list; texts are `""` if the event had none. */
export type FeeShare = {
  party: string
  equityLikeShare: string
  averageEntryValuation: string
  averageScore: string
  virtualStake: string
}

/** A party's element of a market's SLA list; texts are `""` if the event had none. */
export type ProviderSla = {
  party: string
  currentEpochFractionOfTimeOnBook: string
  lastEpochFractionOfTimeOnBook: string
  lastEpochFeePenalty: string
  lastEpochBondPenalty: string
  hysteresisPeriodFeePenalties: string[]
  requiredLiquidity: string
  notionalVolumeBuys: string
  notionalVolumeSells: string
}

/** The stored part of market data: the two lists of liquidity providers, and a few values. */
export type MarketDataEvent = {
  kind: 'market-data'
  marketId: string
  feeShares: FeeShare[]
  slas: ProviderSla[]
  /** Null if only the lists are known. */
  figures: MarketFigures | null
  /**
   * The seq of the estimate in `figures`, -1 if they have none, or a greater one if the estimate cannot be stored; cheaper to
   * read than the figures. Absent if only the figures say it.
   */
  readonly highestSeq?: bigint
}

/** State of a market at a block. */
export type MarketFigures = {
  timestamp: bigint
  /** In the market's decimals; `""` if the event had none, or one that is not a number. */
  markPrice: string
  /** In the market's position decimals. */
  openInterest: bigint
  /** `Market.State` and `Market.TradingMode`; 0 for an unknown number. */
  state: number
  tradingMode: number
  /** The core's estimate of the running funding period; null for other products. */
  perpetual: PerpetualData | null
  /** Whether the bytes of the event are malformed after these figures. */
  isMalformed: boolean
}

/** Product of a market's instrument; spot markets have a quote asset instead of a settlement asset. */
export type Product = 'PRODUCT_UNSPECIFIED' | 'PRODUCT_FUTURE' | 'PRODUCT_SPOT' | 'PRODUCT_PERPETUAL'

/** A market as it was created or updated. Texts are `""` if the event had none. */
export type InstrumentEvent = {
  kind: 'market'
  marketId: string
  code: string
  name: string
  product: Product
  /** `""` for a spot market. */
  quoteName: string
  decimalPlaces: bigint
  /** Below 0 if the smallest position is more than one unit. */
  positionDecimalPlaces: bigint
  /** `Market.State`, 0 to 10. */
  state: number
  /** `Market.TradingMode`, 0 to 8. */
  tradingMode: number
  /** The id of the settlement asset, or of the quote asset of a spot market; null if the market names none. */
  settlementAsset: string | null
  /** The funding parameters of a perpetual market, as sent, even if they are not numbers; null for other products. */
  funding: FundingParameters | null
  /** When a perpetual market's funding payments are due; null unless it has exactly one trigger. */
  schedule: FundingSchedule | null
  /** The SLA required of liquidity providers; null if all values are zero. */
  sla: SlaParameters | null
}

/** Payments are due at `initial` + n * `every`, for n = 0, 1, 2, ... */
export type FundingSchedule = {
  /** Unix nanoseconds; null if the trigger has none. */
  initial: bigint | null
  /** Nanoseconds, above 0. */
  every: bigint
}

/** `LiquiditySLAParameters`, the texts as sent. */
export type SlaParameters = {
  priceRange: string
  commitmentMinTimeFraction: string
  performanceHysteresisEpochs: bigint
  slaCompetitionFactor: string
}

/** The parameters of a perpetual market's funding payments (docs/funding.md), as texts. */
export type FundingParameters = {
  /** Interest rate per year; `""` is 0, as in the clamps. */
  interestRate: string
  clampLowerBound: string
  clampUpperBound: string
  /** Null if the market sets none. */
  scalingFactor: string | null
  lowerBound: string | null
  upperBound: string | null
}

/** An asset: its name, and the number of decimals of its amounts. */
export type AssetEvent = {
  kind: 'asset'
  assetId: string
  name: string
  symbol: string
  decimals: bigint
  /** `Asset.Status`: 0 unspecified, 1 proposed, 2 rejected, 3 pending listing, 4 enabled. */
  status: number
}

/** The core's estimate of a running funding period in market data; texts and numbers as sent, null if unset. */
export type PerpetualData = {
  fundingPayment: string | null
  fundingRate: string | null
  internalTwap: string | null
  externalTwap: string | null
  seq: bigint
  start: bigint
}

/** The start or the end of an epoch of the network. Times that the event does not set are null. */
export type EpochEvent = {
  kind: 'epoch'
  action: 'start' | 'end'
  epoch: bigint
  start: bigint | null
  /** When the epoch was due to end. */
  expiry: bigint | null
  /** Null in a start. */
  end: bigint | null
}

/** An event of a stored kind; the folders of src/core/resources define these. */
export type DecodedEvent = { readonly kind: string }

/** The events of kinds that more than one folder uses: funding rules and imports read them too. */
export type MarketEvent =
  | CheckpointEvent
  | FundingPeriodEvent
  | FundingPeriodDataPointEvent
  | AuctionEvent
  | LiquidityProvisionEvent
  | MarketDataEvent
  | InstrumentEvent
  | AssetEvent
  | EpochEvent

const MARKET_EVENT_KINDS: Record<MarketEvent['kind'], true> = {
  checkpoint: true,
  'funding-period': true,
  'funding-period-data-point': true,
  auction: true,
  'liquidity-provision': true,
  'market-data': true,
  market: true,
  asset: true,
  epoch: true,
}

/** Whether an event is of a kind that more than one folder uses. */
export function isMarketEvent(event: DecodedEvent): event is MarketEvent {
  return Object.hasOwn(MARKET_EVENT_KINDS, event.kind)
}

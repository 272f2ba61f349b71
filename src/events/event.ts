/**
 * The events the service keeps something of, as plain values. Nothing past this stage knows protobuf.
 *
 * Market, party and provision ids are lower case; a market or provision id is 64 hex digits, a party id
 * is the same or `network`. Times are Unix nanoseconds. Prices, TWAPs and payments are the core's own text.
 */

/** Where a data point comes from: 0 unspecified, 1 external (oracle), 2 internal (mark price). */
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

/** A party's element of a market's fee-share list; texts are `""` where the event had none. */
export type FeeShare = {
  party: string
  equityLikeShare: string
  averageEntryValuation: string
  averageScore: string
  virtualStake: string
}

/** A party's element of a market's SLA list; texts are `""` where the event had none. */
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

/** What the service keeps of a market's data: its two lists of liquidity providers. */
export type MarketDataEvent = {
  kind: 'market-data'
  marketId: string
  feeShares: FeeShare[]
  slas: ProviderSla[]
}

export type MarketEvent =
  | CheckpointEvent
  | FundingPeriodEvent
  | FundingPeriodDataPointEvent
  | AuctionEvent
  | LiquidityProvisionEvent
  | MarketDataEvent

/** A checkpoint of the network. */
export type Checkpoint = {
  hash: string
  blockHash: string
  /** Height of the block at which it is made: digits. */
  atBlock: string
}

/** Where the price of a data point comes from. */
export type DataPointSource = 'SOURCE_UNSPECIFIED' | 'SOURCE_EXTERNAL' | 'SOURCE_INTERNAL'

/** A point of one of a perpetual market's funding periods. */
export type FundingPeriodDataPoint = {
  marketId: string
  /** The funding period: digits. */
  seq: string
  dataPointType: DataPointSource
  /** A decimal number as the network has sent it; beyond what a JavaScript number holds. */
  price: string
  /** Unix nanoseconds: digits. `BigInt(point.timestamp) / 1_000_000n` are milliseconds. */
  timestamp: string
  /** Time-weighted average price of the source up to the point. */
  twap: string
}

/** What a party's provision on a market has a share of. */
export type LiquidityProviderFeeShare = {
  party: string
  equityLikeShare: string
  averageEntryValuation: string
  averageScore: string
  virtualStake: string
}

/** How a party keeps its commitment to a market. */
export type LiquidityProviderSla = {
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

/** A party that provides liquidity on a market. */
export type LiquidityProvider = {
  partyId: string
  marketId: string
  feeShare: LiquidityProviderFeeShare
  /** Null where the market has none for the party. */
  sla: LiquidityProviderSla | null
}

/** Heights of blocks, both ends included: digits. */
export type BlockRange = { from: string; to: string }

/** What the service holds, and what it lacks; numbers are digits, times Unix nanoseconds. */
export type Coverage = {
  chainId: string
  blocks: {
    /** Blocks that are held whole. */
    ranges: BlockRange[]
    gaps: (BlockRange & { kind: 'missing' | 'incomplete' })[]
    lastTimestamp: string
  }
  checkpoints: { count: string; firstTimestamp: string | null; lastTimestamp: string | null }
  fundingPeriodDataPoints: {
    marketId: string
    count: string
    firstTimestamp: string
    lastTimestamp: string
  }[]
  liquidityProviders: { marketId: string; count: string; atBlock: string }[]
  /** How far old rows have been taken out; null where none have. */
  prunedBefore: { timestamp: string | null; height: string | null } | null
  /** What to ask the rest with, where there are more than 1,000 gaps or markets; null where this is all. */
  next: string | null
}

/** The answer of `GET /health`. */
export type Health = { status: 'ok' }

/** The answer of `GET /ready`. */
export type Readiness =
  | { status: 'ready' }
  | {
      status: 'not ready'
      reasons: {
        reason: 'empty store' | 'gap' | 'intake stopped' | 'store unreachable' | 'behind'
        message: string
      }[]
    }

/** The node of each resource. */
export type Nodes = {
  checkpoints: Checkpoint
  fundingPeriodDataPoints: FundingPeriodDataPoint
  liquidityProviders: LiquidityProvider
}

export type ResourceName = keyof Nodes

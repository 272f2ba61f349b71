/*
 * Made from the descriptions of the resources and the questions (src/core/resources, src/service/questions) by `npm run build:client`; not to be edited.
 */

/** A time: a Date, or Unix nanoseconds as a bigint or as digits. */
export type Time = bigint | string | Date

/** A time in which a market was in auction. Adjoining auctions are merged. */
export type Auction = {
  /** The market. */
  marketId: string
  /** Start of the auction, Unix nanoseconds. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  start: string
  /** End of the auction, Unix nanoseconds. Absent while the auction is in progress. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  end?: string
  /** Whether it is the market's opening auction, or begins with it. */
  openingAuction: boolean
}

/** A checkpoint of the network. */
export type Checkpoint = {
  /** Hash of the checkpoint. */
  hash: string
  /** Hash of the block of the checkpoint. */
  blockHash: string
  /** Height of the block of the checkpoint. Digits. */
  atBlock: string
}

/** An epoch of the network. Times that no event has set are absent. */
export type Epoch = {
  /** Number of the epoch. Digits. */
  epoch: string
  /** Start of the epoch, Unix nanoseconds. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  start?: string
  /** Time at which the epoch was due to end, Unix nanoseconds. It ends in a later block. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  expiry?: string
  /** End of the epoch, Unix nanoseconds. Absent while the epoch is in progress. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  end?: string
  /** Height of the block in which the epoch ended. Absent while the epoch is in progress. Digits. */
  endBlock?: string
}

/** A payment that a party made or received at the end of a funding period. */
export type FundingPayment = {
  /** The party. */
  partyId: string
  /** The market. */
  marketId: string
  /** Number of the funding period within its market. Digits. */
  fundingPeriodSeq: string
  /** Time of the block in which the payment was made, Unix nanoseconds. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  timestamp: string
  /** Amount that the party received, negative if it paid, in the smallest unit of the settlement asset. A decimal number as the network sent it; too long for a JavaScript number. */
  amount: string
  /** Part of the amount that others could not pay, zero or negative, in the smallest unit of the settlement asset. A decimal number as the network sent it; too long for a JavaScript number. */
  lossAmount: string
}

/** Source of the price. */
export type DataPointSource = 'SOURCE_UNSPECIFIED' | 'SOURCE_EXTERNAL' | 'SOURCE_INTERNAL'

/** A data point of a funding period of a perpetual market. */
export type FundingPeriodDataPoint = {
  /** The market. */
  marketId: string
  /** Number of the funding period. Digits. */
  seq: string
  /** Source of the price. */
  dataPointType: DataPointSource
  /** Price in the smallest unit of the settlement asset. A decimal number as the network sent it; too long for a JavaScript number. */
  price: string
  /** Unix nanoseconds. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  timestamp: string
  /** Time-weighted average price of the source in this period up to this point, in the smallest unit of the settlement asset. A decimal number as the network sent it; too long for a JavaScript number. */
  twap: string
}

/** A funding period of a perpetual market. Fields that its latest event did not set are absent. */
export type FundingPeriod = {
  /** The market. */
  marketId: string
  /** Number of the period within its market. Digits. */
  seq: string
  /** Start of the period, Unix nanoseconds. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  start: string
  /** End of the period, Unix nanoseconds. Absent while the period is in progress. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  end?: string
  /** Payment per whole unit of position at the end of the period, in the smallest unit of the settlement asset. Positive if long positions pay short ones. A decimal number as the network sent it; too long for a JavaScript number. */
  fundingPayment?: string
  /** Payment divided by the external TWAP, for this period. */
  fundingRate?: string
  /** Time-weighted average of the internal prices, in the smallest unit of the settlement asset. While the period is in progress, lists and streams have its opening price, and exports and market summaries no value. A decimal number as the network sent it; too long for a JavaScript number. */
  internalTwap?: string
  /** Time-weighted average of the external prices, in the smallest unit of the settlement asset. While the period is in progress, lists and streams have its opening price, and exports and market summaries no value. A decimal number as the network sent it; too long for a JavaScript number. */
  externalTwap?: string
}

/** Kind of product. */
export type Product = 'PRODUCT_UNSPECIFIED' | 'PRODUCT_FUTURE' | 'PRODUCT_SPOT' | 'PRODUCT_PERPETUAL'

/** State of the market. */
export type MarketState =
  | 'STATE_UNSPECIFIED'
  | 'STATE_PROPOSED'
  | 'STATE_REJECTED'
  | 'STATE_PENDING'
  | 'STATE_CANCELLED'
  | 'STATE_ACTIVE'
  | 'STATE_SUSPENDED'
  | 'STATE_CLOSED'
  | 'STATE_TRADING_TERMINATED'
  | 'STATE_SETTLED'
  | 'STATE_SUSPENDED_VIA_GOVERNANCE'

/** Trading mode. */
export type TradingMode =
  | 'TRADING_MODE_UNSPECIFIED'
  | 'TRADING_MODE_CONTINUOUS'
  | 'TRADING_MODE_BATCH_AUCTION'
  | 'TRADING_MODE_OPENING_AUCTION'
  | 'TRADING_MODE_MONITORING_AUCTION'
  | 'TRADING_MODE_NO_TRADING'
  | 'TRADING_MODE_SUSPENDED_VIA_GOVERNANCE'
  | 'TRADING_MODE_LONG_BLOCK_AUCTION'
  | 'TRADING_MODE_PROTOCOL_AUTOMATED_PURCHASE_AUCTION'

/** Asset whose decimals apply to the prices and TWAPs of data points and periods and to the amounts of providers. For a spot market, the quote asset. */
export type SettlementAsset = {
  /** Its id. */
  id: string
  /** Its symbol; null if the store has no event of the asset. */
  symbol: string | null
  /** Its name. */
  name: string | null
  /** Decimals of its amounts. Digits. */
  decimals: string | null
}

/** Due times of payments: `initial` + n × `every`, for n = 0, 1, 2, ... Null unless the market has exactly one trigger. */
export type FundingSchedule = {
  /** First due time, Unix nanoseconds. Null if unset. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  initial: string | null
  /** Interval in nanoseconds. Digits. */
  every: string
}

/** Funding parameters, as in the event. Null unless the market is perpetual. */
export type FundingParameters = {
  /** Interest rate per year. Empty means 0. */
  interestRate: string
  /** Minimum interest component, as a fraction of the external TWAP. */
  clampLowerBound: string
  /** Maximum interest component, as a fraction of the external TWAP. */
  clampUpperBound: string
  /** Factor that payments are multiplied by. */
  scalingFactor: string | null
  /** Lowest rate. */
  lowerBound: string | null
  /** Highest rate. */
  upperBound: string | null
  /** Due times of payments: `initial` + n × `every`, for n = 0, 1, 2, ... Null unless the market has exactly one trigger. */
  schedule: FundingSchedule | null
}

/** Service level required of liquidity providers. Null if unset or all zero. */
export type SlaParameters = {
  /** Maximum distance from the mid price at which orders count as liquidity, as a fraction of the mid price. */
  priceRange: string
  /** Minimum fraction of an epoch during which a provider must offer its commitment. */
  commitmentMinTimeFraction: string
  /** Number of earlier epochs that count towards the fee penalty. Digits. */
  performanceHysteresisEpochs: string
  /** Maximum fraction of fees lost as a penalty. */
  slaCompetitionFactor: string
}

/** Name, product, decimals and terms of a market. */
export type Instrument = {
  /** The market. */
  marketId: string
  /** Short name, such as `BTC/PERP`. */
  code: string
  /** Long name. */
  name: string
  /** Kind of product. */
  product: Product
  /** Name of the unit of the prices. */
  quoteName: string
  /** Decimals of order and trade prices. Digits. */
  decimalPlaces: string
  /** Decimals of position sizes. May be negative. Digits, with a sign if below zero. */
  positionDecimalPlaces: string
  /** State of the market. */
  state: MarketState
  /** Trading mode. */
  tradingMode: TradingMode
  /** Asset whose decimals apply to the prices and TWAPs of data points and periods and to the amounts of providers. For a spot market, the quote asset. */
  settlementAsset: SettlementAsset | null
  /** Funding parameters, as in the event. Null unless the market is perpetual. */
  funding: FundingParameters | null
  /** Service level required of liquidity providers. Null if unset or all zero. */
  sla: SlaParameters | null
}

/** Performance of a liquidity provider on a market in a completed epoch. */
export type LiquidityProviderEpoch = {
  /** The market. */
  marketId: string
  /** The party. */
  partyId: string
  /** Number of the epoch. Digits. */
  epoch: string
  /** Time of the block in which the epoch ended, or, if its market settled before, in which its last fees were paid, Unix nanoseconds. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  timestamp: string
  /** Height of that block. Digits. */
  atBlock: string
  /** Fraction of the epoch during which its orders covered its commitment. */
  timeOnBook: string | null
  /** Fraction of its fees lost for the epoch. */
  feePenalty: string | null
  /** Fraction of its bond lost for the epoch. */
  bondPenalty: string | null
  /** Amount to be offered on each side of the book, in the smallest unit of the settlement asset. */
  requiredLiquidity: string | null
  /** The provider's share of the market, by size and age of its commitment. Its part of the fees also depends on its average score and penalties. Null if the market listed none. */
  equityLikeShare: string | null
  /** The fees that the core allocated to it in the epoch, before the fee penalty and without any bonus, in the smallest unit of the settlement asset. Null if the core sent none. A decimal number as the network sent it; too long for a JavaScript number. */
  feesPaid: string | null
}

/** Figures that determine the provider's part of the liquidity fees. */
export type LiquidityProviderFeeShare = {
  /** The party. */
  party: string
  /** The provider's share of the market, by size and age of its commitment. Its part of the fees also depends on its average score and penalties. */
  equityLikeShare: string
  /** Average market value at which it committed, in the smallest unit of the settlement asset. */
  averageEntryValuation: string
  /** How close its orders are to the middle of the order book (liquidity score). Its part of the fees is `equityLikeShare` times this, divided by the sum over the providers of the market. If AMMs, which are not listed, hold a part of the equity-like share, that is an upper bound. */
  averageScore: string
  /** Its commitment plus its share of the market's growth since then, in the smallest unit of the settlement asset. */
  virtualStake: string
}

/** How well the party meets its commitment. Null if the core sent none. */
export type LiquidityProviderSla = {
  /** The party. */
  party: string
  /** Fraction of the current epoch during which its orders covered its commitment. */
  currentEpochFractionOfTimeOnBook: string
  /** The same for the last completed epoch. */
  lastEpochFractionOfTimeOnBook: string
  /** Fraction of its fees lost for the last epoch. */
  lastEpochFeePenalty: string
  /** Fraction of its bond lost for the last epoch. */
  lastEpochBondPenalty: string
  /** Fee penalties of the earlier epochs that still count. */
  hysteresisPeriodFeePenalties: string[]
  /** Amount to be offered on each side of the book, in the smallest unit of the settlement asset. */
  requiredLiquidity: string
  /** Volume of its buy orders that counts towards its commitment, in the smallest unit of the settlement asset. */
  notionalVolumeBuys: string
  /** Volume of its sell orders that counts towards its commitment, in the smallest unit of the settlement asset. */
  notionalVolumeSells: string
}

/** A party that provides liquidity on a market. */
export type LiquidityProvider = {
  /** The party. */
  partyId: string
  /** The market. */
  marketId: string
  /** Figures that determine the provider's part of the liquidity fees. */
  feeShare: LiquidityProviderFeeShare
  /** How well the party meets its commitment. Null if the core sent none. */
  sla: LiquidityProviderSla | null
}

/** The fees of a liquidity provider. */
export type PaidLiquidityFee = {
  /** The party. */
  party: string
  /** Its fees before the fee penalty, in the smallest unit of the asset. */
  amount: string
  /** The same in quanta of the asset; mostly empty. */
  quantumAmount: string
}

/** The fees that a market allocated to its liquidity providers for an epoch, before fee penalties. */
export type PaidLiquidityFees = {
  /** The market. */
  market: string
  /** The asset of the fees. */
  asset: string
  /** Number of the epoch. Digits. */
  epochSeq: string
  /** All fees that the market allocated, in the smallest unit of the asset. Empty if not set. */
  totalFeesPaid: string
  /** The fees of each party. */
  feesPaidPerParty: PaidLiquidityFee[]
}

/** Estimate of the running funding period, as published in the market's latest data: the payment if the period ended now. */
export type FundingEstimate = {
  /** The market. */
  marketId: string
  /** Number of the running funding period. Digits. */
  seq: string
  /** Start of the period, Unix nanoseconds. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  start: string
  /** Time of the market data, Unix nanoseconds. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  at: string
  /** Time-weighted average of the internal prices since the start of the period, in the smallest unit of the settlement asset. A decimal number as the network sent it; too long for a JavaScript number. */
  internalTwap: string
  /** Time-weighted average of the external prices since the start of the period, in the smallest unit of the settlement asset. A decimal number as the network sent it; too long for a JavaScript number. */
  externalTwap: string
  /** Payment per whole unit of position, in the smallest unit of the settlement asset. Positive if long positions would pay short ones. A decimal number as the network sent it; too long for a JavaScript number. */
  fundingPayment: string
  /** Payment divided by the external TWAP, as a decimal number. */
  fundingRate: string
}

/** Latest data of a market. */
export type MarketData = {
  /** Time of the data, Unix nanoseconds. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  timestamp: string
  /** Mark price in the market's decimals. Empty if there is none. */
  markPrice: string
  /** Open interest in the market's position decimals. Digits. */
  openInterest: string
  /** State of the market. */
  marketState: MarketState
  /** Trading mode. */
  tradingMode: TradingMode
}

/** Average funding rates per 8 hours: the sum of the rates of the periods that ended in a window before the last block, divided by the number of 8-hour intervals in it, to 16 decimal places. Null unless all periods of the window are stored and one was paid; null if blocks, or a period that later events name, are missing after the start of the latest stored period. */
export type RateAverages = {
  /** Over the last 24 hours. */
  '24h': string | null
  /** Over the last 7 days. */
  '7d': string | null
  /** Over the last 30 days. */
  '30d': string | null
}

/** A market that appears in any list, with its current nodes from the other lists; null if a list has none. */
export type MarketSummary = {
  /** The market. */
  marketId: string
  /** Name and decimals; null if the store has no market event for it. */
  instrument: Instrument | null
  /** The latest funding period; null if it has ended, or if later events name a later one. */
  runningPeriod: FundingPeriod | null
  /** The last paid funding period. */
  lastPaidPeriod: FundingPeriod | null
  /** Estimated payment if the running period ended now, as published by the network. */
  estimate: FundingEstimate | null
  /** Latest data point of the external price. */
  lastExternalPoint: FundingPeriodDataPoint | null
  /** Latest data point of the internal price. */
  lastInternalPoint: FundingPeriodDataPoint | null
  /** Latest market data; null if none are stored. Newer than the state and mode of `instrument`. */
  marketData: MarketData | null
  /** Average funding rates per 8 hours. */
  averages: RateAverages
  /** Number of liquidity providers. Digits. */
  providers: string
}

export type PageInfo = {
  hasNextPage: boolean
  hasPreviousPage: boolean
  /** Cursor of the first edge; empty on an empty page. */
  startCursor: string
  /** Cursor of the last edge; empty on an empty page. */
  endCursor: string
}

export type BlockRange = {
  from: string
  to: string
}

export type BlockGap = {
  from: string
  to: string
  /** `missing`: the blocks are not stored. `incomplete`: some of their events are missing. */
  kind: 'missing' | 'incomplete'
  /** Time of the last stored block before, Unix nanoseconds. Null if it is not known or there is none: the gap is open on that side. */
  start: string | null
  /** Time of the first stored block after, Unix nanoseconds. Null if it is not known or there is none. */
  end: string | null
}

export type ImportedBlocks = {
  from: string
  to: string
  /** Resources that the source did not have, or that are not imported yet. Left out if there are none. */
  lacks?: string[]
}

export type StoredBlocks = {
  /** Heights of completely stored blocks, both ends included. */
  ranges: BlockRange[]
  /** Heights between the first and the last block that are not completely stored. */
  gaps: BlockGap[]
  /** Heights of blocks whose rows were imported from a data node's tables. Of each market, period and source, only the last data point in a block is present; times are in microseconds; the order within a block is unknown. */
  imported: ImportedBlocks[]
  /** Unix nanoseconds. */
  lastTimestamp: string
}

export type CompleteSince = {
  resource: string
  height: string
  /** Time of that block, Unix nanoseconds. Null if it is not known. */
  start: string | null
}

export type StoredRows = {
  count: string
}

export type StoredBlockRows = {
  count: string
  /** Unix nanoseconds. */
  firstTimestamp: string | null
  /** Unix nanoseconds. */
  lastTimestamp: string | null
}

export type StoredMarketRows = {
  marketId: string
  count: string
  /** Unix nanoseconds. */
  firstTimestamp: string
  /** Unix nanoseconds. */
  lastTimestamp: string
}

export type StoredMarketProviders = {
  marketId: string
  count: string
  atBlock: string
}

export type PruneLimit = {
  /** Unix nanoseconds. */
  timestamp: string | null
  height: string | null
}

/** List stored blocks, gaps and row counts. */
export type Coverage = {
  chainId: string
  blocks: StoredBlocks
  /** Resources that an older version of the service did not store: they are complete from this height on. To have them in all blocks, ingest the event files into a new store. */
  since: CompleteSince[]
  auctions: StoredRows
  /** Times are those of the blocks that contained the rows. */
  checkpoints: StoredBlockRows
  epochs: StoredRows
  /** By market. */
  fundingPayments: StoredMarketRows[]
  /** By market. */
  fundingPeriodDataPoints: StoredMarketRows[]
  /** By market. */
  fundingPeriods: StoredMarketRows[]
  instruments: StoredRows
  /** By market. */
  liquidityProviderHistory: StoredMarketRows[]
  /** By market. `atBlock` is the block of its latest list. */
  liquidityProviders: StoredMarketProviders[]
  paidLiquidityFeesStats: StoredRows
  /** Null if nothing is left. If there are more than 1000 gaps, imported ranges, or markets in a list, the response contains the first ones; pass this as `after` to get the next ones. Lists without further entries are then empty. */
  next: string | null
  /** Limit before which rows have been pruned: a time, a height, or both. Null if nothing was pruned. */
  prunedBefore: PruneLimit | null
}

export type HistoricEstimate = {
  /** Time of a data point, or of the end of the period, Unix nanoseconds. */
  timestamp: string
  /** Number of the period that ran, or ended, then. */
  seq: string
  /** Time-weighted average of the internal prices of the period until then. */
  internalTwap: string | null
  /** Time-weighted average of the external prices of the period until then. */
  externalTwap: string | null
  /** Payment per whole unit of position, had the period ended then; at its end, what was paid. */
  fundingPayment: string | null
  /** Payment divided by the external TWAP, as a decimal number. */
  fundingRate: string | null
  /** Only the latest parameters of a market are stored: before its latest event they may have been others, `later`. */
  parameters: 'current' | 'later'
}

export type MissingBlocks = {
  /** First block. */
  from: string
  /** Last block. */
  to: string
  /** Time of the last stored block before them, Unix nanoseconds. Null if it is unknown: they may be of any earlier time. */
  start: string | null
  /** Time of the first stored block after them, Unix nanoseconds. Null if it is unknown: they may be of any later time. */
  end: string | null
}

export type StoredSince = {
  /** The block from which on the store has everything. */
  height: string
  /** Time of that block, Unix nanoseconds. Null if it is unknown. */
  start: string | null
}

/** Get what a market's funding periods would have paid, over time. */
export type FundingEstimateHistoryAnswer = {
  fundingEstimateHistory: {
    /** The market. */
    marketId: string
    /** In time order. Amounts are in the smallest unit of the settlement asset; null if what they follow from is not stored. */
    estimates: HistoricEstimate[]
    /** `pagination.after` of the next request. Null if nothing is left. */
    next: string | null
  }
  /** Blocks that are missing or incomplete, and imported ones without the resource: what they contain is not in the answer. At most the last 1,000 ranges. */
  missing: MissingBlocks[]
  since: StoredSince | null
}

export type PositionPayment = {
  /** Number of the period within its market. */
  seq: string
  /** End of the period, Unix nanoseconds. */
  end: string
  /** The funding rate of the period. */
  fundingRate: string
  /** Change of the position's balance, in the smallest unit of the settlement asset. Negative if it paid. */
  amount: string
}

/** Calculate the funding payments of a position over a time range. */
export type PositionFunding = {
  marketId: string
  /** The requested position size. */
  units: string
  /** Paid periods that ended in the range. Null with `pagination.after`. */
  count: number | null
  /** Sum of the amounts over the whole range. Null with `pagination.after`. */
  total: string | null
  /** Sum of the funding rates over the whole range. Null with `pagination.after`. */
  sumOfRates: string | null
  /** Sum of the rates divided by the count, to 16 decimal places. Null if no period was paid. */
  averageRate: string | null
  /** End of the earliest paid period in the range, Unix nanoseconds. */
  firstEnd: string | null
  /** End of the latest paid period in the range, Unix nanoseconds. */
  lastEnd: string | null
  /** Start of the earliest period from which all periods are stored up to the last known one, Unix nanoseconds. Null if there is none. */
  completeFrom: string | null
  /** Numbers of the periods in the range that are not stored or have no end, up to the last period that an event, a data point or market data name. If the range is open or ends after the last stored end, it includes a running period. At most 1,000. */
  missing: string[] | null
  /** A page of the payments in the range, newest first. */
  payments: PositionPayment[]
  /** `pagination.after` of the next request. Null if nothing is left, or no payment was requested. */
  next: string | null
}

export type FundingBucket = {
  /** Start of the day, of the week (a Monday) or of the month, in UTC, as Unix nanoseconds. */
  start: string
  /** Number of payments. */
  count: number
  /** What increased its balance, after losses. */
  received: string
  /** What decreased its balance, as a positive number. */
  paid: string
  /** `received` less `paid`. */
  net: string
  /** What others could not pay, zero or negative; `net` is without it. */
  lossAmount: string
}

export type MarketFunding = {
  /** The market. Amounts are in the smallest unit of its settlement asset. */
  marketId: string
  /** Number of payments. */
  count: number
  /** What increased its balance, after losses. */
  received: string
  /** What decreased its balance, as a positive number. */
  paid: string
  /** `received` less `paid`. */
  net: string
  /** What others could not pay, zero or negative; `net` is without it. */
  lossAmount: string
  /** Days, weeks or months with a payment, in time order. Absent unless an interval is given. */
  buckets?: FundingBucket[]
}

/** Add up the funding payments of a party by market, and by day, week or month. */
export type PartyFundingAnswer = {
  partyFunding: {
    /** The party. */
    partyId: string
    /** The markets in which it paid or received anything in the range, by id. Nothing is added up over markets, whose assets may differ. */
    markets: MarketFunding[]
  }
  /** Blocks that are missing or incomplete, and imported ones without the resource: what they contain is not in the answer. At most the last 1,000 ranges. */
  missing: MissingBlocks[]
  since: StoredSince | null
}

export type StatementRow = {
  /** Time of the block, RFC 3339 in UTC. */
  time: string
  /** Short name of the market. Null if it is not stored. */
  market: string | null
  /** The market. */
  marketId: string
  /** What the row is of. */
  kind: 'funding payment' | 'liquidity fee' | 'fee penalty'
  /** Number of the funding period within its market. */
  period: string | null
  /** Number of the epoch of a fee or penalty. */
  epoch: string | null
  /** Funding rate of the period. Null if that is not stored. */
  rate: string | null
  /** Position that was paid for, positive for a long one, rounded to the steps of the market. Null after losses, if a step pays less than two of the smallest unit, and if period or market are not stored. */
  size: string | null
  /** Change of the balance, in whole units of the asset. Null if it is not known. */
  amount: string | null
  /** Sum of the amounts of the asset up to this row. Null if the amount is. */
  runningTotal: string | null
  /** Part of a funding payment that others could not pay, zero or negative, in whole units; `amount` is without it. */
  lossAmount: string | null
  /** Symbol of the asset. Null if it is not stored. */
  asset: string | null
  /** The asset. Null if the market is not stored. */
  assetId: string | null
  /** Why the amount is not known. */
  note: string | null
}

/** Get a statement of the funding payments, liquidity fees and fee penalties of a party. */
export type PartyStatementAnswer = {
  partyStatement: {
    /** The party. */
    partyId: string
    /** Funding payments, liquidity fees and fee penalties, in time order. Fees are before the penalty, which is a row of its own. */
    rows: StatementRow[]
    /** Why the statement may not have everything that it should, in plain English. Empty if it has. */
    incomplete: string[]
    /** What no statement has. */
    notIncluded: string[]
  }
  /** Blocks that are missing or incomplete, and imported ones without the resource: what they contain is not in the answer. At most the last 1,000 ranges. */
  missing: MissingBlocks[]
  since: StoredSince | null
}

export type FundingLeader = {
  /** The party. */
  partyId: string
  /** Number of payments. */
  count: number
  /** What increased its balance, after losses. */
  received: string
  /** What decreased its balance, as a positive number. */
  paid: string
  /** `received` less `paid`. */
  net: string
}

/** List the parties that received or paid most funding. */
export type FundingLeadersAnswer = {
  fundingLeaders: {
    /** Number of parties that paid or received anything in the range. */
    parties: number
    /** The first of them, in the order of the request, then by id. Without `network`: what that really paid no event says. Amounts are in the smallest unit of the asset. */
    leaders: FundingLeader[]
  }
  /** Blocks that are missing or incomplete, and imported ones without the resource: what they contain is not in the answer. At most the last 1,000 ranges. */
  missing: MissingBlocks[]
  since: StoredSince | null
}

export type FundingRateBucket = {
  /** Start of the bucket, Unix nanoseconds: a multiple of its length. */
  start: string
  /** Paid periods that ended in the bucket. */
  count: number
  /** Sum of their funding rates. */
  sumOfRates: string
}

export type MarketFundingRates = {
  /** The market. */
  marketId: string
  interval: '8h' | '1d'
  /** Buckets in which a paid period ended, in time order. */
  buckets: FundingRateBucket[]
}

export type MarketFundingRatesEdge = {
  node: MarketFundingRates
  /** Opaque. Pass it as pagination.after or pagination.before. */
  cursor: string
}

export type MarketFundingRatesPage = {
  edges: MarketFundingRatesEdge[]
  pageInfo: PageInfo
}

/** Sum funding rates of markets by day or by 8 hours. */
export type FundingRates = MarketFundingRatesPage

export type SeriesSummary = {
  /** Value of the earliest point. */
  first: string
  /** Value of the latest point. */
  last: string
  /** Smallest value; of equal values, the first. */
  minimum: string
  /** Largest value; of equal values, the first. */
  maximum: string
}

export type SeriesBucket = {
  /** Start of the bucket, Unix nanoseconds: a multiple of its length. */
  start: string
  /** Latest funding period with a point in the bucket; `twap` covers only its points. */
  seq: string
  /** Number of points. A point that was carried over into later funding periods counts once. */
  count: string
  /** Prices of all points, formatted as in the events. */
  price: SeriesSummary
  /** Time-weighted average prices of the points of period `seq`, formatted as in the events. */
  twap: SeriesSummary
}

export type SeriesSource = {
  dataPointType: 'SOURCE_UNSPECIFIED' | 'SOURCE_EXTERNAL' | 'SOURCE_INTERNAL'
  /** Buckets with points, in time order. */
  buckets: SeriesBucket[]
}

/** Get the prices and TWAPs of a market in time buckets, for a chart. */
export type Series = {
  marketId: string
  /** Start of the first bucket of the range, Unix nanoseconds. 0 if there are no points. */
  from: string
  /** End of the last bucket of the range, Unix nanoseconds. 0 if there are no points. */
  to: string
  /** Length of a bucket. Empty if there are no points. */
  interval:
    | ''
    | '1s'
    | '2s'
    | '5s'
    | '10s'
    | '15s'
    | '30s'
    | '1m'
    | '2m'
    | '5m'
    | '10m'
    | '15m'
    | '30m'
    | '1h'
    | '2h'
    | '4h'
    | '8h'
    | '12h'
    | '1d'
    | '2d'
    | '7d'
    | '14d'
    | '28d'
    | '91d'
    | '365d'
  /** Length of a bucket in nanoseconds. 0 if there are no points. */
  bucketNanoseconds: string
  /** Sources with points in the range, external first. */
  sources: SeriesSource[]
}

export type SeriesInterval =
  | '1s'
  | '2s'
  | '5s'
  | '10s'
  | '15s'
  | '30s'
  | '1m'
  | '2m'
  | '5m'
  | '10m'
  | '15m'
  | '30m'
  | '1h'
  | '2h'
  | '4h'
  | '8h'
  | '12h'
  | '1d'
  | '2d'
  | '7d'
  | '14d'
  | '28d'
  | '91d'
  | '365d'

export type AuctionInterval = {
  /** Start of the auction, Unix nanoseconds. */
  start: string
  /** End of the auction, Unix nanoseconds. Absent while the auction is in progress. */
  end?: string
}

/** List when a market was in auction. */
export type MarketAuctions = {
  marketId: string
  /** Auctions that ended before this time (Unix nanoseconds) may be missing. 0 unless the market has more than 20,000 auction events, of which the newest are read. */
  completeFrom: string
  /** Auctions that overlap the range, oldest first. Adjoining auctions are merged. */
  intervals: AuctionInterval[]
}

export type ProviderStanding = {
  /** The market. */
  marketId: string
  /** The party. */
  partyId: string
  /** Number of the running epoch. Null if it is not known which one runs. */
  epoch: string | null
  /** Start of the epoch, Unix nanoseconds. */
  epochStart: string | null
  /** Expected end of the epoch, Unix nanoseconds: as long after its expiry as the epoch before ended after its own, and never before `at`. Null if the epoch before is not stored. */
  epochExpectedEnd: string | null
  /** Time of the market data with these figures, Unix nanoseconds. Null if the data have none of this provider. */
  at: string | null
  /** Fraction of the epoch until `at` during which its orders covered its commitment. Null if the core has sent none in this epoch. */
  timeOnBook: string | null
  /** Fraction of the epoch that it must be on the book: `commitmentMinTimeFraction` of the market. Null if no event of the market has it. */
  minimum: string | null
  /** Fraction of the epoch that has passed at `at`. In the epoch in which a market leaves its opening auction, the core counts from then on. */
  elapsed: string | null
  /** Time on book of the whole epoch if the provider left the book at `at`. */
  ifLeft: string | null
  /** Fraction of the remaining time that it must be on the book to reach the minimum: 0 if it has, above 1 if it cannot. Null if no time remains. */
  stillNeeded: string | null
  /** Fraction of its fees that it would lose for the epoch if it left the book at `at`: the greater of the penalty for `ifLeft` and the mean of the earlier penalties that still count. */
  feePenaltyIfLeft: string | null
  /** Fraction of its fees lost for the last epoch. Null if the core has sent none. */
  feePenaltyLastEpoch: string | null
}

/** Get how liquidity providers stand in the running epoch. */
export type LiquidityStandingAnswer = {
  /** Each live provision, by market and party. */
  liquidityStanding: ProviderStanding[]
  /** Blocks that are missing or incomplete, and imported ones without the resource: what they contain is not in the answer. At most the last 1,000 ranges. */
  missing: MissingBlocks[]
  since: StoredSince | null
}

/** The options of `coverage`. */
export type CoverageOptions = {
  /** `next` of an earlier response, to get the rest. */
  after?: string | undefined
  /** Only rows of this market: 64 hex digits, in either case. */
  marketId?: string | undefined
  signal?: AbortSignal | undefined
}

/** The options of `fundingEstimate`. */
export type FundingEstimateOptions = {
  signal?: AbortSignal | undefined
}

/** The options of `fundingEstimateHistory`. */
export type FundingEstimateHistoryOptions = {
  /** Estimates before this time, Unix nanoseconds; at most 31 days after the start. Default: up to the last block. */
  to?: Time | undefined
  /** Estimates at or after this time, Unix nanoseconds. Default: 31 days before the end. */
  from?: Time | undefined
  /** `next` of an earlier response: returns the estimates that follow. */
  after?: string | undefined
  /** Maximum number of estimates to return. Default: 1000. */
  first?: number | undefined
  signal?: AbortSignal | undefined
}

/** The options of `positionFunding`. */
export type PositionFundingOptions = {
  /** Periods that ended at or after this time, Unix nanoseconds. */
  from?: Time | undefined
  /** Periods that ended before this time, Unix nanoseconds. */
  to?: Time | undefined
  /** Maximum number of payments to return; 0: totals alone. Default: 1000. */
  first?: number | undefined
  /** `next` of an earlier response: returns the payments that follow, without totals. */
  after?: string | undefined
  /** Position size in whole units. Negative for a short position. */
  units?: string | undefined
  signal?: AbortSignal | undefined
}

/** The options of `partyFunding`. */
export type PartyFundingOptions = {
  /** Payments before this time, Unix nanoseconds. */
  to?: Time | undefined
  /** Payments at or after this time, Unix nanoseconds. */
  from?: Time | undefined
  /** Adds the sums of each day, week (from Monday) or month, in UTC. */
  interval?: '1d' | '1w' | '1M' | 'all' | undefined
  /** Only payments of this market. */
  marketId?: string | undefined
  signal?: AbortSignal | undefined
}

/** The options of `partyStatement`. */
export type PartyStatementOptions = {
  /** Rows before this time, Unix nanoseconds. */
  to?: Time | undefined
  /** Rows at or after this time, Unix nanoseconds. */
  from?: Time | undefined
  signal?: AbortSignal | undefined
}

/** The options of `fundingLeaders`. */
export type FundingLeadersOptions = {
  /** Payments before this time, Unix nanoseconds. */
  to?: Time | undefined
  /** Payments at or after this time, Unix nanoseconds. */
  from?: Time | undefined
  /** By what parties are ordered, the greatest first. */
  order?: 'net' | 'received' | 'paid' | undefined
  /** Maximum number of parties to return. Default: 20. */
  first?: number | undefined
  signal?: AbortSignal | undefined
} & (
  | {
      /** Only payments of the markets that settle in this asset: amounts of different ones do not add up. */
      assetId?: string | undefined
      marketId?: never
    }
  | {
      /** Only payments of this market. Either this or `assetId` must be given. */
      marketId?: string | undefined
      assetId?: never
    }
)

/** The options of `fundingRates`. */
export type FundingRatesOptions = {
  /** Periods that ended before this time, Unix nanoseconds. Default: up to the last block. */
  to?: Time | undefined
  /** Periods that ended at or after this time, Unix nanoseconds. Default: 30 days (`1d`) or 7 days (`8h`) before the end. The range is widened to whole buckets. */
  from?: Time | undefined
  /** Length of a bucket. */
  interval?: '8h' | '1d' | undefined
  /** Only rows of this market. */
  marketId?: string | undefined
  /** Page forward: the cursor of the last row of the previous page. Cannot be combined with `pagination.before`. */
  after?: string | undefined
  /** Page backward: the cursor of the first row of the following page. Ignored if `pagination.first` is given. */
  before?: string | undefined
  /** Maximum number of rows to return, starting after `pagination.after` or at the beginning. Default: 1000. */
  first?: number | undefined
  /** Maximum number of rows to return, ending before `pagination.before` or at the end. Default: 1000. Ignored if `pagination.first` is given. */
  last?: number | undefined
  /** Sort the newest rows first. `1`, `t`, `0`, `f` and similar are also accepted. */
  newestFirst?: boolean | undefined
  signal?: AbortSignal | undefined
}

/** The options of `series`. */
export type SeriesOptions = {
  /** Rows at or after this time, Unix nanoseconds. */
  from?: Time | undefined
  /** Rows before this time, Unix nanoseconds. */
  to?: Time | undefined
  /** Only rows of this source: SOURCE_EXTERNAL or SOURCE_INTERNAL; SOURCE_UNSPECIFIED means all. */
  source?: DataPointSource | undefined
  signal?: AbortSignal | undefined
} & (
  | {
      /** Maximum number of buckets; the shortest interval that fits is used. Default: 500. Cannot be combined with `interval`. */
      buckets?: number | undefined
      interval?: never
    }
  | {
      /** Length of a bucket; the range may touch at most 2,001 buckets. Cannot be combined with `buckets`. */
      interval?: SeriesInterval | undefined
      buckets?: never
    }
)

/** The options of `marketAuctions`. */
export type MarketAuctionsOptions = {
  /** Auctions that end after this time or are in progress at it, Unix nanoseconds. */
  from?: Time | undefined
  /** Auctions that began before this time, Unix nanoseconds. */
  to?: Time | undefined
  signal?: AbortSignal | undefined
}

/** The options of `liquidityStanding`. */
export type LiquidityStandingOptions = {
  /** Only rows of this market. At least one of `marketId` and `partyId` must be given. */
  marketId?: string | undefined
  /** Only rows of this party. At least one of `marketId` and `partyId` must be given. */
  partyId?: string | undefined
  signal?: AbortSignal | undefined
}

/** Filters of a list of auctions. */
export type AuctionFilters = {
  /** Only rows of this market. */
  marketId?: string | undefined
  /** Rows that end after this time, or have no end yet. */
  from?: Time | undefined
  /** Rows that begin before this time. */
  to?: Time | undefined
}

/** Filters of a list of funding payments; at least one of partyId. */
export type FundingPaymentFilters = {
  /** Only rows of this party. */
  partyId?: string | undefined
  /** Only rows of this market. */
  marketId?: string | undefined
  /** Rows from this time on, inclusive. */
  from?: Time | undefined
  /** Rows before this time. */
  to?: Time | undefined
}

/** Filters of a list of funding period data points. */
export type FundingPeriodDataPointFilters = {
  /** Only rows of this market. */
  marketId: string
  /** Only rows of this source: SOURCE_EXTERNAL or SOURCE_INTERNAL; SOURCE_UNSPECIFIED means all. */
  source?: DataPointSource | undefined
  /** Only rows of this funding period. */
  seq?: string | bigint | number | undefined
  /** Rows from this time on, inclusive. */
  from?: Time | undefined
  /** Rows before this time. */
  to?: Time | undefined
}

/** Filters of a list of funding periods. */
export type FundingPeriodFilters = {
  /** Only rows of this market. */
  marketId: string
  /** Rows from this time on, inclusive. */
  from?: Time | undefined
  /** Rows before this time. */
  to?: Time | undefined
}

/** Filters of a list of instruments. */
export type InstrumentFilters = {
  /** Only rows of this market. */
  marketId?: string | undefined
}

/** Filters of a list of liquidity provider history; at least one of marketId and partyId. */
export type LiquidityProviderEpochFilters = {
  /** Only rows of this market. */
  marketId?: string | undefined
  /** Only rows of this party. */
  partyId?: string | undefined
  /** Rows from this time on, inclusive. */
  from?: Time | undefined
  /** Rows before this time. */
  to?: Time | undefined
}

/** Filters of a list of liquidity providers; at least one of marketId and partyId. */
export type LiquidityProviderFilters = {
  /** Only rows of this market. */
  marketId?: string | undefined
  /** Only rows of this party. */
  partyId?: string | undefined
}

/** Filters of a list of paid liquidity fees stats. */
export type PaidLiquidityFeesFilters = {
  /** Only rows of this asset. */
  assetId?: string | undefined
  /** Only rows of this market. */
  marketId?: string | undefined
  /** Only rows of this epoch. */
  epochSeq?: string | bigint | number | undefined
  /** Only rows of this epoch and later ones. `epochSeq` is then ignored. */
  epochFrom?: string | bigint | number | undefined
  /** Only rows of this epoch and earlier ones. `epochSeq` is then ignored; if `epochFrom` is greater, the two are swapped. */
  epochTo?: string | bigint | number | undefined
  /** Only rows that name one of these parties, and of their fees only those of these parties. */
  partyIds?: readonly string[] | undefined
}

/** Filters of a list of market summaries. */
export type MarketSummaryFilters = {
  /** Only rows of this market. */
  marketId?: string | undefined
}

/** The node of each list. */
export type Nodes = {
  /** List the auctions of markets. */
  auctions: Auction
  /** List the checkpoints of the network. */
  checkpoints: Checkpoint
  /** List the epochs of the network. */
  epochs: Epoch
  /** List the funding payments of a party. */
  fundingPayments: FundingPayment
  /** List the data points of a perpetual market's funding periods. */
  fundingPeriodDataPoints: FundingPeriodDataPoint
  /** List the funding periods of a perpetual market. */
  fundingPeriods: FundingPeriod
  /** List the names, decimals and terms of markets. */
  instruments: Instrument
  /** List the performance of liquidity providers, by epoch. */
  liquidityProviderHistory: LiquidityProviderEpoch
  /** List the liquidity providers of a market or a party. */
  liquidityProviders: LiquidityProvider
  /** List the liquidity fees that markets paid, by epoch. */
  paidLiquidityFeesStats: PaidLiquidityFees
  /** List the markets with a summary of each. */
  marketSummaries: MarketSummary
}

export type ListName = keyof Nodes

/** The filters of each list. */
export type Filters = {
  auctions: AuctionFilters
  checkpoints: Record<string, never>
  epochs: Record<string, never>
  fundingPayments: FundingPaymentFilters & { partyId: string }
  fundingPeriodDataPoints: FundingPeriodDataPointFilters
  fundingPeriods: FundingPeriodFilters
  instruments: InstrumentFilters
  liquidityProviderHistory: LiquidityProviderEpochFilters
  liquidityProviders: LiquidityProviderFilters
  paidLiquidityFeesStats: PaidLiquidityFeesFilters
  marketSummaries: MarketSummaryFilters
}

/** The filters of each stream: those of the list, without times; the market is optional. */
export type StreamFilters = {
  auctions: Omit<AuctionFilters, 'from' | 'to'>
  checkpoints: Record<string, never>
  epochs: Record<string, never>
  fundingPayments: Omit<FundingPaymentFilters, 'from' | 'to'>
  fundingPeriodDataPoints: Partial<Omit<FundingPeriodDataPointFilters, 'from' | 'to'>>
  fundingPeriods: Partial<Omit<FundingPeriodFilters, 'from' | 'to'>>
  instruments: InstrumentFilters
  liquidityProviderHistory: Omit<LiquidityProviderEpochFilters, 'from' | 'to'>
  liquidityProviders: LiquidityProviderFilters
  paidLiquidityFeesStats: PaidLiquidityFeesFilters
  marketSummaries: Record<string, never>
}

/** The parts of a market's summary that have changed; the whole at first. */
export type MarketSummaryChange = Pick<MarketSummary, 'marketId'> & Partial<MarketSummary>

/** What each stream sends. */
export type StreamNodes = {
  auctions: Auction
  checkpoints: Checkpoint
  epochs: Epoch
  fundingPayments: FundingPayment
  fundingPeriodDataPoints: FundingPeriodDataPoint
  fundingPeriods: FundingPeriod
  instruments: Instrument
  liquidityProviderHistory: LiquidityProviderEpoch
  liquidityProviders: LiquidityProvider
  paidLiquidityFeesStats: PaidLiquidityFees
  marketSummaries: MarketSummaryChange
}

export type StreamName = keyof StreamNodes

/** The lists that have exports, too. */
export type ResourceName = Exclude<StreamName, 'marketSummaries'>

/** The lists of which some filter must be given. */
export type FilteredName =
  | 'fundingPayments'
  | 'fundingPeriodDataPoints'
  | 'fundingPeriods'
  | 'liquidityProviderHistory'
  | 'liquidityProviders'

/** The same of streams. */
export type FilteredStreamName = 'liquidityProviderHistory' | 'liquidityProviders'

/** The names of the filters of each list. */
export const FILTER_NAMES: Record<ListName, readonly string[]> = {
  auctions: ['marketId', 'from', 'to'],
  checkpoints: [],
  epochs: [],
  fundingPayments: ['partyId', 'marketId', 'from', 'to'],
  fundingPeriodDataPoints: ['marketId', 'source', 'seq', 'from', 'to'],
  fundingPeriods: ['marketId', 'from', 'to'],
  instruments: ['marketId'],
  liquidityProviderHistory: ['marketId', 'partyId', 'from', 'to'],
  liquidityProviders: ['marketId', 'partyId'],
  paidLiquidityFeesStats: ['assetId', 'marketId', 'epochSeq', 'epochFrom', 'epochTo', 'partyIds'],
  marketSummaries: ['marketId'],
}

/** The names of the filters of each stream. */
export const STREAM_FILTER_NAMES: Record<StreamName, readonly string[]> = {
  auctions: ['marketId'],
  checkpoints: [],
  epochs: [],
  fundingPayments: ['partyId', 'marketId'],
  fundingPeriodDataPoints: ['marketId', 'source', 'seq'],
  fundingPeriods: ['marketId'],
  instruments: ['marketId'],
  liquidityProviderHistory: ['marketId', 'partyId'],
  liquidityProviders: ['marketId', 'partyId'],
  paidLiquidityFeesStats: ['assetId', 'marketId', 'epochSeq', 'epochFrom', 'epochTo', 'partyIds'],
  marketSummaries: [],
}

/** Path of each list; `:marketId` is the market of the filters. */
export const PATHS: Record<ListName, string> = {
  auctions: '/api/v2/auctions',
  checkpoints: '/api/v2/checkpoints',
  epochs: '/api/v2/epochs',
  fundingPayments: '/api/v2/funding-payments',
  fundingPeriodDataPoints: '/api/v2/funding-periods/data-points/:marketId',
  fundingPeriods: '/api/v2/funding-periods/:marketId',
  instruments: '/api/v2/instruments',
  liquidityProviderHistory: '/api/v2/liquidity/provider-history',
  liquidityProviders: '/api/v2/liquidity/providers',
  paidLiquidityFeesStats: '/api/v2/liquidity/paidfees',
  marketSummaries: '/api/v2/market-summaries',
}

/** Path of all rows of each resource, of all markets. */
export const EXPORT_PATHS: Record<ResourceName, string> = {
  auctions: '/api/v2/export/auctions',
  checkpoints: '/api/v2/export/checkpoints',
  epochs: '/api/v2/export/epochs',
  fundingPayments: '/api/v2/export/funding-payments',
  fundingPeriodDataPoints: '/api/v2/export/funding-period-data-points',
  fundingPeriods: '/api/v2/export/funding-periods',
  instruments: '/api/v2/export/instruments',
  liquidityProviderHistory: '/api/v2/export/liquidity-provider-history',
  liquidityProviders: '/api/v2/export/liquidity-providers',
  paidLiquidityFeesStats: '/api/v2/export/paid-liquidity-fees-stats',
}

/** Where each stream is. */
export const STREAM_PATHS: Record<StreamName, string> = {
  auctions: '/api/v2/stream/auctions',
  checkpoints: '/api/v2/stream/checkpoints',
  epochs: '/api/v2/stream/epochs',
  fundingPayments: '/api/v2/stream/funding-payments',
  fundingPeriodDataPoints: '/api/v2/stream/funding-period-data-points',
  fundingPeriods: '/api/v2/stream/funding-periods',
  instruments: '/api/v2/stream/instruments',
  liquidityProviderHistory: '/api/v2/stream/liquidity-provider-history',
  liquidityProviders: '/api/v2/stream/liquidity-providers',
  paidLiquidityFeesStats: '/api/v2/stream/paid-liquidity-fees-stats',
  marketSummaries: '/api/v2/stream/market-summaries',
}

/** The methods that answer with one object. */
export type Reports = {
  /** List stored blocks, gaps and row counts. */
  coverage(options?: CoverageOptions): Promise<Coverage>
  /** Get the estimated payment of a market's running funding period. */
  fundingEstimate(marketId: string, options?: FundingEstimateOptions): Promise<FundingEstimate | null>
  /** Get what a market's funding periods would have paid, over time. */
  fundingEstimateHistory(
    marketId: string,
    options?: FundingEstimateHistoryOptions,
  ): Promise<FundingEstimateHistoryAnswer>
  /** Calculate the funding payments of a position over a time range. */
  positionFunding(marketId: string, options?: PositionFundingOptions): Promise<PositionFunding>
  /** Add up the funding payments of a party by market, and by day, week or month. */
  partyFunding(partyId: string, options?: PartyFundingOptions): Promise<PartyFundingAnswer>
  /** Get a statement of the funding payments, liquidity fees and fee penalties of a party. */
  partyStatement(partyId: string, options?: PartyStatementOptions): Promise<PartyStatementAnswer>
  /** List the parties that received or paid most funding. */
  fundingLeaders(options?: FundingLeadersOptions): Promise<FundingLeadersAnswer>
  /** Sum funding rates of markets by day or by 8 hours. */
  fundingRates(options?: FundingRatesOptions): Promise<FundingRates>
  /** Get the prices and TWAPs of a market in time buckets, for a chart. */
  series(marketId: string, options?: SeriesOptions): Promise<Series>
  /** List when a market was in auction. */
  marketAuctions(marketId: string, options?: MarketAuctionsOptions): Promise<MarketAuctions>
  /** Get how liquidity providers stand in the running epoch. */
  liquidityStanding(options: LiquidityStandingOptions): Promise<LiquidityStandingAnswer>
}

/** Where each of these objects is, whether it is the whole body of the answer or its one field, and the parameter for each option. */
export const REPORTS: Record<
  keyof Reports,
  { path: string; isBody?: true; options: Readonly<Record<string, string>> }
> = {
  coverage: { path: '/api/v2/coverage', options: { after: 'after', marketId: 'marketId' } },
  fundingEstimate: { path: '/api/v2/funding-estimates/:marketId', options: {} },
  fundingEstimateHistory: {
    path: '/api/v2/funding-estimates/:marketId/history',
    isBody: true,
    options: {
      to: 'dateRange.endTimestamp',
      from: 'dateRange.startTimestamp',
      after: 'pagination.after',
      first: 'pagination.first',
    },
  },
  positionFunding: {
    path: '/api/v2/position-funding/:marketId',
    options: {
      from: 'dateRange.startTimestamp',
      to: 'dateRange.endTimestamp',
      first: 'pagination.first',
      after: 'pagination.after',
      units: 'units',
    },
  },
  partyFunding: {
    path: '/api/v2/party-funding/:partyId',
    isBody: true,
    options: {
      to: 'dateRange.endTimestamp',
      from: 'dateRange.startTimestamp',
      interval: 'interval',
      marketId: 'marketId',
    },
  },
  partyStatement: {
    path: '/api/v2/party-statements/:partyId',
    isBody: true,
    options: { to: 'dateRange.endTimestamp', from: 'dateRange.startTimestamp' },
  },
  fundingLeaders: {
    path: '/api/v2/funding-leaders',
    isBody: true,
    options: {
      to: 'dateRange.endTimestamp',
      from: 'dateRange.startTimestamp',
      assetId: 'assetId',
      marketId: 'marketId',
      order: 'order',
      first: 'pagination.first',
    },
  },
  fundingRates: {
    path: '/api/v2/funding-rates',
    options: {
      to: 'dateRange.endTimestamp',
      from: 'dateRange.startTimestamp',
      interval: 'interval',
      marketId: 'marketId',
      after: 'pagination.after',
      before: 'pagination.before',
      first: 'pagination.first',
      last: 'pagination.last',
      newestFirst: 'pagination.newestFirst',
    },
  },
  series: {
    path: '/api/v2/series/funding-period-data-points/:marketId',
    options: {
      from: 'dateRange.startTimestamp',
      to: 'dateRange.endTimestamp',
      buckets: 'buckets',
      interval: 'interval',
      source: 'source',
    },
  },
  marketAuctions: {
    path: '/api/v2/auctions/:marketId',
    options: { from: 'dateRange.startTimestamp', to: 'dateRange.endTimestamp' },
  },
  liquidityStanding: {
    path: '/api/v2/liquidity/standing',
    isBody: true,
    options: { marketId: 'marketId', partyId: 'partyId' },
  },
}

/*
 * Made from the descriptions of the resources and the questions (src/resources, src/api/questions) by `npm run build:client`; not to be edited.
 */

/** A time: a Date, or Unix nanoseconds as a bigint or as digits. */
export type Time = bigint | string | Date

/** A checkpoint of the network. */
export type Checkpoint = {
  /** Hash of the checkpoint. */
  hash: string
  /** Hash of the block at which the checkpoint is made. */
  blockHash: string
  /** Height of the block at which the checkpoint is made. Digits. */
  atBlock: string
}

/** Where the price comes from. */
export type DataPointSource = 'SOURCE_UNSPECIFIED' | 'SOURCE_EXTERNAL' | 'SOURCE_INTERNAL'

/** A data point of one of a perpetual market's funding periods. */
export type FundingPeriodDataPoint = {
  /** The market. */
  marketId: string
  /** The funding period that the point belongs to. Digits. */
  seq: string
  /** Where the price comes from. */
  dataPointType: DataPointSource
  /** Price as the point sees it, in the settlement asset's decimals. A decimal number as the network sent it; beyond what a JavaScript number holds. */
  price: string
  /** Unix nanoseconds. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  timestamp: string
  /** Time-weighted average price of the source up to the point. A decimal number as the network sent it; beyond what a JavaScript number holds. */
  twap: string
}

/** A funding period of a perpetual market. What its latest event did not set is left out. */
export type FundingPeriod = {
  /** The market. */
  marketId: string
  /** Number of the period within its market. Digits. */
  seq: string
  /** When it began, Unix nanoseconds. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  start: string
  /** When it ended, Unix nanoseconds; not there while it runs. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  end?: string
  /** What one whole unit of position pays at the period's end, in the settlement asset's decimals: above zero long positions pay short ones. A decimal number as the network sent it; beyond what a JavaScript number holds. */
  fundingPayment?: string
  /** The payment by the external TWAP, for this period. */
  fundingRate?: string
  /** Time-weighted average price of the market's own mark prices. A decimal number as the network sent it; beyond what a JavaScript number holds. */
  internalTwap?: string
  /** Time-weighted average price of the oracle's prices. A decimal number as the network sent it; beyond what a JavaScript number holds. */
  externalTwap?: string
}

/** What is traded. */
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

/** How the market trades. */
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

/** The asset in whose decimals prices and TWAPs of data points and periods, and amounts of providers, are; of a spot market its quote asset. */
export type SettlementAsset = {
  /** Its id. */
  id: string
  /** Its symbol; null where no event of the asset is held. */
  symbol: string | null
  /** Its name. */
  name: string | null
  /** Decimals of its amounts. Digits. */
  decimals: string | null
}

/** When payments are due: at `initial` + n * `every`, n from 0 on. Null where the market does not have exactly one trigger. */
export type FundingSchedule = {
  /** The first due time, Unix nanoseconds; null if unset. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  initial: string | null
  /** Nanoseconds between two. Digits. */
  every: string
}

/** The parameters of funding, as sent; null but for perpetual markets. */
export type FundingParameters = {
  /** Interest a year; empty counts as 0. */
  interestRate: string
  /** Lower bound of the part that interest adds, of the external TWAP. */
  clampLowerBound: string
  /** Upper bound of that part. */
  clampUpperBound: string
  /** What payments are multiplied by. */
  scalingFactor: string | null
  /** Lowest rate. */
  lowerBound: string | null
  /** Highest rate. */
  upperBound: string | null
  /** When payments are due: at `initial` + n * `every`, n from 0 on. Null where the market does not have exactly one trigger. */
  schedule: FundingSchedule | null
}

/** What the market asks of its liquidity providers; null if unset, or zero throughout. */
export type SlaParameters = {
  /** How far from the mid price orders count as liquidity, as a fraction of it. */
  priceRange: string
  /** The least fraction of an epoch that a provider must be on the book for. */
  commitmentMinTimeFraction: string
  /** Earlier epochs that count towards the fee penalty. Digits. */
  performanceHysteresisEpochs: string
  /** The greatest fraction of fees that the fee penalty takes. */
  slaCompetitionFactor: string
}

/** What a market is called and trades, and how many decimals its integers have. */
export type Instrument = {
  /** The market. */
  marketId: string
  /** Short name, such as `BTC/PERP`. */
  code: string
  /** Long name. */
  name: string
  /** What is traded. */
  product: Product
  /** What prices are quoted in, by name. */
  quoteName: string
  /** Decimals of the market's own prices, those of orders and trades. Digits. */
  decimalPlaces: string
  /** Decimals of position sizes; may be below zero. Digits, with a sign if below zero. */
  positionDecimalPlaces: string
  /** State of the market. */
  state: MarketState
  /** How the market trades. */
  tradingMode: TradingMode
  /** The asset in whose decimals prices and TWAPs of data points and periods, and amounts of providers, are; of a spot market its quote asset. */
  settlementAsset: SettlementAsset | null
  /** The parameters of funding, as sent; null but for perpetual markets. */
  funding: FundingParameters | null
  /** What the market asks of its liquidity providers; null if unset, or zero throughout. */
  sla: SlaParameters | null
}

/** How a liquidity provider did on a market in an epoch that has ended. */
export type LiquidityProviderEpoch = {
  /** The market. */
  marketId: string
  /** The party. */
  partyId: string
  /** Number of the epoch. Digits. */
  epoch: string
  /** Time of the block in which the epoch ended, Unix nanoseconds. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  timestamp: string
  /** Height of that block. Digits. */
  atBlock: string
  /** Fraction of the epoch in which enough of its orders stood in the book. */
  timeOnBook: string
  /** Part of its fees that it lost for the epoch. */
  feePenalty: string
  /** Part of its bond that it lost for the epoch. */
  bondPenalty: string
  /** What it had to keep in the book on each side, in the asset's decimals. */
  requiredLiquidity: string
  /** Its share of the fees for liquidity; null if the market listed none. */
  equityLikeShare: string | null
}

/** What the party's provision has a share of. */
export type LiquidityProviderFeeShare = {
  /** The party. */
  party: string
  /** Its share of the fees for liquidity. */
  equityLikeShare: string
  /** Average valuation of the market at which it came in, in the asset's decimals. */
  averageEntryValuation: string
  /** How well its orders have been placed, on average. */
  averageScore: string
  /** Its commitment as grown with the market, in the asset's decimals. */
  virtualStake: string
}

/** How the party keeps its commitment; null where the market has nothing on it. */
export type LiquidityProviderSla = {
  /** The party. */
  party: string
  /** Fraction of this epoch in which enough of its orders stood in the book. */
  currentEpochFractionOfTimeOnBook: string
  /** The same of the last epoch. */
  lastEpochFractionOfTimeOnBook: string
  /** Part of its fees that it lost for the last epoch. */
  lastEpochFeePenalty: string
  /** Part of its bond that it lost for the last epoch. */
  lastEpochBondPenalty: string
  /** Fee penalties of the epochs before that still count. */
  hysteresisPeriodFeePenalties: string[]
  /** What it must keep in the book on each side, in the asset's decimals. */
  requiredLiquidity: string
  /** What its buy orders offer. */
  notionalVolumeBuys: string
  /** What its sell orders offer. */
  notionalVolumeSells: string
}

/** A party that provides liquidity on a market. */
export type LiquidityProvider = {
  /** The party. */
  partyId: string
  /** The market. */
  marketId: string
  /** What the party's provision has a share of. */
  feeShare: LiquidityProviderFeeShare
  /** How the party keeps its commitment; null where the market has nothing on it. */
  sla: LiquidityProviderSla | null
}

/** What the running funding period of a market would pay if it ended now, as the network itself says in the market's latest data. */
export type FundingEstimate = {
  /** The market. */
  marketId: string
  /** The funding period that runs. Digits. */
  seq: string
  /** When it began, Unix nanoseconds. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  start: string
  /** Time of the market data, Unix nanoseconds. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  at: string
  /** Time-weighted average price of the market's own mark prices so far. A decimal number as the network sent it; beyond what a JavaScript number holds. */
  internalTwap: string
  /** Time-weighted average price of the oracle's prices so far. A decimal number as the network sent it; beyond what a JavaScript number holds. */
  externalTwap: string
  /** What one whole unit of position would pay, in the settlement asset's decimals: above zero long positions pay short ones. A decimal number as the network sent it; beyond what a JavaScript number holds. */
  fundingPayment: string
  /** The payment divided by the external TWAP: a decimal number. */
  fundingRate: string
}

/** A market's latest market data. */
export type MarketData = {
  /** Time of the data, Unix nanoseconds. Digits: `BigInt(value) / 1_000_000n` are milliseconds. */
  timestamp: string
  /** Mark price, in the market's decimals; empty if there is none. */
  markPrice: string
  /** Open interest, in the market's position decimals. Digits. */
  openInterest: string
  /** State of the market. */
  marketState: MarketState
  /** How the market trades. */
  tradingMode: TradingMode
}

/** Average funding rates per 8 hours: the sum of the rates of the periods that ended in a window before the last block, divided by the number of 8-hour intervals in it, to 16 places. Null unless the store holds the periods of the whole window. */
export type RateAverages = {
  /** Over the last 24 hours. */
  '24h': string | null
  /** Over the last 7 days. */
  '7d': string | null
  /** Over the last 30 days. */
  '30d': string | null
}

/** A market that any row names: the nodes of the other operations, null where there is none. */
export type MarketSummary = {
  /** The market. */
  marketId: string
  /** What it is called; null where no market event of it is held. */
  instrument: Instrument | null
  /** Its latest funding period, where that has no end. */
  runningPeriod: FundingPeriod | null
  /** Its last funding period with a payment. */
  lastPaidPeriod: FundingPeriod | null
  /** What the running period would pay if it ended now, as the network says. */
  estimate: FundingEstimate | null
  /** The latest data point of the oracle's prices. */
  lastExternalPoint: FundingPeriodDataPoint | null
  /** The latest data point of the market's own mark prices. */
  lastInternalPoint: FundingPeriodDataPoint | null
  /** Its latest market data; null if the store holds none. The state and mode of `instrument` are older. */
  marketData: MarketData | null
  /** Its average funding rates per 8 hours. */
  averages: RateAverages
  /** How many liquidity providers it has. Digits. */
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

/** What the service holds, and what it lacks. */
export type Coverage = {
  chainId: string
  blocks: {
    /** Heights of blocks all of whose events are held, both ends included. */
    ranges: BlockRange[]
    /** Heights between the first block and the last that are not held whole. */
    gaps: {
      from: string
      to: string
      /** Whether the blocks are not there at all, or lack some of their events. */
      kind: 'missing' | 'incomplete'
    }[]
    /** Heights of blocks whose rows were imported from tables of the reference. Of each market, seq and source in one block the last data point is there, times have microseconds, and the order within a block is not known. */
    imported: BlockRange[]
    /** Unix nanoseconds. */
    lastTimestamp: string
  }
  /** Times are those of the blocks that they came in. */
  checkpoints: {
    count: string
    /** Unix nanoseconds. */
    firstTimestamp: string | null
    /** Unix nanoseconds. */
    lastTimestamp: string | null
  }
  /** By market. */
  fundingPeriodDataPoints: {
    marketId: string
    count: string
    /** Unix nanoseconds. */
    firstTimestamp: string
    /** Unix nanoseconds. */
    lastTimestamp: string
  }[]
  /** By market. */
  fundingPeriods: {
    marketId: string
    count: string
    /** Unix nanoseconds. */
    firstTimestamp: string
    /** Unix nanoseconds. */
    lastTimestamp: string
  }[]
  instruments: {
    count: string
  }
  /** By market. */
  liquidityProviderHistory: {
    marketId: string
    count: string
    /** Unix nanoseconds. */
    firstTimestamp: string
    /** Unix nanoseconds. */
    lastTimestamp: string
  }[]
  /** By market; `atBlock` is the block of its latest list. */
  liquidityProviders: {
    marketId: string
    count: string
    atBlock: string
  }[]
  /** Null where this is all. Above 1000 gaps, imported ranges, or markets in a list, the answer holds the first of them, and `after` with this gives the next ones; lists that have ended are empty then. */
  next: string | null
  /** How far old rows have been pruned: by time, by height or by both; null if none have. */
  prunedBefore: {
    /** Unix nanoseconds. */
    timestamp: string | null
    height: string | null
  } | null
}

/** The options of `coverage`. */
export type CoverageOptions = {
  /** The rest of an answer: its `next`. */
  after?: string | undefined
  /** Rows of this market alone: 64 hex digits, in any case. */
  marketId?: string | undefined
  signal?: AbortSignal | undefined
}

/** The options of `fundingEstimate`. */
export type FundingEstimateOptions = {
  signal?: AbortSignal | undefined
}

/** Get what a position received or paid on a market over a range of times. */
export type FundingPayments = {
  marketId: string
  /** The size of the position as it was asked for. */
  units: string
  /** Paid periods that ended within the range. */
  count: number
  /** Sum of the amounts of the whole range. */
  total: string
  /** Sum of the funding rates of the whole range. */
  sumOfRates: string
  /** Sum of the rates divided by the count, to 16 places; null if none was paid. */
  averageRate: string | null
  /** End of the earliest paid period of the range, Unix nanoseconds. */
  firstEnd: string | null
  /** End of the latest paid period of the range, Unix nanoseconds. */
  lastEnd: string | null
  /** Start of the earliest period from which all periods up to the latest are stored, Unix nanoseconds. */
  completeFrom: string | null
  /** Periods between the first and the last of the range that are not stored with an end: 1,000 at most. */
  missing: string[]
  /** One part of the payments of the range, newest first. */
  payments: {
    /** Number of the period within its market. */
    seq: string
    /** When the period ended, Unix nanoseconds. */
    end: string
    /** The funding rate of the period. */
    fundingRate: string
    /** How the position's balance changed, in the smallest unit of the settlement asset: negative if it paid. */
    amount: string
  }[]
  /** The `after` of the next request; null at the end. */
  next: string | null
}

/** The options of `fundingPayments`. */
export type FundingPaymentsOptions = {
  /** Periods that ended at this time or after it, Unix nanoseconds. */
  from?: Time | undefined
  /** Periods that ended before this time, Unix nanoseconds. */
  to?: Time | undefined
  /** Payments before this place: `next` of an earlier answer. */
  after?: string | undefined
  /** Payments in one answer, at most. */
  first?: number | undefined
  /** The size of the position in whole units; negative for a short one. */
  units?: string | undefined
  signal?: AbortSignal | undefined
}

/** Sums of funding rates of the markets, by day or by 8 hours. */
export type FundingRates = {
  edges: {
    node: {
      /** The market. */
      marketId: string
      interval: '8h' | '1d'
      /** Those in which periods with a payment ended, in the order of time. */
      buckets: {
        /** Where the bucket begins, Unix nanoseconds: a multiple of its length. */
        start: string
        /** Paid periods that ended in it. */
        count: number
        /** Sum of their funding rates. */
        sumOfRates: string
      }[]
    }
    /** Opaque; for pagination.after and pagination.before. */
    cursor: string
  }[]
  pageInfo: PageInfo
}

/** The options of `fundingRates`. */
export type FundingRatesOptions = {
  /** Periods that ended before this time, Unix nanoseconds; by default up to the last block. */
  to?: Time | undefined
  /** Periods that ended at this time or after it, Unix nanoseconds; by default 30 days (`1d`) or 7 days (`8h`) before the end. The range is widened to whole buckets. */
  from?: Time | undefined
  /** The length of a bucket. */
  interval?: '8h' | '1d' | undefined
  /** Rows of this market. */
  marketId?: string | undefined
  /** Paging forward: the cursor of the last row of the page before. Not together with `pagination.before`. */
  after?: string | undefined
  /** Paging backward: the cursor of the first row of the page that follows. Ignored beside `pagination.first`. */
  before?: string | undefined
  /** Number of rows that sort after the row of `pagination.after`, or from the start on. */
  first?: number | undefined
  /** Number of rows that sort before the row of `pagination.before`, or up to the end. Passed over beside `pagination.first`. */
  last?: number | undefined
  /** Whether the newest rows come first. `1`, `t`, `0`, `f` and the like are taken, too. */
  newestFirst?: boolean | undefined
  signal?: AbortSignal | undefined
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

export type SeriesSummary = {
  /** Of the first point by time. */
  first: string
  /** Of the last point by time. */
  last: string
  /** The least; the first of equal ones. */
  minimum: string
  /** The greatest; the first of equal ones. */
  maximum: string
}

/** Prices and TWAPs of a market over time, by buckets of equal length: a chart in one request. */
export type Series = {
  marketId: string
  /** Where the first bucket of the range begins, Unix nanoseconds; 0 where there are no points. */
  from: string
  /** Where the last bucket of the range ends, Unix nanoseconds; 0 where there are no points. */
  to: string
  /** The length of a bucket; empty where there are no points. */
  interval: SeriesInterval | ''
  /** The same in nanoseconds; 0 where there are no points. */
  bucketNanoseconds: string
  /** The sources that have points in the range, in the order of their numbers. */
  sources: {
    dataPointType: 'SOURCE_UNSPECIFIED' | 'SOURCE_EXTERNAL' | 'SOURCE_INTERNAL'
    /** Those that have points, in the order of time. */
    buckets: {
      /** Where the bucket begins, Unix nanoseconds: a whole multiple of its length. */
      start: string
      /** The latest funding period of its points, whose TWAPs the bucket has. */
      seq: string
      /** Its points. One that was carried over into a funding period counts again at its start. */
      count: string
      /** Prices of all points, as they were sent. */
      price: SeriesSummary
      /** Time-weighted average prices of the points of the period `seq`, as they were sent. */
      twap: SeriesSummary
    }[]
  }[]
}

/** The options of `series`. */
export type SeriesOptions = {
  /** Rows from this time on, inclusive, in Unix nanoseconds. */
  from?: Time | undefined
  /** Rows before this time, exclusive, in Unix nanoseconds. */
  to?: Time | undefined
  /** Rows of this source; SOURCE_UNSPECIFIED restricts nothing. */
  source?: DataPointSource | undefined
  signal?: AbortSignal | undefined
} & (
  | {
      /** The shortest interval is taken that makes no more than so many buckets of the range. Not together with `interval`. */
      buckets?: number | undefined
      interval?: never
    }
  | {
      /** The length of a bucket: the range must not touch more than 2,000 of them. Not together with `buckets`. */
      interval?: SeriesInterval | undefined
      buckets?: never
    }
)

/** When a market was in auction. */
export type Auctions = {
  marketId: string
  /** Auctions that ended before this time may be missing, Unix nanoseconds: 0 unless the market has had a great many. */
  completeFrom: string
  /** The auctions that overlap the range, oldest first; none touches the next. */
  intervals: {
    /** When the market entered the auction, Unix nanoseconds. */
    start: string
    /** When it left it, Unix nanoseconds; left out while the auction is in progress. */
    end?: string
  }[]
}

/** The options of `auctions`. */
export type AuctionsOptions = {
  /** Auctions in progress at this time or after it, Unix nanoseconds. */
  from?: Time | undefined
  /** Auctions that began before this time, Unix nanoseconds. */
  to?: Time | undefined
  signal?: AbortSignal | undefined
}

/** What a list of funding period data points is restricted to. */
export type FundingPeriodDataPointFilters = {
  /** The market. */
  marketId: string
  /** Where the price comes from. */
  source?: DataPointSource | undefined
  /** The funding period. */
  seq?: string | bigint | number | undefined
  /** Rows from this time on, inclusive. */
  from?: Time | undefined
  /** Rows before this time. */
  to?: Time | undefined
}

/** What a list of funding periods is restricted to. */
export type FundingPeriodFilters = {
  /** The market. */
  marketId: string
  /** Rows from this time on, inclusive. */
  from?: Time | undefined
  /** Rows before this time. */
  to?: Time | undefined
}

/** What a list of instruments is restricted to. */
export type InstrumentFilters = {
  /** The market. */
  marketId?: string | undefined
}

/** What a list of liquidity provider history is restricted to; at least one. */
export type LiquidityProviderEpochFilters = {
  /** The market. */
  marketId?: string | undefined
  /** The party. */
  partyId?: string | undefined
  /** Rows from this time on, inclusive. */
  from?: Time | undefined
  /** Rows before this time. */
  to?: Time | undefined
}

/** What a list of liquidity providers is restricted to; at least one. */
export type LiquidityProviderFilters = {
  /** The market. */
  marketId?: string | undefined
  /** The party. */
  partyId?: string | undefined
}

/** What a list of market summaries is restricted to. */
export type MarketSummaryFilters = {
  /** The market. */
  marketId?: string | undefined
}

/** The node of each list. */
export type Nodes = {
  /** List the checkpoints of the network. */
  checkpoints: Checkpoint
  /** List the data points of a perpetual market's funding periods. */
  fundingPeriodDataPoints: FundingPeriodDataPoint
  /** List the funding periods of a perpetual market. */
  fundingPeriods: FundingPeriod
  /** List what markets are called, and how their integers are read. */
  instruments: Instrument
  /** List how the liquidity providers of a market or a party did, epoch by epoch. */
  liquidityProviderHistory: LiquidityProviderEpoch
  /** List the liquidity providers of a market or a party. */
  liquidityProviders: LiquidityProvider
  /** List the markets, each with what the other operations say of it now. */
  marketSummaries: MarketSummary
}

export type ListName = keyof Nodes

/** The filters of each list. */
export type Filters = {
  checkpoints: Record<string, never>
  fundingPeriodDataPoints: FundingPeriodDataPointFilters
  fundingPeriods: FundingPeriodFilters
  instruments: InstrumentFilters
  liquidityProviderHistory: LiquidityProviderEpochFilters
  liquidityProviders: LiquidityProviderFilters
  marketSummaries: MarketSummaryFilters
}

/** The filters of the stream of each resource: those of its list, without times. */
export type StreamFilters = {
  checkpoints: Record<string, never>
  fundingPeriodDataPoints: Omit<FundingPeriodDataPointFilters, 'from' | 'to'>
  fundingPeriods: Omit<FundingPeriodFilters, 'from' | 'to'>
  instruments: InstrumentFilters
  liquidityProviderHistory: Omit<LiquidityProviderEpochFilters, 'from' | 'to'>
  liquidityProviders: LiquidityProviderFilters
}

/** The lists that have streams and exports, too. */
export type ResourceName = keyof StreamFilters

/** The lists of which some filter must be given. */
export type FilteredName =
  | 'fundingPeriodDataPoints'
  | 'fundingPeriods'
  | 'liquidityProviderHistory'
  | 'liquidityProviders'

/** The names of the filters of each list. */
export const FILTER_NAMES: Record<ListName, readonly string[]> = {
  checkpoints: [],
  fundingPeriodDataPoints: ['marketId', 'source', 'seq', 'from', 'to'],
  fundingPeriods: ['marketId', 'from', 'to'],
  instruments: ['marketId'],
  liquidityProviderHistory: ['marketId', 'partyId', 'from', 'to'],
  liquidityProviders: ['marketId', 'partyId'],
  marketSummaries: ['marketId'],
}

/** The names of the filters of the stream of each resource. */
export const STREAM_FILTER_NAMES: Record<ResourceName, readonly string[]> = {
  checkpoints: [],
  fundingPeriodDataPoints: ['marketId', 'source', 'seq'],
  fundingPeriods: ['marketId'],
  instruments: ['marketId'],
  liquidityProviderHistory: ['marketId', 'partyId'],
  liquidityProviders: ['marketId', 'partyId'],
}

/** Where each list is; `:marketId` stands for the market of the filters. */
export const PATHS: Record<ListName, string> = {
  checkpoints: '/api/v2/checkpoints',
  fundingPeriodDataPoints: '/api/v2/funding-periods/data-points/:marketId',
  fundingPeriods: '/api/v2/funding-periods/:marketId',
  instruments: '/api/v2/instruments',
  liquidityProviderHistory: '/api/v2/liquidity/provider-history',
  liquidityProviders: '/api/v2/liquidity/providers',
  marketSummaries: '/api/v2/market-summaries',
}

/** Where all rows of each resource are, of all markets. */
export const EXPORT_PATHS: Record<ResourceName, string> = {
  checkpoints: '/api/v2/export/checkpoints',
  fundingPeriodDataPoints: '/api/v2/export/funding-period-data-points',
  fundingPeriods: '/api/v2/export/funding-periods',
  instruments: '/api/v2/export/instruments',
  liquidityProviderHistory: '/api/v2/export/liquidity-provider-history',
  liquidityProviders: '/api/v2/export/liquidity-providers',
}

/** Where the stream of each resource is. */
export const STREAM_PATHS: Record<ResourceName, string> = {
  checkpoints: '/api/v2/stream/checkpoints',
  fundingPeriodDataPoints: '/api/v2/stream/funding-period-data-points',
  fundingPeriods: '/api/v2/stream/funding-periods',
  instruments: '/api/v2/stream/instruments',
  liquidityProviderHistory: '/api/v2/stream/liquidity-provider-history',
  liquidityProviders: '/api/v2/stream/liquidity-providers',
}

/** The methods that answer with one object. */
export type Reports = {
  /** What the service holds, and what it lacks. */
  coverage(options?: CoverageOptions): Promise<Coverage>
  /** Get what the running funding period of a market would pay if it ended now. */
  fundingEstimate(marketId: string, options?: FundingEstimateOptions): Promise<FundingEstimate | null>
  /** Get what a position received or paid on a market over a range of times. */
  fundingPayments(marketId: string, options?: FundingPaymentsOptions): Promise<FundingPayments>
  /** Sums of funding rates of the markets, by day or by 8 hours. */
  fundingRates(options?: FundingRatesOptions): Promise<FundingRates>
  /** Prices and TWAPs of a market over time, by buckets of equal length: a chart in one request. */
  series(marketId: string, options?: SeriesOptions): Promise<Series>
  /** When a market was in auction. */
  auctions(marketId: string, options?: AuctionsOptions): Promise<Auctions>
}

/** Where each of these objects is, and the parameter for each option. */
export const REPORTS: Record<keyof Reports, { path: string; options: Readonly<Record<string, string>> }> = {
  coverage: { path: '/api/v2/coverage', options: { after: 'after', marketId: 'marketId' } },
  fundingEstimate: { path: '/api/v2/funding-estimates/:marketId', options: {} },
  fundingPayments: {
    path: '/api/v2/funding-payments/:marketId',
    options: {
      from: 'dateRange.startTimestamp',
      to: 'dateRange.endTimestamp',
      after: 'after',
      first: 'first',
      units: 'units',
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
  auctions: {
    path: '/api/v2/auctions/:marketId',
    options: { from: 'dateRange.startTimestamp', to: 'dateRange.endTimestamp' },
  },
}

import type {
  AssetEvent,
  DataPointSource,
  InstrumentEvent,
  MarketDataEvent,
  ProvisionStatus,
} from '../events/event.ts'

/** Where in the stream a row comes from. An older event never replaces a newer one's row. */
export type StreamPlace = {
  height: bigint
  /** The event's index within its block. */
  eventIndex: number
}

export type CheckpointRow = StreamPlace & {
  atBlock: bigint
  hash: string
  blockHash: string
  /** Time of the block that it came in, Unix nanoseconds. */
  blockTimestamp: bigint
}

export type FundingPeriodDataPointRow = StreamPlace & {
  marketId: string
  source: DataPointSource
  timestamp: bigint
  seq: bigint
  price: string
  twap: string
}

export type FundingPeriodRow = StreamPlace & {
  marketId: string
  seq: bigint
  start: bigint
  end: bigint | null
  fundingPayment: string | null
  fundingRate: string | null
  internalTwap: string | null
  externalTwap: string | null
}

export type AuctionRow = StreamPlace & {
  marketId: string
  openingAuction: boolean
  leave: boolean
  start: bigint
  end: bigint
}

export type LiquidityProvisionRow = StreamPlace & {
  provisionId: string
  marketId: string
  partyId: string
  status: ProvisionStatus
}

/** A market's latest data: its list of providers replaces the one before, whole. */
export type LiquidityProviderList = StreamPlace & { event: MarketDataEvent }

/** A market as its latest event describes it. */
export type InstrumentRow = StreamPlace & Omit<InstrumentEvent, 'kind'>

/** An asset as its latest event describes it. */
export type AssetRow = StreamPlace & Omit<AssetEvent, 'kind'>

/** The first and last time of the points of one funding period. */
export type FundingPeriodSpan = { marketId: string; seq: bigint; first: bigint; last: bigint }

/** The key of a period's span in a batch. */
export function spanKey({ marketId, seq }: { marketId: string; seq: bigint }): string {
  return `${marketId}${seq}`
}

/**
 * What a run of whole blocks changes, ready to be committed at once. Rows are in the order of the stream;
 * maps hold one row for each key, the newest.
 */
export type Batch = {
  blocks: number
  /** Places of blocks that the store holds in part: what it holds after them is replaced, auctions included. */
  replaced: StreamPlace[]
  checkpoints: CheckpointRow[]
  fundingPeriodDataPoints: FundingPeriodDataPointRow[]
  /** By {@link spanKey}. */
  fundingPeriodSpans: Map<string, FundingPeriodSpan>
  /** By market id: the span of the market's last point, which is mostly that of its next. */
  latestSpans: Map<string, FundingPeriodSpan>
  fundingPeriods: FundingPeriodRow[]
  auctions: AuctionRow[]
  /** By provision id. */
  liquidityProvisions: Map<string, LiquidityProvisionRow>
  /** By market id. */
  liquidityProviderLists: Map<string, LiquidityProviderList>
  /** By market id. */
  instruments: Map<string, InstrumentRow>
  /** By asset id. */
  assets: Map<string, AssetRow>
}

export function createBatch(): Batch {
  return {
    blocks: 0,
    replaced: [],
    checkpoints: [],
    fundingPeriodDataPoints: [],
    fundingPeriodSpans: new Map(),
    latestSpans: new Map(),
    fundingPeriods: [],
    auctions: [],
    liquidityProvisions: new Map(),
    liquidityProviderLists: new Map(),
    instruments: new Map(),
    assets: new Map(),
  }
}

/**
 * Rows that a commit of the batch touches, for deciding when it is large enough. A list of providers counts as one:
 * lists are decoded when they are written, and most are replaced before; their bytes count in the batch's weight.
 */
export function batchRows(batch: Batch): number {
  return (
    batch.checkpoints.length +
    batch.fundingPeriodDataPoints.length +
    batch.fundingPeriods.length +
    batch.auctions.length +
    batch.liquidityProvisions.size +
    batch.liquidityProviderLists.size +
    batch.instruments.size +
    batch.assets.size
  )
}

/** Whether `a` comes from a later event than `b`, or from the same. */
export function isNotOlder(a: StreamPlace, b: StreamPlace): boolean {
  return a.height > b.height || (a.height === b.height && a.eventIndex >= b.eventIndex)
}

/** Keeps the newer of a map's row and another of the same key. */
export function keepNewer<Row extends StreamPlace>(rows: Map<string, Row>, key: string, row: Row): void {
  const known = rows.get(key)
  if (known === undefined || isNotOlder(row, known)) rows.set(key, row)
}

import type { DataPointSource, ResourceName } from './nodes.ts'

/** A time: a Date, or Unix nanoseconds as a bigint or as digits. */
export type Time = bigint | string | Date

/** What a list of data points is restricted to. */
export type FundingPeriodDataPointFilters = {
  marketId: string
  source?: DataPointSource | undefined
  /** The funding period. */
  seq?: string | bigint | number | undefined
  /** Points from this time on, inclusive. */
  from?: Time | undefined
  /** Points before this time. */
  to?: Time | undefined
}

/** What a list of providers is restricted to; at least one of the two. */
export type LiquidityProviderFilters = { marketId?: string | undefined; partyId?: string | undefined }

/** The filters of each resource. */
export type Filters = {
  checkpoints: Record<string, never>
  fundingPeriodDataPoints: FundingPeriodDataPointFilters
  liquidityProviders: LiquidityProviderFilters
}

/** The filters of each stream: those of the resource, without times. */
export type StreamFilters = {
  checkpoints: Record<string, never>
  fundingPeriodDataPoints: Omit<FundingPeriodDataPointFilters, 'from' | 'to'>
  liquidityProviders: LiquidityProviderFilters
}

/** Which page: `first` with `after`, or `last` with `before`; 1 to 5,000 rows. */
export type PageOptions = {
  first?: number | undefined
  after?: string | undefined
  last?: number | undefined
  before?: string | undefined
  /** Whether the newest rows come first; they do where it is not said. */
  newestFirst?: boolean | undefined
}

/** Where a stream begins: after a cursor, or after a block; now where neither is given. */
export type StreamStart = {
  /** The cursor of an event of this stream, or of a row of a page. */
  after?: string | undefined
  /** A block's height, such as a page's `blockHeight`: rows of later blocks follow. */
  afterBlock?: string | undefined
}

/** Every filter that some resource has. */
type AnyFilters = Partial<Omit<FundingPeriodDataPointFilters, 'marketId'> & LiquidityProviderFilters>

type Params = [name: string, value: string | undefined][]

const path: Record<ResourceName, (filters: { marketId?: string | undefined }) => string> = {
  checkpoints: () => '/api/v2/checkpoints',
  fundingPeriodDataPoints: ({ marketId }) =>
    `/api/v2/funding-periods/data-points/${encodeURIComponent(marketId ?? '')}`,
  liquidityProviders: () => '/api/v2/liquidity/providers',
}

const streamPath: Record<ResourceName, string> = {
  checkpoints: '/api/v2/stream/checkpoints',
  fundingPeriodDataPoints: '/api/v2/stream/funding-period-data-points',
  liquidityProviders: '/api/v2/stream/liquidity-providers',
}

/** The target of a request for a page, or of an export of all rows where a format is named. */
export function pageTarget<Name extends ResourceName>(
  resource: Name,
  filters: Filters[Name],
  { first, after, last, before, newestFirst }: PageOptions = {},
  format?: 'ndjson' | 'csv',
): string {
  const { marketId, from, to, ...rest }: AnyFilters = filters
  return target(path[resource](filters), [
    ['marketId', resource === 'fundingPeriodDataPoints' ? undefined : marketId],
    ...restParams(rest),
    ['dateRange.startTimestamp', nanoseconds(from)],
    ['dateRange.endTimestamp', nanoseconds(to)],
    ['pagination.first', first?.toString()],
    ['pagination.after', after],
    ['pagination.last', last?.toString()],
    ['pagination.before', before],
    ['pagination.newestFirst', newestFirst?.toString()],
    ['format', format],
  ])
}

/** The target of a request for a stream. */
export function streamTarget<Name extends ResourceName>(
  resource: Name,
  filters: StreamFilters[Name],
  { after, afterBlock }: StreamStart,
): string {
  const { marketId, ...rest }: AnyFilters = filters
  return target(streamPath[resource], [
    ['marketId', marketId],
    ...restParams(rest),
    ['after', after],
    ['afterBlock', after === undefined ? afterBlock : undefined],
  ])
}

function restParams(filters: { source?: unknown; seq?: unknown; partyId?: unknown }): Params {
  return (['source', 'seq', 'partyId'] as const).map((name) => [name, text(filters[name])])
}

function text(value: unknown): string | undefined {
  return value === undefined ? undefined : String(value)
}

function nanoseconds(time: Time | undefined): string | undefined {
  return text(time instanceof Date ? BigInt(time.getTime()) * 1_000_000n : time)
}

function target(pathname: string, params: Params): string {
  const given = params.filter((param): param is [string, string] => param[1] !== undefined)
  const query = new URLSearchParams(given).toString()
  return query === '' ? pathname : `${pathname}?${query}`
}

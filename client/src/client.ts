import { type ConnectionOptions, createConnection } from './connection.ts'
import type {
  Checkpoint,
  Coverage,
  FundingPeriodDataPoint,
  Health,
  LiquidityProvider,
  Readiness,
  ResourceName,
} from './nodes.ts'
import { type Page, readPage, type WalkOptions, walkPages } from './pages.ts'
import {
  type Filters,
  type FundingPeriodDataPointFilters,
  type LiquidityProviderFilters,
  type PageOptions,
  pageTarget,
  type StreamFilters,
} from './requests.ts'
import { followStream, type StreamOptions, type StreamRow } from './streams.ts'

type Signalled = { signal?: AbortSignal | undefined }

/** Which part of the coverage: rows of one market; what follows an answer, by its `next`. */
type CoverageOptions = Signalled & { marketId?: string | undefined; after?: string | undefined }

/** The rows of a list, to be walked with `for await`. */
export type Rows<Node> = AsyncGenerator<Node, void, undefined>

/**
 * A Lyra service. Rows are the API's own JSON: integers are digits, times Unix nanoseconds, prices decimal
 * numbers, all of them text. Everything rejects with LyraApiError for an answer that is no success, and with
 * LyraConnectionError where there is none, after it has been tried again where that may help.
 */
export type LyraClient = {
  /** Every checkpoint, page by page. */
  checkpoints(filters?: Filters['checkpoints'], options?: WalkOptions): Rows<Checkpoint>
  /** The data points of a market's funding periods, page by page. */
  fundingPeriodDataPoints(
    filters: FundingPeriodDataPointFilters,
    options?: WalkOptions,
  ): Rows<FundingPeriodDataPoint>
  /** The liquidity providers of a market, a party, or both, page by page. */
  liquidityProviders(filters: LiquidityProviderFilters, options?: WalkOptions): Rows<LiquidityProvider>

  checkpointsPage(
    filters?: Filters['checkpoints'],
    options?: PageOptions & Signalled,
  ): Promise<Page<Checkpoint>>
  fundingPeriodDataPointsPage(
    filters: FundingPeriodDataPointFilters,
    options?: PageOptions & Signalled,
  ): Promise<Page<FundingPeriodDataPoint>>
  liquidityProvidersPage(
    filters: LiquidityProviderFilters,
    options?: PageOptions & Signalled,
  ): Promise<Page<LiquidityProvider>>

  /** Each checkpoint as it comes, until the signal ends it. */
  streamCheckpoints(
    filters?: StreamFilters['checkpoints'],
    options?: StreamOptions,
  ): Rows<StreamRow<Checkpoint>>
  /** Each data point of a market as it comes. */
  streamFundingPeriodDataPoints(
    filters: StreamFilters['fundingPeriodDataPoints'],
    options?: StreamOptions,
  ): Rows<StreamRow<FundingPeriodDataPoint>>
  /** Each provider as it comes, and again whenever its figures change. */
  streamLiquidityProviders(
    filters: LiquidityProviderFilters,
    options?: StreamOptions,
  ): Rows<StreamRow<LiquidityProvider>>

  /** What the service holds, and what it lacks: of one market, or from the `next` of an earlier answer on. */
  coverage(options?: CoverageOptions): Promise<Coverage>
  health(options?: Signalled): Promise<Health>
  /** Whether the service serves current data, and if not, why. */
  ready(options?: Signalled): Promise<Readiness>

  /** The address of a request for a page, or of an export of all rows where a format is named. */
  url<Name extends ResourceName>(
    resource: Name,
    filters: Filters[Name],
    options?: PageOptions & { format?: 'ndjson' | 'csv' | undefined },
  ): string
}

/** Makes a client of the service at an address. Nothing is asked yet. */
export function createLyraClient(options: ConnectionOptions): LyraClient {
  const connection = createConnection(options)
  return {
    checkpoints: (filters = {}, walk) => walkPages(connection, 'checkpoints', filters, walk),
    fundingPeriodDataPoints: (filters, walk) =>
      walkPages(connection, 'fundingPeriodDataPoints', filters, walk),
    liquidityProviders: (filters, walk) => walkPages(connection, 'liquidityProviders', filters, walk),

    checkpointsPage: (filters = {}, page) => readPage(connection, 'checkpoints', filters, page),
    fundingPeriodDataPointsPage: (filters, page) =>
      readPage(connection, 'fundingPeriodDataPoints', filters, page),
    liquidityProvidersPage: (filters, page) => readPage(connection, 'liquidityProviders', filters, page),

    streamCheckpoints: (filters = {}, stream) => followStream(connection, 'checkpoints', filters, stream),
    streamFundingPeriodDataPoints: (filters, stream) =>
      followStream(connection, 'fundingPeriodDataPoints', filters, stream),
    streamLiquidityProviders: (filters, stream) =>
      followStream(connection, 'liquidityProviders', filters, stream),

    coverage: async ({ marketId, after, signal } = {}) => {
      const given = Object.entries({ marketId, after }).filter(([, value]) => value !== undefined)
      const query = new URLSearchParams(given as [string, string][]).toString()
      const { text } = await connection.get(`/api/v2/coverage${query === '' ? '' : `?${query}`}`, signal)
      return (JSON.parse(text) as { coverage: Coverage }).coverage
    },
    health: async ({ signal } = {}) => JSON.parse((await connection.get('/health', signal)).text) as Health,
    ready: async ({ signal } = {}) =>
      JSON.parse((await connection.get('/ready', signal, [503])).text) as Readiness,

    url: (resource, filters, { format, ...page } = {}) =>
      connection.address(pageTarget(resource, filters, page, format)),
  }
}

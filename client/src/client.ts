import type { Auctions, AuctionsOptions } from './auctions.ts'
import { type Connection, type ConnectionOptions, createConnection } from './connection.ts'
import { type Page, readPage, type WalkOptions, walkPages } from './pages.ts'
import {
  auctionsTarget,
  type ExportOptions,
  exportTarget,
  type PageOptions,
  pageTarget,
  seriesTarget,
} from './requests.ts'
import {
  type FilteredName,
  type Filters,
  type FundingEstimate,
  type ListName,
  type Nodes,
  PATHS,
  type ResourceName,
  STREAM_PATHS,
  type StreamFilters,
} from './resources.ts'
import type { Series, SeriesOptions } from './series.ts'
import type { Coverage, Health, Readiness } from './service.ts'
import { followStream, type StreamOptions, type StreamRow } from './streams.ts'

type Signalled = { signal?: AbortSignal | undefined }

/** Which part of the coverage: rows of one market; what follows an answer, by its `next`. */
type CoverageOptions = Signalled & { marketId?: string | undefined; after?: string | undefined }

/** The rows of a list, to be walked with `for await`. */
export type Rows<Node> = AsyncGenerator<Node, void, undefined>

/** Filters and options; filters may be left out where none must be given. */
type Arguments<Name extends ListName, Given, Options> = Name extends FilteredName
  ? [filters: Given, options?: Options]
  : [filters?: Given, options?: Options]

/** Every row of a list, page by page: `checkpoints`, ... */
type Walks = {
  [Name in keyof Nodes]: (...asked: Arguments<Name, Filters[Name], WalkOptions>) => Rows<Nodes[Name]>
}

/** One page of a list: `checkpointsPage`, ... */
type Pages = {
  [Name in keyof Nodes as `${Name}Page`]: (
    ...asked: Arguments<Name, Filters[Name], PageOptions & Signalled>
  ) => Promise<Page<Nodes[Name]>>
}

/**
 * Each row of a resource as it comes, and again whenever it changes, until the signal ends it: `streamCheckpoints`, ...
 */
type Streams = {
  [Name in ResourceName as `stream${Capitalize<Name>}`]: (
    ...asked: Arguments<Name, StreamFilters[Name], StreamOptions>
  ) => Rows<StreamRow<Nodes[Name]>>
}

/**
 * A Lyra service. Rows are the API's own JSON: integers are digits, times Unix nanoseconds, prices decimal
 * numbers, all of them text. Everything rejects with LyraApiError for an answer that is no success, and with
 * LyraConnectionError where there is none, after it has been tried again where that may help.
 */
export type LyraClient = Walks & Pages & Streams & Service

type Service = {
  /** What the service holds, and what it lacks: of one market, or from the `next` of an earlier answer on. */
  coverage(options?: CoverageOptions): Promise<Coverage>
  /** What the running funding period of a market would pay if it ended at the last block; null where that is not known. */
  fundingEstimate(marketId: string, options?: Signalled): Promise<FundingEstimate | null>
  /** Prices and TWAPs of a market over time, by buckets of equal length: what a chart needs, in one request. */
  series(marketId: string, options?: SeriesOptions): Promise<Series>
  /** When a market was in auction, in a range or as far back as is known. */
  auctions(marketId: string, options?: AuctionsOptions): Promise<Auctions>
  health(options?: Signalled): Promise<Health>
  /** Whether the service serves current data, and if not, why. */
  ready(options?: Signalled): Promise<Readiness>

  /** The address of a request for a page, or of an export of all rows where a format is named. */
  url<Name extends ResourceName>(
    resource: Name,
    filters: Filters[Name],
    options?: PageOptions & { format?: 'ndjson' | 'csv' | undefined },
  ): string

  /** The address of an export of all rows of a resource, of all markets where the filters name none. */
  exportUrl<Name extends ResourceName>(
    resource: Name,
    filters?: Partial<Filters[Name]>,
    options?: ExportOptions,
  ): string
}

/** Makes a client of the service at an address. Nothing is asked yet. */
export function createLyraClient(options: ConnectionOptions): LyraClient {
  const connection = createConnection(options)
  return {
    ...listMethods(connection),

    coverage: async ({ marketId, after, signal } = {}) => {
      const given = Object.entries({ marketId, after }).filter(([, value]) => value !== undefined)
      const query = new URLSearchParams(given as [string, string][]).toString()
      const { text } = await connection.get(`/api/v2/coverage${query === '' ? '' : `?${query}`}`, signal)
      return (JSON.parse(text) as { coverage: Coverage }).coverage
    },
    fundingEstimate: async (marketId, { signal } = {}) => {
      const target = `/api/v2/funding-estimates/${encodeURIComponent(marketId)}`
      const { text } = await connection.get(target, signal)
      return (JSON.parse(text) as { fundingEstimate: FundingEstimate | null }).fundingEstimate
    },
    series: async (marketId, options = {}) => {
      const { text } = await connection.get(seriesTarget(marketId, options), options.signal)
      return (JSON.parse(text) as { series: Series }).series
    },
    auctions: async (marketId, options = {}) => {
      const { text } = await connection.get(auctionsTarget(marketId, options), options.signal)
      return (JSON.parse(text) as { auctions: Auctions }).auctions
    },
    health: async ({ signal } = {}) => JSON.parse((await connection.get('/health', signal)).text) as Health,
    ready: async ({ signal } = {}) =>
      JSON.parse((await connection.get('/ready', signal, [503])).text) as Readiness,

    url: (resource, filters, { format, ...page } = {}) =>
      connection.address(pageTarget(resource, filters, page, format)),
    exportUrl: (resource, filters, options) => connection.address(exportTarget(resource, filters, options)),
  }
}

/** The methods of every list. */
function listMethods(connection: Connection): Walks & Pages & Streams {
  const methods: Record<string, unknown> = {}
  for (const name of Object.keys(PATHS) as ListName[]) {
    methods[name] = (filters: Filters[typeof name] = {}, options?: WalkOptions) =>
      walkPages(connection, name, filters, options)
    methods[`${name}Page`] = (filters: Filters[typeof name] = {}, options?: PageOptions & Signalled) =>
      readPage(connection, name, filters, options)
  }
  for (const name of Object.keys(STREAM_PATHS) as ResourceName[]) {
    methods[`stream${name[0]!.toUpperCase()}${name.slice(1)}`] = (
      filters: StreamFilters[typeof name] = {},
      options?: StreamOptions,
    ) => followStream(connection, name, filters, options)
  }
  return methods as Walks & Pages & Streams
}

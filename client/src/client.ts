import { checkArguments, optionsOf, type Parameter } from './arguments.ts'
import { type Connection, type ConnectionOptions, createConnection } from './connection.ts'
import { type ExportRowsOptions, readExport } from './exports.ts'
import { type Page, type PageRow, readPage, type WalkOptions, walkPages } from './pages.ts'
import {
  type ExportOptions,
  exportTarget,
  type FileOptions,
  idOfPath,
  type PageOptions,
  pageTarget,
  reportTarget,
} from './requests.ts'
import {
  EXPORT_PATHS,
  FILTER_NAMES,
  type FilteredName,
  type FilteredStreamName,
  type Filters,
  type ListName,
  type Nodes,
  PATHS,
  REPORTS,
  type Reports,
  type ResourceName,
  STREAM_FILTER_NAMES,
  STREAM_PATHS,
  type StreamFilters,
  type StreamName,
  type StreamNodes,
} from './resources.ts'
import type { Health, Readiness } from './service.ts'
import {
  followStream,
  followStreams,
  type NamedStreamRow,
  type SeveralStreams,
  type SeveralStreamsOptions,
  type StreamOptions,
  type StreamRow,
} from './streams.ts'

type Signalled = { signal?: AbortSignal | undefined }

type SignalledPageOptions = PageOptions & Signalled

type UrlOptions = PageOptions & FileOptions

const RESOURCE: Parameter = { name: 'resource', allowed: Object.keys(EXPORT_PATHS) }
const PAGE = { first: true, after: true, last: true, before: true, newestFirst: true } as const
const SIGNAL_OPTIONS = optionsOf<Signalled>({ signal: true })
const WALK_OPTIONS = optionsOf<WalkOptions>({ pageSize: true, newestFirst: true, after: true, signal: true })
const PAGE_OPTIONS = optionsOf<SignalledPageOptions>({ ...PAGE, signal: true })
const STREAM_OPTIONS = optionsOf<Omit<StreamOptions, 'onComplete'>>({
  after: true,
  afterBlock: true,
  signal: true,
})
const STATE_OPTIONS = optionsOf<Pick<StreamOptions, 'onComplete' | 'signal'>>({
  onComplete: true,
  signal: true,
})
const URL_OPTIONS = optionsOf<UrlOptions>({ ...PAGE, format: true, times: true, numbers: true })
const EXPORT_OPTIONS = optionsOf<ExportOptions>({
  format: true,
  times: true,
  numbers: true,
  after: true,
  newestFirst: true,
})
const EXPORT_ROWS_OPTIONS = optionsOf<ExportRowsOptions>({ after: true, newestFirst: true, signal: true })
const STREAMS: Parameter = { name: 'streams', properties: Object.keys(STREAM_PATHS) }
const SEVERAL_STREAMS_OPTIONS = optionsOf<SeveralStreamsOptions<StreamName>>({
  after: true,
  afterBlock: true,
  signal: true,
})
const CONNECTION_OPTIONS = {
  ...optionsOf<ConnectionOptions>({
    url: true,
    fetch: true,
    retries: true,
    longestWaitMs: true,
    timeoutMs: true,
    maxBytes: true,
  }),
  required: 'url',
}

/** The rows of a list, to be walked with `for await`. */
export type Rows<Node> = AsyncGenerator<Node, void, undefined>

/** Filters and options; filters may be omitted if none is required. */
type Arguments<Name, Filtered, Given, Options> = Name extends Filtered
  ? [filters: Given, options?: Options]
  : [filters?: Given, options?: Options]

/** Every row of a list, page by page: `checkpoints`, ... */
type Walks = {
  [Name in keyof Nodes]: (
    ...asked: Arguments<Name, FilteredName, Filters[Name], WalkOptions>
  ) => Rows<Nodes[Name]>
}

/** One page of a list: `checkpointsPage`, ... */
type Pages = {
  [Name in keyof Nodes as `${Name}Page`]: (
    ...asked: Arguments<Name, FilteredName, Filters[Name], SignalledPageOptions>
  ) => Promise<Page<Nodes[Name]>>
}

/** A stream of state has no position: it begins with the whole state, on each connection. */
type OptionsOfStream<Name extends StreamName> = Name extends ResourceName
  ? Omit<StreamOptions, 'onComplete'>
  : Pick<StreamOptions, 'onComplete' | 'signal'>

/**
 * Each row of a resource as it arrives, and again whenever it changes, until the signal is aborted: `streamCheckpoints`, ...
 * For market summaries, the parts that have changed.
 */
type Streams = {
  [Name in StreamName as `stream${Capitalize<Name>}`]: (
    ...asked: Arguments<Name, FilteredStreamName, StreamFilters[Name], OptionsOfStream<Name>>
  ) => Rows<StreamRow<StreamNodes[Name]>>
}

/**
 * A Lyra service. Rows are the API's own JSON: integers are digits, times Unix nanoseconds, prices decimal
 * numbers, all of them strings. Everything rejects with LyraApiError for an answer other than success, with
 * LyraConnectionError if there is no answer, after retries if they may help, and with LyraAnswerError for an answer that is not
 * the API's. An unknown filter or option, or one in the wrong place, is a TypeError.
 */
export type LyraClient = Walks & Pages & Streams & Reports & Service

type Service = {
  /**
   * The rows of several resources as they arrive, over a connection each, until the signal is aborted. Save the cursor of each
   * resource. If one stream fails for good, all end.
   */
  streamAll<Name extends StreamName>(
    streams: SeveralStreams<Name>,
    options?: SeveralStreamsOptions<Name>,
  ): Rows<NamedStreamRow<Name>>

  /** All rows of a resource in one request, all from one block: of all markets if the filters name none. */
  exportRows<Name extends ResourceName>(
    resource: Name,
    filters?: Partial<Filters[Name]>,
    options?: ExportRowsOptions,
  ): Rows<PageRow<Nodes[Name]>>

  health(options?: Signalled): Promise<Health>
  /** Whether the service serves current data, and if not, why. */
  ready(options?: Signalled): Promise<Readiness>

  /** The address of a request for a page, or of an export of all rows if a format is named. */
  url<Name extends ResourceName>(resource: Name, filters: Filters[Name], options?: UrlOptions): string

  /** The address of an export of all rows of a resource, of all markets if the filters name none. */
  exportUrl<Name extends ResourceName>(
    resource: Name,
    filters?: Partial<Filters[Name]>,
    options?: ExportOptions,
  ): string
}

/** Creates a client of the service at an address, without sending a request. */
export function createLyraClient(options: ConnectionOptions): LyraClient {
  checkArguments('createLyraClient', [CONNECTION_OPTIONS], [options])
  const connection = createConnection(options)
  return {
    ...listMethods(connection),
    ...reportMethods(connection),
    health: async (...given) => {
      checkArguments('health', [SIGNAL_OPTIONS], given)
      return (await connection.getObject('/health', given[0]?.signal)).body as Health
    },
    ready: async (...given) => {
      checkArguments('ready', [SIGNAL_OPTIONS], given)
      return (await connection.getObject('/ready', given[0]?.signal, [503])).body as Readiness
    },

    streamAll: (...given) => {
      checkArguments('streamAll', [STREAMS, SEVERAL_STREAMS_OPTIONS], given)
      const [streams, options] = given
      for (const name of Object.keys(streams) as (keyof typeof streams)[])
        checkArguments(methodOfStream(name), [filtersOfStream(name)], [streams[name]])
      return followStreams(connection, streams, options)
    },
    exportRows: (...given) => {
      checkArguments('exportRows', [RESOURCE, exportFiltersOf(given[0]), EXPORT_ROWS_OPTIONS], given)
      return readExport(connection, ...given)
    },
    url: (...given) => {
      checkArguments('url', [RESOURCE, filtersOf(given[0]), URL_OPTIONS], given)
      const [resource, filters, { format, times, numbers, ...page } = {}] = given
      return connection.address(pageTarget(resource, filters, page, { format, times, numbers }))
    },
    exportUrl: (...given) => {
      checkArguments('exportUrl', [RESOURCE, exportFiltersOf(given[0]), EXPORT_OPTIONS], given)
      return connection.address(exportTarget(...given))
    },
  }
}

/** The methods of every list. */
function listMethods(connection: Connection): Walks & Pages & Streams {
  const methods: Record<string, unknown> = {}
  for (const name of Object.keys(PATHS) as ListName[]) {
    const filtersOfList = filtersOf(name)
    methods[name] = (...given: [Filters[typeof name]?, WalkOptions?]) => {
      checkArguments(name, [filtersOfList, WALK_OPTIONS], given)
      const [filters = {}, options] = given
      return walkPages(connection, name, filters, options)
    }
    methods[`${name}Page`] = async (...given: [Filters[typeof name]?, SignalledPageOptions?]) => {
      checkArguments(`${name}Page`, [filtersOfList, PAGE_OPTIONS], given)
      const [filters = {}, options] = given
      return readPage(connection, name, filters, options)
    }
  }
  for (const name of Object.keys(STREAM_PATHS) as StreamName[]) {
    const method = methodOfStream(name)
    const filtersOfThis = filtersOfStream(name)
    methods[method] = (...given: [StreamFilters[typeof name]?, StreamOptions?]) => {
      checkArguments(method, [filtersOfThis, name in EXPORT_PATHS ? STREAM_OPTIONS : STATE_OPTIONS], given)
      const [filters = {}, options] = given
      return followStream(connection, name, filters, options)
    }
  }
  return methods as Walks & Pages & Streams
}

/** The methods that answer with one object. */
function reportMethods(connection: Connection): Reports {
  const methods: Record<string, unknown> = {}
  for (const name of Object.keys(REPORTS) as (keyof Reports)[]) {
    const { path, options, isBody } = REPORTS[name]
    const id = idOfPath(path)
    const ofPath: Parameter[] = id === null ? [] : [{ name: id }]
    const parameters: Parameter[] = [
      ...ofPath,
      { name: 'options', properties: [...Object.keys(options), 'signal'] },
    ]
    methods[name] = async (...given: Parameters<Reports[typeof name]>) => {
      checkArguments(name, parameters, given)
      const { signal } = (given[ofPath.length] ?? {}) as Signalled
      const { body } = await connection.getObject(reportTarget(name, ...given), signal)
      // Else the answer is the body's one field.
      return isBody ? body : Object.values(body)[0]
    }
  }
  return methods as Reports
}

/** The filters of a list; the market must be given if it is a part of the path. */
function filtersOf(name: ListName) {
  const required = idOfPath(PATHS[name] ?? '') ?? undefined
  return { name: 'filters', properties: FILTER_NAMES[name] ?? [], required } as const
}

/** The same of an export, which is of all markets without one. */
const exportFiltersOf = (name: ResourceName): Parameter => ({ ...filtersOf(name), required: undefined })

const filtersOfStream = (name: StreamName): Parameter => ({
  name: 'filters',
  properties: STREAM_FILTER_NAMES[name],
})

const methodOfStream = (name: StreamName) => `stream${name[0]!.toUpperCase()}${name.slice(1)}`

import type { IdName } from './arguments.ts'
import {
  EXPORT_PATHS,
  FILTER_NAMES,
  type Filters,
  type ListName,
  PATHS,
  REPORTS,
  type Reports,
  type ResourceName,
  STREAM_FILTER_NAMES,
  STREAM_PATHS,
  type StreamFilters,
  type StreamName,
} from './resources.ts'

/** The requested page: `first` with `after`, or `last` with `before`; 1 to 5,000 rows. */
export type PageOptions = {
  first?: number | undefined
  after?: string | undefined
  last?: number | undefined
  before?: string | undefined
  /** Whether the newest rows come first; true by default. */
  newestFirst?: boolean | undefined
}

/** Start of a stream: after a cursor or a block; by default now. */
export type StreamStart = {
  /** The cursor of an event of this stream, or of a row of a page. */
  after?: string | undefined
  /** A block's height, such as a page's `blockHeight`: rows of later blocks follow. */
  afterBlock?: string | undefined
}

/** Placeholder of the market or the party in a path. */
const ID = /:(\w+)$/

/** The name of the id that a path has as its last part; null if it has none. */
export function idOfPath(path: string): IdName | null {
  return (ID.exec(path)?.[1] ?? null) as IdName | null
}

type Params = [name: string, value: string | undefined][]

/** How a file is written. */
export type FileOptions = {
  /** Lines of JSON by default. */
  format?: 'ndjson' | 'csv' | 'parquet' | undefined
  /** Of JSON and CSV: `iso`, RFC 3339 in UTC. Of Parquet: `micros`, or `local`, nanoseconds without a zone. */
  times?: 'iso' | 'micros' | 'local' | undefined
  /** Of Parquet: decimals as texts. */
  numbers?: 'text' | undefined
}

/** Format and start of an export of all markets. */
export type ExportOptions = FileOptions & {
  /** The cursor of a row of such an export. */
  after?: string | undefined
  newestFirst?: boolean | undefined
}

/** The target of a request for all rows of a resource, of all markets or of those that filters name. */
export function exportTarget<Name extends ResourceName>(
  resource: Name,
  filters: Partial<Filters[Name]> = {},
  { format, times, numbers, after, newestFirst }: ExportOptions = {},
): string {
  return target(EXPORT_PATHS[resource], [
    ...filterParams(FILTER_NAMES[resource], filters),
    ['pagination.after', after],
    ['pagination.newestFirst', newestFirst?.toString()],
    ['format', format],
    ['times', times],
    ['numbers', numbers],
  ])
}

/** The target of a request for a page, or of an export of all rows if a format is named. */
export function pageTarget<Name extends ListName>(
  list: Name,
  filters: Filters[Name],
  { first, after, last, before, newestFirst }: PageOptions = {},
  { format, times, numbers }: FileOptions = {},
): string {
  const { marketId = '' }: { marketId?: string | undefined } = filters
  const path = PATHS[list].replace(ID, encodeURIComponent(marketId))
  const names = FILTER_NAMES[list].filter((name) => !PATHS[list].includes(`:${name}`))
  return target(path, [
    ...filterParams(names, filters),
    ['pagination.first', first?.toString()],
    ['pagination.after', after],
    ['pagination.last', last?.toString()],
    ['pagination.before', before],
    ['pagination.newestFirst', newestFirst?.toString()],
    ['format', format],
    ['times', times],
    ['numbers', numbers],
  ])
}

/** The target of a request for a stream. */
export function streamTarget<Name extends StreamName>(
  resource: Name,
  filters: StreamFilters[Name],
  { after, afterBlock }: StreamStart,
): string {
  return target(STREAM_PATHS[resource], [
    ...filterParams(STREAM_FILTER_NAMES[resource], filters),
    ['after', after],
    ['afterBlock', after === undefined ? afterBlock : undefined],
  ])
}

/** The target of a request for one object. */
export function reportTarget<Name extends keyof Reports>(
  name: Name,
  ...given: Parameters<Reports[Name]>
): string {
  const { path, options: names } = REPORTS[name]
  const hasId = idOfPath(path) !== null
  const options = ((hasId ? given[1] : given[0]) ?? {}) as Readonly<Record<string, unknown>>
  return target(
    hasId ? path.replace(ID, encodeURIComponent(given[0] as string)) : path,
    Object.entries(names).map(([option, parameter]) => [parameter, text(options[option])]),
  )
}

/** The parameters of filters whose own name is another one. */
const PARAMETERS: Readonly<Record<string, string>> = {
  from: 'dateRange.startTimestamp',
  to: 'dateRange.endTimestamp',
}

function filterParams(names: readonly string[], filters: object): Params {
  const values = filters as Readonly<Record<string, unknown>>
  return names.flatMap((name): Params => {
    const value = values[name]
    const all = Array.isArray(value) ? value : [value]
    return all.map((one) => [PARAMETERS[name] ?? name, text(one)])
  })
}

/** A value as a parameter; a Date in nanoseconds. */
function text(value: unknown): string | undefined {
  if (value instanceof Date) return String(BigInt(value.getTime()) * 1_000_000n)
  return value === undefined ? undefined : String(value)
}

function target(pathname: string, params: Params): string {
  const given = params.filter((param): param is [string, string] => param[1] !== undefined)
  const query = new URLSearchParams(given).toString()
  return query === '' ? pathname : `${pathname}?${query}`
}

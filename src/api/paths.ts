import type { Resource } from '../resources/resource.ts'
import { LISTS, RESOURCES } from '../resources/resources.ts'

/** Paths that report on the process, and so answer whatever the rate and the store. */
export const SERVICE_PATHS: ReadonlySet<string> = new Set(['/health', '/ready', '/metrics'])

/** Where the OpenAPI document is. */
export const DOCUMENT_PATH = '/openapi.json'

/** Where the service reports what it holds. */
export const COVERAGE_PATH = '/api/v2/coverage'

/** Where the running funding period of a market is estimated. */
export const FUNDING_ESTIMATE_PATH = '/api/v2/funding-estimates/:marketId'

/** Where charts of data points come from. */
export const SERIES_PATH = '/api/v2/series/funding-period-data-points/:marketId'

/** Where the auctions of a market are. */
export const AUCTIONS_PATH = '/api/v2/auctions/:marketId'

/** Where a resource's rows are sent as they come. */
export function streamPath({ kebabName }: Resource): string {
  return `/api/v2/stream/${kebabName}`
}

/** Where all rows of a resource are, of all markets. */
export function exportPath({ kebabName }: Resource): string {
  return `/api/v2/export/${kebabName}`
}

/** Where the pages are: the explorer, the API reference, and what they load. */
export const EXPLORER_PATH = '/'
export const REFERENCE_PATH = '/docs'
export const ASSETS_PATH = '/assets/:name'

const WEB_PATHS = [EXPLORER_PATH, REFERENCE_PATH, ASSETS_PATH]

/** Paths that read no rows: they answer whatever the rate and the store. */
export const UNLIMITED_PATHS: ReadonlySet<string> = new Set([...SERVICE_PATHS, ...WEB_PATHS])

/** The methods that get an answer; Node leaves the body of one to HEAD out by itself. */
export const READ_METHODS = ['GET', 'HEAD']

/** Every path of the API, as the router takes it; the OpenAPI document describes each. */
export const KNOWN_PATHS: readonly string[] = [
  ...LISTS.map(({ path }) => path),
  ...RESOURCES.map(streamPath),
  ...RESOURCES.map(exportPath),
  COVERAGE_PATH,
  FUNDING_ESTIMATE_PATH,
  SERIES_PATH,
  AUCTIONS_PATH,
  ...SERVICE_PATHS,
  DOCUMENT_PATH,
]

/** Every path that is answered. */
export const ROUTED_PATHS: readonly string[] = [...KNOWN_PATHS, ...WEB_PATHS]

const PATTERNS = ROUTED_PATHS.map((path) => new RegExp(`^${path.replace(/:\w+/, '[^/]*')}$`))

/** Whether a path, free of bad escapes, is one of the known ones: for requests that reach no router. */
export function isKnownPath(path: string): boolean {
  const decoded = decodeURI(path)
  return PATTERNS.some((pattern) => pattern.test(decoded))
}

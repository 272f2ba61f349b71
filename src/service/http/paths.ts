import type { Resource } from '#core/model/resource'

export const DOCUMENT_PATH = '/openapi.json'
/** The same as OpenAPI 3.0. */
export const DOCUMENT_30_PATH = '/openapi-3.0.json'

/** A data node's information about itself. */
export const INFO_PATH = '/api/v2/info'
export const TIME_PATH = '/api/v2/vega/time'

/** Figures of markets for Prometheus. */
export const MARKET_METRICS_PATH = '/metrics/markets'

/** The stream of a resource's new rows. */
export function streamPath({ kebabName }: Resource): string {
  return `/api/v2/stream/${kebabName}`
}

/** The export of all rows of a resource, of all markets. The format is the ending, or a parameter. */
export function exportPath({ kebabName }: Resource, ending: string | null = null): string {
  return `/api/v2/export/${kebabName}${ending === null ? '' : `.${ending}`}`
}

/** The explorer, the API reference and their assets. */
export const EXPLORER_PATH = '/'
export const REFERENCE_PATH = '/docs'
export const ASSETS_PATH = '/assets/:name'

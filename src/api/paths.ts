import type { Resource } from '../resources/resource.ts'

/** Where the OpenAPI document is. */
export const DOCUMENT_PATH = '/openapi.json'

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

import { RESOURCES } from '../resources/resources.ts'

/** Paths that report on the process, and so answer whatever the rate and the store. */
export const SERVICE_PATHS: ReadonlySet<string> = new Set(['/health', '/ready', '/metrics'])

/** Where the OpenAPI document is. */
export const DOCUMENT_PATH = '/openapi.json'

/** Where the service tells what it holds. */
export const COVERAGE_PATH = '/api/v2/coverage'

/** The methods that get an answer; Node leaves the body of one to HEAD out by itself. */
export const READ_METHODS = ['GET', 'HEAD']

/** Every path that is answered, as the router takes it. */
export const KNOWN_PATHS: readonly string[] = [
  ...Object.values(RESOURCES).map(({ path }) => path),
  COVERAGE_PATH,
  ...SERVICE_PATHS,
  DOCUMENT_PATH,
]

const PATTERNS = KNOWN_PATHS.map((path) => new RegExp(`^${path.replace(/:\w+/, '[^/]*')}$`))

/** Whether a path, free of bad escapes, is one of the known ones: for requests that reach no router. */
export function isKnownPath(path: string): boolean {
  const decoded = decodeURI(path)
  return PATTERNS.some((pattern) => pattern.test(decoded))
}

import { createConnection } from '../../../client/src/connection.ts'
import { watchedFetch } from './connection.ts'

const connection = createConnection({ url: location.origin, fetch: watchedFetch, retries: 5 })

/**
 * Asks for an export of few rows: one JSON object a line. Throws as the client does.
 *
 * @param target path and query
 */
export async function askLines<Row>(target: string, signal: AbortSignal): Promise<Row[]> {
  const { text } = await connection.get(target, signal)
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Row]))
}

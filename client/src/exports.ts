import { type Connection, objectIn } from './connection.ts'
import { LyraAnswerError, LyraConnectionError } from './errors.ts'
import type { PageRow } from './pages.ts'
import { type ExportOptions, exportTarget } from './requests.ts'
import type { Filters, Nodes, ResourceName } from './resources.ts'

export type ExportRowsOptions = Pick<ExportOptions, 'after' | 'newestFirst'> & {
  signal?: AbortSignal | undefined
}

/**
 * The rows of an export, all from one block, as they are taken. The request is sent again if it fails, but not once rows have
 * arrived: later rows would be from another block. The caller can go on after the last cursor.
 *
 * @throws {LyraConnectionError} if the export is cut off
 * @throws {LyraAnswerError} for a line that is no row, or longer than the connection's `maxBytes`
 */
export async function* readExport<Name extends ResourceName>(
  connection: Connection,
  resource: Name,
  filters: Partial<Filters[Name]> | undefined,
  { signal, ...options }: ExportRowsOptions = {},
): AsyncGenerator<PageRow<Nodes[Name]>, void, undefined> {
  const target = exportTarget(resource, filters, { ...options, format: 'ndjson' })
  const url = connection.address(target)
  const pieces = await connection.retrying(() => connection.open(target, { signal }), signal)
  for await (const line of linesOf(pieces, url, connection.maxBytes)) {
    const { cursor, ...node } = objectIn(line) ?? {}
    if (typeof cursor !== 'string') {
      throw new LyraAnswerError(url, `the export has a line that is no row: ${line.slice(0, 100)}`)
    }
    yield { node: node as Nodes[Name], cursor }
    signal?.throwIfAborted()
  }
}

/**
 * @throws {LyraConnectionError} for a last line without its end
 * @throws {LyraAnswerError} for a line of more bytes
 */
async function* linesOf(
  pieces: AsyncGenerator<Uint8Array, void, undefined>,
  url: string,
  maxBytes: number,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder()
  let parts: string[] = []
  let length = 0
  for await (const piece of pieces) {
    const [first, ...others] = decoder.decode(piece, { stream: true }).split('\n') as [string, ...string[]]
    parts.push(first)
    length += first.length
    if (length > maxBytes)
      throw new LyraAnswerError(url, `a line of the export has more than ${maxBytes} bytes`)
    for (const other of others) {
      yield parts.join('')
      parts = [other]
      length = other.length
    }
  }
  if (length > 0) throw new LyraConnectionError(url, 'the export was cut off')
}

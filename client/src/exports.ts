import type { Connection } from './connection.ts'
import { LyraApiError, LyraConnectionError } from './errors.ts'
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
 */
export async function* readExport<Name extends ResourceName>(
  connection: Connection,
  resource: Name,
  filters: Partial<Filters[Name]> | undefined,
  { signal, ...options }: ExportRowsOptions = {},
): AsyncGenerator<PageRow<Nodes[Name]>, void, undefined> {
  const target = exportTarget(resource, filters, { ...options, format: 'ndjson' })
  const pieces = await connection.retrying(() => connection.open(target, { signal }), signal)
  try {
    for await (const line of linesOf(pieces, connection.maxBytes)) {
      const { cursor, ...node } = JSON.parse(line)
      yield { node: node as Nodes[Name], cursor }
      signal?.throwIfAborted()
    }
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof LyraApiError || error instanceof LyraConnectionError) throw error
    throw new LyraConnectionError(connection.address(target), error)
  }
}

/** @throws {RangeError} for a line of more bytes; {Error} for a last one without its end */
async function* linesOf(
  pieces: AsyncGenerator<Uint8Array, void, undefined>,
  maxBytes: number,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder()
  let parts: string[] = []
  let length = 0
  for await (const piece of pieces) {
    const [first, ...others] = decoder.decode(piece, { stream: true }).split('\n') as [string, ...string[]]
    parts.push(first)
    length += first.length
    if (length > maxBytes) throw new RangeError(`a line of the export has more than ${maxBytes} bytes`)
    for (const other of others) {
      yield parts.join('')
      parts = [other]
      length = other.length
    }
  }
  if (length > 0) throw new Error('the export was cut off')
}

import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { type ExportedRow, type ExportQuery, exportRows } from '../export/export-rows.ts'
import { TEXT_FORMATS, type TextFormatName, textOf } from '../export/text-formats.ts'
import type { Resource } from '../resources/resource.ts'
import { createShares } from '../shares.ts'
import type { Reader, Snapshot } from '../store/store.ts'
import { invalidPagination, unavailable } from './errors.ts'
import { watchPace } from './export-pace.ts'
import type { Limits } from './limits.ts'
import { pageRequest } from './page-request.ts'
import { FORMAT_PARAMETER, type ParameterValues, parameterReader, parametersOf } from './parameters.ts'
import { hasName, parseQuery, queryOf } from './query-string.ts'
import { acceptsGzip, GZIP_OPTIONS } from './send-json.ts'
import type { Turns } from './turns.ts'
import { addVary } from './vary.ts'

/** How long one may take; then it is broken off, to be gone on with behind its last cursor. */
const MAX_EXPORT_MS = 15 * 60_000

const NOT_PAGED = ['pagination.first', 'pagination.last', 'pagination.before']

export type ExportOptions = {
  reader: Reader
  turns: Turns
  limits: Pick<Limits, 'exports' | 'exportPace'>
  /** The address that a request counts for. */
  addressOf: (request: IncomingMessage) => string
  /** Is told of an address that holds all exports and asks for more. */
  onAlone: (address: string) => void
}

/** Exports under way. */
export type Exports = {
  /** A handler that answers requests with a `format` with all rows in that format, and leaves others to `page`. */
  handlerOf(resource: Resource, page: RouteHandlerMethod): RouteHandlerMethod
}

/** Makes the handlers of exports, which together keep to the limits. */
export function createExports({ reader, turns, limits, addressOf, onAlone }: ExportOptions): Exports {
  const shares = createShares<AbortController>({
    places: limits.exports,
    // The one that was begun last has the least to do again.
    choose: (holders) => [...holders].at(-1)!,
    onAlone,
  })

  async function sendExport(
    resource: Resource,
    request: FastifyRequest,
    reply: FastifyReply,
    values: ParameterValues,
  ): Promise<FastifyReply> {
    const { marketId = null } = request.params as { marketId?: string }
    const query = exportQuery(resource, marketId, values)
    const format = values.get('format') as TextFormatName
    const address = addressOf(request.raw)
    const stop = new AbortController()
    const result = shares.take(address, stop)
    if (result === 'refused') throw unavailable('too many exports in progress; try again later')
    result?.abort(new Error('its client holds the most exports, and another client asks for one'))
    let snapshot: Snapshot | null = null
    try {
      snapshot = await reader.openSnapshot()
      if (snapshot.position === null) throw unavailable('the store holds no block yet; try again later')
      const { height, timestamp } = snapshot.position
      addVary(reply, 'Accept-Encoding')
      const isZipped = acceptsGzip(request.raw)
      const head = {
        ...reply.getHeaders(),
        'content-type': TEXT_FORMATS[format].contentType,
        'content-disposition': `attachment; filename="${resource.name}.${format}"`,
        'cache-control': 'no-store',
        'x-block-height': height,
        'x-block-timestamp': timestamp,
        ...(isZipped ? { 'content-encoding': 'gzip' } : {}),
      }
      reply.hijack()
      reply.raw.writeHead(200, head as Record<string, string>)
      if (request.method === 'HEAD') reply.raw.end()
      else await writeRows(snapshot, query, format, isZipped, reply, address, stop.signal)
    } catch (error) {
      if (!reply.sent) throw error
      // The head is sent: an answer that is broken off is all that can be told.
      if (!reply.raw.writableFinished) {
        request.log.warn(`an export to ${address} was broken off: ${(error as Error).message}`)
      }
    } finally {
      shares.release(stop)
      await snapshot?.close()
    }
    return reply
  }

  async function writeRows(
    snapshot: Snapshot,
    query: ExportQuery,
    format: TextFormatName,
    isZipped: boolean,
    { raw }: FastifyReply,
    address: string,
    givesWay: AbortSignal,
  ): Promise<void> {
    const pace = watchPace(raw, limits.exportPace)
    const stop = AbortSignal.any([givesWay, pace.signal, AbortSignal.timeout(MAX_EXPORT_MS)])
    const chunks: AsyncIterable<ExportedRow[]> = exportRows(
      query,
      (page) => turns(() => snapshot.page(page), address),
      stop,
    )
    const text = Readable.from(textOf(chunks, TEXT_FORMATS[format], query.resource, query.selection), {
      objectMode: false,
    })
    // An error of any part destroys the connection, so that the client knows that it has not had all.
    try {
      if (isZipped) await pipeline(text, createGzip(GZIP_OPTIONS), raw, { signal: stop })
      else await pipeline(text, raw, { signal: stop })
    } catch (error) {
      throw stop.aborted ? stop.reason : error
    } finally {
      pace.end()
    }
  }

  return {
    handlerOf: (resource, page) => {
      const readParameters = parameterReader(
        [...parametersOf(resource), FORMAT_PARAMETER].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      )
      return async function handle(request, reply) {
        const query = queryOf(request.originalUrl)
        if (!hasName(query, FORMAT_PARAMETER.name)) return page.call(this, request, reply)
        return sendExport(resource, request, reply, readParameters(parseQuery(query)))
      }
    },
  }
}

/**
 * Checks a request for an export.
 *
 * @throws {ApiError} 400, as for a page, and for what only pages have.
 */
export function exportQuery(
  resource: Resource,
  pathMarketId: string | null,
  values: ParameterValues,
): ExportQuery {
  const { selection, descending, cursor } = pageRequest(resource, pathMarketId, values).query
  const paged = NOT_PAGED.find((name) => values.has(name))
  if (paged !== undefined) {
    throw invalidPagination(
      `${paged} is not for an export, which holds all rows; allowed is pagination.after`,
    )
  }
  return { resource, selection, descending, cursor }
}

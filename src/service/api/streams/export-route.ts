import type { Resource } from '#core/resources/resource'
import { EXPORT_TYPES, type ExportFormat } from '../../export/export-bytes.ts'
import { ExportError } from '../../export/export-error.ts'
import type { ExportQuery } from '../../export/export-rows.ts'
import { emptyStore, invalidParameter } from '../http/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import { acceptsGzip } from '../http/negotiation.ts'
import { hasName, parseQuery, queryOf } from '../http/query-string.ts'
import type { Route } from '../http/router.ts'
import { exportPath } from '../paths.ts'
import { FORMAT_PARAMETER, parameterReader, TIMES_PARAMETER } from '../questions/parameters.ts'
import { watchPace } from './export-pace.ts'
import { exportParametersOf, exportQuery, fullExportParametersOf, fullExportQuery } from './export-query.ts'
import type { OpenExport } from './long-reads.ts'
import { createRunningExports, type ExportOptions } from './running-exports.ts'
import { sendBytes } from './send-export.ts'

/** How long one may take; then it is cut off, to be resumed after its last cursor. */
const MAX_EXPORT_MS = 15 * 60_000

/** Exports under way. */
export type Exports = {
  /** The route of a resource's pages, which answers requests with a `format` with all rows in that format. */
  besidePages(resource: Resource, pages: Route): Route
  /** The route of a resource's export over all markets. */
  ofAllMarkets(resource: Resource): Route
}

/** That of a thread is no instance of its class here. */
const isExportError = (error: unknown): error is Error =>
  error instanceof Error && error.name === ExportError.name

const refusedNumber = (format: ExportFormat, { message }: Error) =>
  invalidParameter(`parsing field "format": format is "${format}", but a number does not fit: ${message}`)

/** Makes the routes of exports, which together keep to the limits. */
export function createExports(options: ExportOptions): Exports {
  const { longReads, log, limits } = options
  const running = createRunningExports(options)

  async function sendExport(query: ExportQuery, format: ExportFormat, exchange: Exchange): Promise<void> {
    const { request, response, address } = exchange
    const ownStop = await running.begin(address)
    const pace = watchPace(response, limits.exportPace)
    const stop = AbortSignal.any([ownStop.signal, pace.signal, AbortSignal.timeout(MAX_EXPORT_MS)])
    let opened: OpenExport | null = null
    try {
      opened = await longReads.openExport(query, format)
      const { position } = opened
      if (position === null) throw emptyStore()
      // What fails at once is answered with an error.
      const first = request.method === 'HEAD' ? null : await opened.next()
      const isZipped = acceptsGzip(request)
      const headers = {
        'content-type': EXPORT_TYPES[format],
        'content-disposition': `attachment; filename="${query.resource.name}.${format}"`,
        'cache-control': 'no-store',
        ...(isZipped ? { 'content-encoding': 'gzip' } : {}),
      }
      exchange.begin(200, { position, vary: 'Accept-Encoding', headers })
      if (request.method === 'HEAD') response.end()
      else await sendBytes({ first, opened }, isZipped, response, stop)
    } catch (error) {
      if (!response.headersSent) throw isExportError(error) ? refusedNumber(format, error) : error
      // The head is sent: cutting the answer off is all that can be done.
      if (!response.writableFinished) {
        const { message } = (stop.aborted ? stop.reason : error) as Error
        log.warn(`an export to ${address} was cut off: ${message}`)
      }
    } finally {
      pace.end()
      // Before it is closed: who asks for one export after another is not to wait for a database that takes its time.
      running.end(ownStop)
      await opened?.close()
    }
  }

  return {
    besidePages: (resource, pages) => {
      const readParameters = parameterReader(
        exportParametersOf(resource),
        resource.grpcMethod === undefined ? 'refused' : 'ignored',
      )
      return {
        ...pages,
        answer: async (exchange) => {
          const query = queryOf(exchange.target)
          if (![FORMAT_PARAMETER, TIMES_PARAMETER].some(({ name }) => hasName(query, name)))
            return pages.answer(exchange)
          const values = readParameters(parseQuery(query))
          const asked = exportQuery(resource, exchange.pathId, values)
          return sendExport(asked, values.get(FORMAT_PARAMETER.name) as ExportFormat, exchange)
        },
      }
    },
    ofAllMarkets: (resource) => {
      const readParameters = parameterReader(fullExportParametersOf(resource), 'refused')
      return {
        path: exportPath(resource),
        answer: async (exchange) => {
          const values = readParameters(parseQuery(queryOf(exchange.target)))
          const format = (values.get(FORMAT_PARAMETER.name) as ExportFormat | undefined) ?? 'ndjson'
          await sendExport(fullExportQuery(resource, values), format, exchange)
        },
      }
    },
  }
}

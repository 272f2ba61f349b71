import type { ServerResponse } from 'node:http'
import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { Logger } from 'pino'
import type { ExportQuery } from '../../export/export-rows.ts'
import { TEXT_FORMATS, type TextFormatName } from '../../export/text-formats.ts'
import type { Resource } from '../../resources/resource.ts'
import type { Account } from '../../shares.ts'
import { LONG_LOG_BYTES, megabytes } from '../../store/long-log.ts'
import type { StoreLog } from '../../store/store.ts'
import { emptyStore, unavailable } from '../http/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Limits } from '../http/limits.ts'
import { acceptsGzip, GZIP_OPTIONS } from '../http/negotiation.ts'
import { hasName, parseQuery, queryOf } from '../http/query-string.ts'
import type { Route } from '../http/router.ts'
import { exportPath } from '../paths.ts'
import { FORMAT_PARAMETER, parameterReader } from '../questions/parameters.ts'
import { watchPace } from './export-pace.ts'
import { exportParametersOf, exportQuery, fullExportParametersOf, fullExportQuery } from './export-query.ts'
import type { LongReads, OpenExport } from './long-reads.ts'

/** How long one may take; then it is cut off, to be resumed after its last cursor. */
const MAX_EXPORT_MS = 15 * 60_000

/** How often the size of the store's log is looked at while an export is under way, milliseconds. */
const LOG_INTERVAL_MS = 1_000

/** Once an export has given way to a long log, the next one does when the log has grown by as many bytes more. */
const LOG_STEP_BYTES = LONG_LOG_BYTES / 8

/** How often to try to empty a long log that no reader here keeps in use, and when a client may try again. */
const SHORTEN_INTERVAL_MS = 5_000
const LOG_RETRY_SECONDS = 10

export type ExportOptions = {
  longReads: LongReads
  /** The store's log, where it has one. */
  storeLog?: StoreLog | undefined
  log: Logger
  limits: Pick<Limits, 'exports' | 'exportPace'>
  account: Account
}

/** Exports under way. */
export type Exports = {
  /** The route of a resource's pages, which answers requests with a `format` with all rows in that format. */
  besidePages(resource: Resource, pages: Route): Route
  /** The route of a resource's export over all markets. */
  ofAllMarkets(resource: Resource): Route
}

/** Makes the routes of exports, which together keep to the limits. */
export function createExports({ longReads, storeLog, log, limits, account }: ExportOptions): Exports {
  const shares = account.shares<AbortController>({
    places: limits.exports,
    // The one that was begun last has the least to do again.
    choose: (holders) => [...holders].at(-1)!,
  })
  /** What stops each export, the oldest one first. */
  const running = new Set<AbortController>()
  let breakAt = LONG_LOG_BYTES
  let shortenedAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | null = null

  /** Breaks the oldest export off where the store's log has grown too long: the snapshot keeps it from being emptied. */
  function giveWayToLog(): void {
    const bytes = storeLog?.bytes() ?? 0
    if (bytes <= LONG_LOG_BYTES) breakAt = LONG_LOG_BYTES
    if (bytes <= breakAt) return
    breakAt = bytes + LOG_STEP_BYTES
    const oldest = [...running].find(({ signal }) => !signal.aborted)
    oldest?.abort(
      new Error(
        `the store's log holds ${megabytes(bytes)} and cannot be emptied while the export reads; its last cursor resumes it`,
      ),
    )
  }

  /** Refuses an export while the log is long. */
  async function refuseLongLog(): Promise<void> {
    const isLong = () => (storeLog?.bytes() ?? 0) > LONG_LOG_BYTES
    if (!isLong()) return
    const now = performance.now()
    if (running.size === 0 && now - shortenedAt >= SHORTEN_INTERVAL_MS) {
      shortenedAt = now
      await longReads.shortenLog()
      if (!isLong()) return
      log.warn(
        `the store's log holds ${megabytes(storeLog!.bytes())}, and another program keeps it from being emptied: look for lyra export, check, verify, copy or backup`,
      )
    }
    throw unavailable(
      'the log of the store is too long for another export to begin; try again later',
      LOG_RETRY_SECONDS,
    )
  }

  /** @throws {ApiError} 503 where there is no place for another export of the address. */
  function begin(address: string): AbortController {
    const stop = new AbortController()
    const result = shares.take(address, stop)
    if (result === 'refused') throw unavailable('too many exports in progress; try again later')
    result?.abort(new Error('its client holds the most exports, and another client asks for one'))
    running.add(stop)
    timer ??= setInterval(giveWayToLog, LOG_INTERVAL_MS)
    return stop
  }

  function end(stop: AbortController): void {
    running.delete(stop)
    shares.release(stop)
    if (running.size > 0 || timer === null) return
    clearInterval(timer)
    timer = null
  }

  async function sendExport(query: ExportQuery, format: TextFormatName, exchange: Exchange): Promise<void> {
    await refuseLongLog()
    const { request, response, address } = exchange
    const ownStop = begin(address)
    const pace = watchPace(response, limits.exportPace)
    const stop = AbortSignal.any([ownStop.signal, pace.signal, AbortSignal.timeout(MAX_EXPORT_MS)])
    let opened: OpenExport | null = null
    try {
      opened = await longReads.openExport(query, format)
      const { position } = opened
      if (position === null) throw emptyStore()
      const isZipped = acceptsGzip(request)
      const headers = {
        'content-type': TEXT_FORMATS[format].contentType,
        'content-disposition': `attachment; filename="${query.resource.name}.${format}"`,
        'cache-control': 'no-store',
        ...(isZipped ? { 'content-encoding': 'gzip' } : {}),
      }
      exchange.begin(200, { position, vary: 'Accept-Encoding', headers })
      if (request.method === 'HEAD') response.end()
      else await writeRows(opened, isZipped, response, stop)
    } catch (error) {
      if (!response.headersSent) throw error
      // The head is sent: cutting the answer off is all that can be done.
      if (!response.writableFinished) {
        const { message } = (stop.aborted ? stop.reason : error) as Error
        log.warn(`an export to ${address} was cut off: ${message}`)
      }
    } finally {
      pace.end()
      // Before it is closed: who asks for one export after another is not to wait for a database that takes its time.
      end(ownStop)
      await opened?.close()
    }
  }

  async function writeRows(
    opened: OpenExport,
    isZipped: boolean,
    response: ServerResponse,
    stop: AbortSignal,
  ): Promise<void> {
    const text = Readable.from(piecesOf(opened), { objectMode: false, highWaterMark: 1 })
    // An error of any part destroys the connection, so that the client knows that it has not had all.
    if (!isZipped) return pipeline(text, freeing(response), { signal: stop })
    const gzip = createGzip(GZIP_OPTIONS)
    await Promise.all([
      pipeline(text, freeing(gzip), { signal: stop }),
      pipeline(gzip, response, { signal: stop }),
    ])
  }

  return {
    besidePages: (resource, pages) => {
      const readParameters = parameterReader(exportParametersOf(resource))
      return {
        ...pages,
        answer: async (exchange) => {
          const query = queryOf(exchange.target)
          if (!hasName(query, FORMAT_PARAMETER.name)) return pages.answer(exchange)
          const values = readParameters(parseQuery(query))
          const asked = exportQuery(resource, exchange.pathId, values)
          return sendExport(asked, values.get(FORMAT_PARAMETER.name) as TextFormatName, exchange)
        },
      }
    },
    ofAllMarkets: (resource) => {
      const readParameters = parameterReader(fullExportParametersOf(resource))
      return {
        path: exportPath(resource),
        answer: async (exchange) => {
          const values = readParameters(parseQuery(queryOf(exchange.target)))
          const format = (values.get(FORMAT_PARAMETER.name) as TextFormatName | undefined) ?? 'ndjson'
          await sendExport(fullExportQuery(resource, values), format, exchange)
        },
      }
    },
  }
}

/**
 * Hands pieces on to a stream one by one, and frees the memory of each as soon as it has been taken: left to the garbage
 * collector, which counts the bytes, it cost as much as reading the rows.
 */
function freeing(to: Writable): Writable {
  return new Writable({
    highWaterMark: 1,
    write: (piece: Buffer, _, done) => {
      to.write(piece, (error) => {
        const memory = piece.buffer as ArrayBuffer
        if (piece.byteLength === memory.byteLength) memory.transfer(0)
        done(error)
      })
    },
    final: (done) => {
      to.end(done)
    },
    destroy: (error, done) => {
      if (error !== null) to.destroy(error)
      done(error)
    },
  })
}

/** The text of an export, each piece asked for no sooner than the one before has been taken. */
async function* piecesOf(opened: OpenExport): AsyncGenerator<Uint8Array, void, undefined> {
  for (let piece = await opened.next(); piece !== null; piece = await opened.next()) yield piece
}

import { pipeline } from 'node:stream/promises'
import type { Logger } from 'pino'
import { countedNotice } from '#core/domain/counted-notice'
import { EXPORT_TYPES, type ExportFormat } from '../formats/export-bytes.ts'
import { ExportError } from '../formats/export-error.ts'
import type { ExportQuery } from '../formats/export-rows.ts'
import { emptyStore, invalidParameter, unavailable } from '../http/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Limits } from '../http/limits.ts'
import { acceptsGzip } from '../http/responses/negotiation.ts'
import { requestedPart } from '../http/responses/ranges.ts'
import type { LongReads, OpenExport } from '../streams/long-reads/long-reads.ts'
import { ExportFile, NoTemporaryFileError } from './export-file.ts'
import { ExportFiles } from './export-files.ts'
import { exportKey } from './export-query.ts'
import { type RunningExport, RunningExports, type RunningExportsOptions } from './running-exports.ts'
import { freePiece, sendBytes } from './send-export.ts'

/**
 * The part of a file's bytes that a Parquet file may have, whose rows take a tenth of their bytes as text: its client, or
 * the proxy before it, waits until all of it is written.
 */
const PARQUET_PART = 1 / 4

export type ExportAnswersOptions = RunningExportsOptions & { fileLimits: Limits['exportFiles'] }

/** A checked request for an export: the rows, their format, and the exchange to answer. */
type ExportRequest = { query: ExportQuery; format: ExportFormat; exchange: Exchange }

/** Answers requests for exports: small ones are written to a file first, others are sent while they are read. */
export class ExportAnswers {
  readonly #longReads: LongReads
  readonly #logger: Logger
  readonly #running: RunningExports
  readonly #files: ExportFiles
  readonly #fileBytes: number
  readonly #noticeNoFile: (message: string) => void

  constructor(options: ExportAnswersOptions) {
    this.#longReads = options.longReads
    this.#logger = options.logger
    this.#running = new RunningExports(options)
    this.#files = new ExportFiles(options.fileLimits)
    this.#fileBytes = options.fileLimits.bytes
    this.#noticeNoFile = countedNotice((message) => this.#logger.warn(message))
  }

  /**
   * Answers with all rows of a query in the format. A file has a length, an entity tag and ranges; an answer that is
   * compressed on its way has none of these, so it is sent while it is read.
   *
   * Rejects with `ApiError` (http/errors.ts), and with faults of the store.
   */
  async answer(request: ExportRequest): Promise<void> {
    const isZipped = mayZip(request)
    const file = isZipped ? null : await this.#fileOf(request)
    if (file === null) return this.#sendWhileReading(request, isZipped)
    try {
      await this.#sendFile(file, request)
    } finally {
      await file.release()
    }
  }

  /** Releases the cached files. */
  async close(): Promise<void> {
    await this.#files.close()
  }

  /** The file of all rows, retained for the caller; null if there is none. */
  async #fileOf(request: ExportRequest): Promise<ExportFile | null> {
    const { query, format, exchange } = request
    const { socket } = exchange.request
    const { timeout = 0 } = socket
    const gone = new AbortController()
    const leave = () => gone.abort()
    exchange.response.once('close', leave)
    // The connection is silent while the file is written.
    socket.setTimeout(0)
    try {
      const write = (abandoned: AbortSignal) => this.#writeFile(request, abandoned)
      return await this.#files.fileOf(exportKey(query, format), write, gone.signal)
    } finally {
      exchange.response.off('close', leave)
      socket.setTimeout(timeout)
    }
  }

  /**
   * Writes all rows of a query to a file; null if they have more bytes than a file may have. Rejects with
   * {@link NoTemporaryFileError}, and logs it.
   */
  async #writeFile(
    { query, format, exchange }: ExportRequest,
    abandoned: AbortSignal,
  ): Promise<ExportFile | null> {
    const running = await this.#running.begin(exchange.address, null)
    const signal = AbortSignal.any([running.stop.signal, abandoned])
    const most = this.#fileBytes * (format === 'parquet' ? PARQUET_PART : 1)
    let opened: OpenExport | null = null
    let file: ExportFile | null = null
    try {
      opened = await this.#longReads.openExport(query, format)
      if (opened.storeHead === null) throw emptyStore()
      file = await ExportFile.create(opened.storeHead)
      for (let piece = await opened.next(); piece !== null; piece = await opened.next()) {
        signal.throwIfAborted()
        if (file.size + piece.length > most) {
          await file.release()
          return null
        }
        await file.write(piece)
        freePiece(piece)
      }
      return file
    } catch (error) {
      await file?.release()
      if (error instanceof NoTemporaryFileError) {
        this.#noticeNoFile(`exports are sent without a length: ${error.message}`)
        throw error
      }
      if (signal.aborted) throw unavailable(`the export was ended: ${(signal.reason as Error).message}`, 10)
      throw refusalOf(error, format)
    } finally {
      this.#running.end(running)
      await opened?.close()
    }
  }

  /** Sends a file, or the requested range of it. */
  async #sendFile(file: ExportFile, { query, format, exchange }: ExportRequest): Promise<void> {
    const { request, response, address } = exchange
    const { storeHead, size, tag } = file
    const part = requestedPart(request.method === 'GET' ? request.headers : {}, tag, size)
    const headers = {
      ...headOf(query, format),
      etag: tag,
      'cache-control': 'no-cache',
      'accept-ranges': 'bytes',
    }
    if (part === 'unchanged') {
      exchange.begin(304, { storeHead, vary: 'Accept-Encoding', headers })
      response.end()
      return
    }
    const range = part === 'whole' ? { start: 0, end: size - 1 } : part
    const ofRange = part === 'whole' ? {} : { 'content-range': `bytes ${range.start}-${range.end}/${size}` }
    exchange.begin(part === 'whole' ? 200 : 206, {
      storeHead,
      vary: 'Accept-Encoding',
      headers: { ...headers, ...ofRange, 'content-length': String(range.end + 1 - range.start) },
    })
    if (request.method === 'HEAD') {
      response.end()
      return
    }
    const running = this.#running.beginFile(address, response)
    try {
      await this.#untilSent(exchange, running, (signal) => pipeline(file.read(range), response, { signal }))
    } finally {
      this.#running.end(running)
    }
  }

  /** Sends all rows of a query while they are read, as fast as the client takes them. */
  async #sendWhileReading({ query, format, exchange }: ExportRequest, isZipped: boolean): Promise<void> {
    const { request, response, address } = exchange
    const running = await this.#running.begin(address, response)
    let opened: OpenExport | null = null
    try {
      opened = await this.#longReads.openExport(query, format)
      const { storeHead } = opened
      if (storeHead === null) throw emptyStore()
      // What fails at once is answered with an error.
      const first = request.method === 'HEAD' ? null : await opened.next()
      exchange.begin(200, {
        storeHead,
        vary: 'Accept-Encoding',
        headers: {
          ...headOf(query, format),
          'cache-control': 'no-store',
          ...(isZipped ? { 'content-encoding': 'gzip' } : {}),
        },
      })
      if (request.method === 'HEAD') {
        response.end()
        return
      }
      const rows = { first, opened }
      await this.#untilSent(exchange, running, (signal) => sendBytes(rows, isZipped, response, signal))
    } catch (error) {
      throw refusalOf(error, format)
    } finally {
      // The client's slot is free before the snapshot is closed, which can be slow.
      this.#running.end(running)
      await opened?.close()
    }
  }

  /**
   * Sends the body of an answer whose head has been sent. After that, a fault can only be logged: the connection is cut off.
   * Ends when the client leaves, too: a response that is destroyed may never say that its end has been sent.
   */
  async #untilSent(
    { response, address }: Exchange,
    running: RunningExport,
    send: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const { stop } = running
    const leave = () => stop.abort(new Error('its client has left'))
    if (response.destroyed) leave()
    response.once('close', leave)
    try {
      await send(stop.signal)
    } catch (error) {
      if (response.writableFinished) return
      const { message } = (stop.signal.aborted ? stop.signal.reason : error) as Error
      this.#logger.warn(`an export to ${address} was cut off: ${message}`)
    } finally {
      response.off('close', leave)
    }
  }
}

/** Whether the bytes are compressed on their way. Parquet is compressed already, and ranges are those of a file. */
function mayZip({ format, exchange: { request } }: ExportRequest): boolean {
  const { method, headers } = request
  return method === 'GET' && format !== 'parquet' && headers.range === undefined && acceptsGzip(request)
}

/** The headers of an export, however it is sent. */
type ExportHead = Record<'content-type' | 'content-disposition', string>

const headOf = ({ resource }: ExportQuery, format: ExportFormat): ExportHead => ({
  'content-type': EXPORT_TYPES[format],
  'content-disposition': `attachment; filename="${resource.name}.${format}"`,
})

/** The error for a number that does not fit the requested format; any other error as it is. */
function refusalOf(error: unknown, format: ExportFormat): unknown {
  // An error of another thread has the name of its class, but is no instance here.
  if (!(error instanceof Error) || error.name !== ExportError.name) return error
  return invalidParameter(
    `parsing field "format": format is "${format}", but a number does not fit: ${error.message}`,
  )
}

import type { ServerResponse } from 'node:http'
import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { GZIP_OPTIONS } from '../http/responses/negotiation.ts'
import type { OpenExport } from '../streams/long-reads/long-reads.ts'

/** An export whose first piece has been read; null if it has none. */
type BegunExport = { first: Uint8Array | null; opened: OpenExport }

/** Sends the bytes of an export, as fast as its client reads. Any error destroys the connection, since bytes are missing. */
export async function sendBytes(
  begun: BegunExport,
  isZipped: boolean,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const bytes = Readable.from(exportPieces(begun), { objectMode: false, highWaterMark: 1 })
  if (!isZipped) return pipeline(bytes, freeingPieces(response), { signal })
  const gzip = createGzip(GZIP_OPTIONS)
  await Promise.all([pipeline(bytes, freeingPieces(gzip), { signal }), pipeline(gzip, response, { signal })])
}

/**
 * Hands pieces on to a stream one by one, and frees the memory of each as soon as it has been taken: left to the garbage
 * collector, which counts the bytes, it cost as much as reading the rows.
 */
function freeingPieces(to: Writable): Writable {
  return new Writable({
    highWaterMark: 1,
    write: (piece: Buffer, _, done) => {
      to.write(piece, (error) => {
        freePiece(piece)
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

/** Frees the memory of a piece that has been used, if it holds nothing else. */
export function freePiece(piece: Uint8Array): void {
  const memory = piece.buffer as ArrayBuffer
  if (piece.byteLength === memory.byteLength) memory.transfer(0)
}

/** The bytes of an export. Each piece is requested once the one before has been taken. */
async function* exportPieces({ first, opened }: BegunExport): AsyncGenerator<Uint8Array, void, undefined> {
  for (let piece = first; piece !== null; piece = await opened.next()) yield piece
}

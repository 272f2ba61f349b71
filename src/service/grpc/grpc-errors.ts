import { encoded } from '#core/events/byte-writer'
import type { ApiError } from '../http/errors.ts'

const ERROR_DETAIL = 'type.googleapis.com/vega.ErrorDetail'

/** The names of the codes by number, as in metrics. */
const CODE_NAMES =
  'OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED'.split(
    ' ',
  )

/** The name of a gRPC code, as in metrics: `NOT_FOUND`; its number if it has none. */
export const codeName = (code: number): string => CODE_NAMES[code] ?? String(code)

/** Trailers of a failed call: the code, the message, and the details as `grpc-status-details-bin`. */
export function trailersOf({ code, message, detail }: ApiError): Record<string, string> {
  return {
    'grpc-status': String(code),
    // Percent-encoded if it is not printable ASCII, as gRPC's specification for HTTP/2 demands.
    'grpc-message': message.toWellFormed().replaceAll(/[^ -$&-~]+/g, encodeURIComponent),
    ...(detail === null
      ? {}
      : {
          'grpc-status-details-bin': statusDetails(code, message, detail)
            .toString('base64')
            .replace(/=+$/, ''),
        }),
  }
}

/** A `google.rpc.Status` (code 1, message 2, details 3) with a `vega.ErrorDetail` (code 1, message 2, inner 3). */
function statusDetails(code: number, message: string, detail: NonNullable<ApiError['detail']>): Buffer {
  const texts = [message, ERROR_DETAIL, detail.message, detail.inner].map((text) => Buffer.from(text))
  const [ofStatus, type, ofDetail, inner] = texts as [Buffer, Buffer, Buffer, Buffer]
  const status = { 1: code, 2: ofStatus, 3: { 1: type, 2: { 1: detail.code, 2: ofDetail, 3: inner } } }
  // The texts, each with the head of its field, and a few numbers and heads.
  return encoded(
    status,
    texts.reduce((sum, { length }) => sum + length + 16, 64),
  )
}

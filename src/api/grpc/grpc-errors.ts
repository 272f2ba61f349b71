import { Metadata } from '@grpc/grpc-js'
import { ByteWriter } from '../../events/byte-writer.ts'
import type { ApiError } from '../http/errors.ts'

const ERROR_DETAIL = 'type.googleapis.com/vega.ErrorDetail'

/** What a call ends with: the code, the message, and the details as the trailer `grpc-status-details-bin`. */
export function statusOf({ code, message, detail }: ApiError): {
  code: number
  details: string
  metadata: Metadata
} {
  const metadata = new Metadata()
  if (detail !== null) metadata.set('grpc-status-details-bin', statusDetails(code, message, detail))
  return { code, details: message, metadata }
}

/** A `google.rpc.Status` (code 1, message 2, details 3) with a `vega.ErrorDetail` (code 1, message 2, inner 3). */
function statusDetails(code: number, message: string, detail: NonNullable<ApiError['detail']>): Buffer {
  const texts = [message, ERROR_DETAIL, detail.message, detail.inner].map((text) => Buffer.from(text))
  const [ofStatus, type, ofDetail, inner] = texts as [Buffer, Buffer, Buffer, Buffer]
  // Of each text its field's head, and some numbers and heads beside.
  const out = new ByteWriter(texts.reduce((sum, { length }) => sum + length + 16, 64))
  out.uint(1, code)
  out.content(2, ofStatus)
  const any = out.open(3)
  out.content(1, type)
  const value = out.open(2)
  out.uint(1, detail.code)
  out.content(2, ofDetail)
  out.content(3, inner)
  out.close(value)
  out.close(any)
  return out.take(0)
}

import type { IncomingHttpHeaders } from 'node:http'
import { parse } from 'range-parser'
import { ApiError, GRPC } from '../errors.ts'
import { matchesTag } from './negotiation.ts'

/** The bytes of a file from `start` to `end`, both included. */
export type ByteRange = { start: number; end: number }

/** What to send of a file: nothing, since the client has it; a part; or the whole. */
type RequestedPart = 'unchanged' | ByteRange | 'whole'

/** The code of {@link parse} for ranges that begin after the end. */
const UNSATISFIABLE = 2

/**
 * What to send of a file, by the request's conditions and its range, in the order of RFC 9110, 13.2.2. A request for several
 * ranges gets the whole file, as the RFC allows: no known program that reads these files requests several.
 *
 * @param tag the file's entity tag, which is strong
 *
 * @throws {ApiError} 412 if `If-Match` names only other files; 416 if the range begins after the end
 */
export function requestedPart(headers: IncomingHttpHeaders, tag: string, size: number): RequestedPart {
  const { range } = headers
  const ifMatch = headers['if-match']
  if (ifMatch !== undefined && !matchesTag(ifMatch, tag, { isWeak: false })) throw changedFile()
  if (matchesTag(headers['if-none-match'], tag)) return 'unchanged'
  const ifRange = headers['if-range']
  if (range === undefined || (ifRange !== undefined && ifRange !== tag)) return 'whole'
  const { code, type, ranges } = parse(size, range)
  if (type !== 'bytes') return 'whole'
  if (code === UNSATISFIABLE && ranges.length === 0) throw unsatisfiableRange(size)
  const [only, ...others] = ranges
  return only === undefined || others.length > 0 ? 'whole' : only
}

/** 412. */
export const changedFile = () =>
  new ApiError(
    412,
    GRPC.failedPrecondition,
    'the file has changed since the one that If-Match names; ask for it without If-Match',
  )

/** 416, with the size of the file, bytes. */
export const unsatisfiableRange = (size: number) =>
  new ApiError(416, GRPC.outOfRange, `the range begins after the end of the file, which has ${size} bytes`, {
    headers: { 'Content-Range': `bytes */${size}` },
  })

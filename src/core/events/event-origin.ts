import type { Envelope } from './bus-event.ts'
import { beginsWith } from './equal-bytes.ts'
import { MAX_KEY_LENGTH } from './left-out.ts'
import { MalformedMessageError } from './wire-reader.ts'

/*
 * Where an event is from, by its envelope: the version of its format, its chain, and its place in a block, which its id names as
 * "<height>-<index>" (docs/events.md, envelope). A message of many megabytes is never quoted whole.
 */

/** The only existing version of the event format. */
export const BUS_EVENT_VERSION = 1

/** The most digits of an index. */
const MAX_INDEX_DIGITS = 9

/** Bytes of an id with the longest height there can be. */
const MAX_ID_BYTES = 20 + 1 + MAX_INDEX_DIGITS

const EVENT_ID = /^\d{1,20}-\d{1,9}$/

/** Bytes of a text, or of its beginning, that are quoted. */
const QUOTED_BYTES = 80

/** Why an event cannot be read by this program; null if its version is the one that it reads. */
export function otherVersionOf({ version }: Envelope): string | null {
  if (version === BUS_EVENT_VERSION) return null
  return `an event of version ${version}; this program reads version ${BUS_EVENT_VERSION}`
}

/**
 * The chain of an event.
 *
 * @throws {MalformedMessageError} for a text that is no chain's id.
 */
export function chainIdOf({ bytes, chainIdStart, chainIdEnd }: Envelope): string {
  const chainId = bytes.toString(
    'utf8',
    chainIdStart,
    Math.min(chainIdEnd, chainIdStart + 4 * MAX_KEY_LENGTH + 4),
  )
  if (chainId === '' || chainId.length > MAX_KEY_LENGTH || chainId.includes('\0'))
    throw new MalformedMessageError(`a chain id of ${JSON.stringify(chainId.slice(0, QUOTED_BYTES))}`)
  return chainId
}

/**
 * The index in an event's id; null if the height is another one.
 *
 * @param idPrefix what ids of the block begin with, `<height>-`
 * @throws {MalformedMessageError} for an id of another form.
 */
export function indexInBlock(envelope: Envelope, idPrefix: string): number | null {
  const { bytes, idStart, idEnd } = envelope
  const digits = idStart + idPrefix.length
  const isIndex = digits < idEnd && idEnd - digits <= MAX_INDEX_DIGITS
  if (isIndex && beginsWith(bytes, idStart, idPrefix)) {
    let index = 0
    for (let at = digits; at < idEnd; at++) {
      const digit = bytes[at]! - 0x30
      if (digit < 0 || digit > 9) throw otherIdForm(envelope)
      index = index * 10 + digit
    }
    return index
  }
  checkIdForm(envelope)
  return null
}

/** @throws {MalformedMessageError} for an id that names no height and index. */
export function checkIdForm(envelope: Envelope): void {
  const { bytes, idStart, idEnd } = envelope
  const isShort = idEnd - idStart <= MAX_ID_BYTES
  if (!isShort || !EVENT_ID.test(bytes.toString('latin1', idStart, idEnd))) throw otherIdForm(envelope)
}

/** Whether an event's id begins with a height. */
export function hasIdOf({ bytes, idStart }: Envelope, height: bigint): boolean {
  return beginsWith(bytes, idStart, `${height}-`)
}

/**
 * Checks the event that begins a block: its id must be of that. Otherwise a damaged height would make a gap up to there.
 *
 * @throws {MalformedMessageError}
 */
export function checkIdOfBegin(envelope: Envelope, height: bigint): void {
  if (hasIdOf(envelope, height)) return
  throw new MalformedMessageError(`it begins block ${height}, but its id is of another one`)
}

function otherIdForm({ bytes, idStart, idEnd }: Envelope): MalformedMessageError {
  const id = bytes.toString('utf8', idStart, Math.min(idEnd, idStart + QUOTED_BYTES))
  return new MalformedMessageError(`its id is ${JSON.stringify(id)} and not "<height>-<index in block>"`)
}

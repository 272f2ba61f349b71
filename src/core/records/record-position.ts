import { PlainError } from '../domain/plain-error.ts'
import { MalformedMessageError } from '../events/wire-reader.ts'

/** The position of a record, for error messages. */
export type RecordPosition = {
  /** The file's path, `-` for standard input, or the name of a log's segment. */
  source: string
  /** Number of the record in its source, the first being 1. */
  record: number
  /** Offset of the record's first byte in the source's uncompressed bytes. */
  offset: number
}

/** `perps.evts.gz, record 12, offset 3456`. */
export function describePosition(position: RecordPosition): string {
  return `${position.source}, record ${position.record}, offset ${position.offset}`
}

/** Whether an error says that bytes are not events. */
export function isDamage(error: unknown): error is Error {
  return error instanceof EventStreamError || error instanceof MalformedMessageError
}

/**
 * Input that is not an event stream, or not one that may be ingested. The message says what is wrong, where, and what to
 * do.
 */
export class EventStreamError extends PlainError {
  readonly position: RecordPosition

  constructor(message: string, position: RecordPosition, options?: ErrorOptions) {
    super(`${describePosition(position)}: ${message}`, options)
    this.name = 'EventStreamError'
    this.position = position
  }
}

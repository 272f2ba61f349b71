import { HEAD_NAME, type LogHead, NewerLogError, parseHead } from '../../files/log-head.ts'
import { INDEX_NAME, parseIndex } from '../../files/log-index.ts'
import {
  parseReceiver,
  RECEIVER_NAME,
  type ReceiverFile,
  type WrittenState,
} from '../../files/receiver-file.ts'
import { segmentName, segmentsIn } from '../../files/segment-name.ts'
import { LogUnreachableError, type SegmentFile } from '../log-source.ts'
import type { LogServer } from './log-server.ts'

/** Sizes of texts at most, in bytes. */
const MAX_HEAD_BYTES = 4 * 1024
const MAX_INDEX_BYTES = 16 * 1024 * 1024
const MAX_RECEIVER_BYTES = 64 * 1024

/** A log's head as a web server publishes it. Two heads are the same if their texts are. */
type PublishedHead = { text: string; head: LogHead }

/** The state of a log's receiver as a web server publishes it. */
export type PublishedReceiver = { text: string; file: ReceiverFile }

/**
 * Reads the head of a log.
 *
 * @param log names the log in errors
 *
 * @throws {LogUnreachableError}
 */
export async function readPublishedHead(server: LogServer, log: string): Promise<PublishedHead> {
  const text = await server.readText(HEAD_NAME, MAX_HEAD_BYTES)
  if (text === null)
    throw new LogUnreachableError(
      `there is no ${HEAD_NAME}: check that --follow names the folder of an event log`,
    )
  try {
    const head = parseHead(text, log)
    if (head !== null) return { text, head }
  } catch (error) {
    if (!(error instanceof NewerLogError)) throw error
    throw new LogUnreachableError('its head is of a later version: install the Lyra that writes it', {
      cause: error,
    })
  }
  throw notOfLyra(HEAD_NAME)
}

/**
 * Reads which segments of a log are sealed, by number.
 *
 * @throws {LogUnreachableError}
 */
export async function readPublishedIndex(server: LogServer): Promise<SegmentFile[]> {
  const text = await server.readText(INDEX_NAME, MAX_INDEX_BYTES)
  if (text === null)
    throw new LogUnreachableError(
      `there is no ${INDEX_NAME}: restart the log's receiver with this version of Lyra`,
    )
  const sizes = parseIndex(text)
  if (sizes === null) throw notOfLyra(INDEX_NAME)
  return segmentsIn([...sizes.keys()]).map((segment): SegmentFile => {
    const name = segmentName(segment)
    return { segment, name, bytes: sizes.get(name)! }
  })
}

/**
 * Reads the state of a log's receiver; that from before if there is no other one, or it is just being written.
 *
 * @throws {LogUnreachableError}
 */
export async function readPublishedReceiver(
  server: LogServer,
  before: PublishedReceiver | null,
): Promise<PublishedReceiver | null> {
  const text = await server.readText(RECEIVER_NAME, MAX_RECEIVER_BYTES)
  if (text === null || text === before?.text) return before
  const state = parseReceiver(text)
  if (state !== null) return { text, file: byOwnClock(state) }
  // That it is just being written is believed only of a file that was read before.
  if (before === null) throw notOfLyra(RECEIVER_NAME)
  return before
}

/** A receiver's state with times by this machine's clock: that of the other one may be wrong. */
function byOwnClock({ clock, ...state }: WrittenState): ReceiverFile {
  const now = Date.now()
  const ahead = now - clock
  const { lastEventAtMs, upgrade } = state
  return {
    ...state,
    lastEventAtMs: lastEventAtMs === null ? null : Math.min(now, lastEventAtMs + ahead),
    upgrade: upgrade === null ? null : { ...upgrade, since: Math.min(now, upgrade.since + ahead) },
    writtenAtMs: now,
  }
}

function notOfLyra(name: string): LogUnreachableError {
  return new LogUnreachableError(
    `${name} is none of an event log: check that --follow names the folder of one, and what the web server sends`,
  )
}

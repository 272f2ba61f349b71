import { setTimeout as sleep } from 'node:timers/promises'
import { RECORD_HEADER_BYTES } from '#core/records/record-framer'
import { ConnectionError, dialPair } from '#service/live/forward/dial-pair'
import { messageOf } from '#service/live/pair-socket'
import { DialError } from './dial-error.ts'

/** Time for the receiver to read the last bytes, milliseconds. */
const END_TIMEOUT_MS = 5_000

/** A block to be sent: its time in Unix nanoseconds, and its records as in an event file. */
export type SentBlock = { height: number; time: bigint; records: Buffer }

/** Sends a block when it is due; then nothing more if the sending was aborted. */
export type SendBlock = (block: SentBlock) => Promise<void>

/**
 * Dials an address as a core does, and sends blocks there: each as long after the first one as their times are apart,
 * divided by `speed`; those below `start` at once. `produce` passes them on, and ends early when `signal` is aborted.
 *
 * @throws {DialError} if nothing listens there, or the connection is closed; and errors of `produce`
 */
export async function sendTo(
  { host, port }: { host: string; port: number },
  { speed, start }: { speed: number; start: number },
  signal: AbortSignal,
  produce: (send: SendBlock) => Promise<void>,
): Promise<void> {
  try {
    const connection = await dialPair(host, port, signal)
    let first: { at: number; time: bigint } | null = null
    await produce(async ({ height, time, records }) => {
      if (height >= start) {
        first ??= { at: performance.now(), time }
        const dueAt = first.at + Number((time - first.time) / 1_000_000n) / speed
        await pauseFor(dueAt - performance.now(), AbortSignal.any([signal, connection.closed]))
      }
      if (!signal.aborted) await connection.write(messagesOf(records))
    })
    const isRead = await connection.end(END_TIMEOUT_MS)
    if (!isRead && !signal.aborted) throw connection.closed.reason
  } catch (error) {
    if (signal.aborted) return
    if (!(error instanceof ConnectionError)) throw error
    throw new DialError(
      `--dial ${host}:${port}: ${error.message}; check that a service was started there with --listen; its log says if it has another core, or another chain in its store`,
    )
  }
}

/** Waits; ends early, without an error, when the signal is aborted. */
async function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, undefined, { signal }).catch(() => {})
}

/** Records of an event file as messages. */
function messagesOf(records: Buffer): Buffer {
  const pieces: Buffer[] = []
  for (let at = 0; at < records.length; ) {
    const event = at + RECORD_HEADER_BYTES
    const end = at + 4 + records.readUInt32BE(at)
    pieces.push(messageOf(records, event, end))
    at = end
  }
  return Buffer.concat(pieces)
}

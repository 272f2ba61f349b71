import { setTimeout as sleep } from 'node:timers/promises'
import { RECORD_HEADER_BYTES } from '#core/records/record-framer'
import { ConnectionError, dialPair } from '#service/live/forward/dial-pair'
import { messageOf } from '#service/live/pair-socket'
import { DialError } from './dial-error.ts'
import { generateBlocks } from './generate.ts'
import type { GenerateOptions } from './options.ts'

/** The first block is later than the time that is given for it by less than this. */
const MOST_AHEAD_SECONDS = 3

/** Time for the receiver to read the last bytes, milliseconds. */
const END_TIMEOUT_MS = 5_000

/**
 * Dials an address as a core does, and sends a generated stream there, dated now, at its own pace: each block as long
 * after the first one as their times are apart. Ends early when `signal` is aborted.
 *
 * @throws {GenerateOptionError} for an option that is out of its range
 * @throws {DialError} if nothing listens there, or the connection is closed
 */
export async function sendTo(
  { host, port }: { host: string; port: number },
  options: GenerateOptions,
  signal: AbortSignal,
): Promise<void> {
  const blocks = generateBlocks(options, Math.floor(Date.now() / 1000) - MOST_AHEAD_SECONDS)
  try {
    const connection = await dialPair(host, port, signal)
    const startedAt = performance.now()
    let firstTime: bigint | null = null
    for (const { block, records } of blocks) {
      firstTime ??= block.time
      const dueAt = startedAt + Number((block.time - firstTime) / 1_000_000n)
      await pause(dueAt - performance.now(), AbortSignal.any([signal, connection.closed]))
      if (signal.aborted) break
      await connection.write(messagesOf(records))
    }
    const isRead = await connection.end(END_TIMEOUT_MS)
    if (!isRead && !signal.aborted) throw connection.closed.reason
  } catch (error) {
    if (signal.aborted) return
    if (!(error instanceof ConnectionError)) throw error
    throw new DialError(
      `--dial ${host}:${port}: ${error.message}; check that a service was started there with --listen and has no other core`,
    )
  }
}

/** Waits; ends early, without an error, when the signal is aborted. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
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

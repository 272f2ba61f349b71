import { createReadStream } from 'node:fs'
import { truncate, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { flushFile, flushFolder } from '#core/concurrency/flush'
import { createEnvelope, EVENT_KIND, readEnvelope } from '#core/events/bus-event'
import { MalformedMessageError } from '#core/events/wire-reader'
import { RefusedEventError } from '#core/log/event-check'
import { NODE_DISK } from '#core/log/log-disk'
import { MAX_RECORD_SIZE, RECORD_HEADER_BYTES, RecordFramer } from '#core/records/record-framer'
import { isDamage } from '#core/records/record-position'
import { StoreRefusedError } from '#core/store/errors'
import { PRIVATE_FILE } from './event-buffer.ts'
import { createIncomingCheck } from './incoming-check.ts'

/** The bytes that were cut off and moved to another file. */
export type CutTail = { bytes: number; keptIn: string }

/**
 * Cuts the last file of a buffer after its last whole event, and keeps the rest in a file beside it. After a loss of power
 * the bytes after the last flush may be cut off, zero or anything; everything up to an end of block is before them. If
 * a whole end of block follows, events that were flushed are damaged: then nothing is cut, and reading stops there.
 *
 * @param earlier the buffer files before it, in which its first block may have begun
 *
 * @throws {StoreRefusedError} if the rest cannot be written: nothing is cut then.
 */
export async function repairLastFile(path: string, earlier: readonly string[] = []): Promise<CutTail | null> {
  const { goodBytes, sequence } = await findLastEvent(path, await readOpenBlock(earlier))
  const tail = await NODE_DISK.read(path, goodBytes, Number.MAX_SAFE_INTEGER)
  if (tail.length === 0 || hasEndOfBlock(tail, sequence)) return null
  const keptIn = `${path}.damaged`
  await writeFile(keptIn, tail, { mode: PRIVATE_FILE, flush: true }).catch((error: Error) => {
    throw new StoreRefusedError(
      `${path}: ${tail.length} bytes after the last complete event cannot be moved to ${keptIn} (${error.message})`,
    )
  })
  flushFolder(dirname(path))
  await truncate(path, goodBytes)
  flushFile(path)
  return { bytes: tail.length, keptIn }
}

/**
 * The end of a file's last complete event, and its sequence number; -1 before the first. Every event is decoded as when
 * it arrived: one whose last bytes are zero may still be framed correctly, and would stop the ingestion for good.
 *
 * @param begun the events of the block in which the file begins
 */
async function findLastEvent(
  path: string,
  begun: readonly Buffer[],
): Promise<{ goodBytes: number; sequence: bigint }> {
  const check = createIncomingCheck(null)
  check.resume(begun)
  const found = { goodBytes: 0, sequence: -1n }
  const framer = new RecordFramer(path, (record, start, end, { offset }) => {
    // Each event may be of another connection, whose core may have been of another chain.
    check.connected()
    check.check(record.subarray(start, end))
    found.goodBytes = offset + end - start + RECORD_HEADER_BYTES
    found.sequence = record.readBigUInt64BE(start - 8)
  })
  try {
    for await (const chunk of createReadStream(path)) framer.push(chunk as Buffer)
  } catch (error) {
    if (!isDamage(error) && !(error instanceof RefusedEventError)) throw error
  }
  return found
}

/**
 * The events of the block that the last of these buffer files ends in, from its beginning; none if it ends between blocks,
 * or cannot be read. A block may have begun in a file before, if the process was restarted within it.
 */
export async function readOpenBlock(paths: readonly string[]): Promise<Buffer[]> {
  let open: Buffer[] | null = null
  for (let first = paths.length - 1; first >= 0; first--) {
    const { events, hasBoundary } = await readUnfinished(paths[first]!)
    open = [...events, ...(open ?? [])]
    if (hasBoundary) return isBegin(open[0]) ? open : []
  }
  return []
}

/** The events after a file's last end of block or from its last beginning of one, and whether it has either. */
async function readUnfinished(path: string): Promise<{ events: Buffer[]; hasBoundary: boolean }> {
  const envelope = createEnvelope()
  let events: Buffer[] = []
  let hasBoundary = false
  const framer = new RecordFramer(path, (bytes, start, end) => {
    readEnvelope(bytes, start, end, envelope)
    const { kind } = envelope
    if (kind === EVENT_KIND.beginBlock || kind === EVENT_KIND.endBlock) {
      hasBoundary = true
      events = []
    }
    if (kind !== EVENT_KIND.endBlock) events.push(Buffer.from(bytes.subarray(start, end)))
  })
  try {
    for await (const chunk of createReadStream(path)) framer.push(chunk as Buffer)
  } catch (error) {
    if (!isDamage(error)) throw error
    return { events: [], hasBoundary: true }
  }
  return { events, hasBoundary }
}

function isBegin(event: Buffer | undefined): boolean {
  if (event === undefined) return false
  const envelope = createEnvelope()
  readEnvelope(event, 0, event.length, envelope)
  return envelope.kind === EVENT_KIND.beginBlock
}

/** Whether a record with an end of block stands anywhere in bytes, of a later sequence number. */
function hasEndOfBlock(bytes: Buffer, after: bigint): boolean {
  const envelope = createEnvelope()
  for (let at = 0; at + RECORD_HEADER_BYTES < bytes.length; at++) {
    const size = bytes.readUInt32BE(at)
    const end = at + 4 + size
    if (size < 8 || size > MAX_RECORD_SIZE || end > bytes.length) continue
    const sequence = bytes.readBigUInt64BE(at + 4)
    // No two events of a file are as far apart as its bytes.
    if (sequence <= after || sequence - after > bytes.length) continue
    try {
      readEnvelope(bytes, at + RECORD_HEADER_BYTES, end, envelope)
    } catch (error) {
      if (error instanceof MalformedMessageError) continue
      throw error
    }
    if (envelope.kind === EVENT_KIND.endBlock) return true
  }
  return false
}

import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { GapError } from '#core/blocks/block'
import { holdAll } from '#core/domain/coverage'
import { decodeBeginBlock } from '#core/events/block-events'
import { createEnvelope, EVENT_KIND, readEnvelope } from '#core/events/bus-event'
import { RecordFramer } from '#core/records/record-framer'
import { isDamage } from '#core/records/record-position'
import { readAcceptedGaps, readStoreHead } from '#core/store/queries/coverage'
import type { Query } from '#core/store/queries-protocol'
import { readStore } from '#core/store/read-store'
import type { Store } from '#core/store/store'
import type { BufferedEvents } from './buffered-events.ts'
import type { BufferPosition } from './event-buffer.ts'

/** How often the store is asked whether it holds the missing blocks. */
const LOOK_INTERVAL_MS = 1_000

/**
 * Waits until a gap found in a file of the buffer is closed: by an operator who has ingested a part of the missing
 * blocks, or accepted them (null), or by the core, which has sent them again (their position in the buffer). Null, too,
 * once the signal is aborted.
 */
export async function untilGapClosed(
  gap: GapError,
  file: number,
  buffer: BufferedEvents,
  store: Store,
  signal: AbortSignal,
): Promise<BufferPosition | null> {
  const stop = new AbortController()
  const either = AbortSignal.any([signal, stop.signal])
  try {
    return await Promise.race([
      untilAnswered(store, gap, either),
      findBlock(buffer, { file, offset: gap.position.offset }, gap.from, either),
    ])
  } finally {
    stop.abort()
  }
}

/** Waits until the store has the first missing block, which leaves a smaller gap or none, or may do without them. */
async function untilAnswered(store: Store, { from, to }: GapError, signal: AbortSignal): Promise<null> {
  function* isAnswered(): Query<boolean> {
    const position = yield* readStoreHead()
    if (position !== null && BigInt(position.height) >= from) return true
    return holdAll(yield* readAcceptedGaps(), { from, to })
  }
  while (!signal.aborted) {
    await sleep(LOOK_INTERVAL_MS, undefined, { signal }).catch(() => {})
    if (await readStore(store, isAnswered).catch(() => false)) break
  }
  return null
}

/**
 * Searches the buffer and new events for the beginning of a block after a position: a core that restarts sends blocks
 * again. Null if the signal is aborted first.
 */
async function findBlock(
  buffer: BufferedEvents,
  after: BufferPosition,
  height: bigint,
  signal: AbortSignal,
): Promise<BufferPosition | null> {
  const envelope = createEnvelope()
  let found: BufferPosition | null = null
  let position: BufferPosition = { file: after.file, offset: 0 }
  let framer: RecordFramer | null = null
  while (found === null) {
    const piece = await buffer.read(position, signal)
    if (piece === null) return null
    const { file } = piece
    framer ??= new RecordFramer(piece.path, (bytes, start, end, { offset }) => {
      if (found !== null || (file === after.file && offset <= after.offset)) return
      readEnvelope(bytes, start, end, envelope)
      if (envelope.kind !== EVENT_KIND.beginBlock || decodeBeginBlock(envelope).height !== height) return
      found = { file, offset }
    })
    try {
      framer.push(piece.bytes)
    } catch (error) {
      if (!isDamage(error)) throw error
      // The search stops at a damaged record, which is reported once the gap is closed in another way.
      if (found === null) await once(signal, 'abort')
      return found
    }
    position = piece.next
    if (piece.lastOfFile) framer = null
  }
  return found
}

import { createReadStream } from 'node:fs'
import { RecordFramer } from '../../records/record-framer.ts'
import { EventStreamError } from '../../records/record-position.ts'
import { readStore } from '../../store/read-store.ts'
import { readCoverage } from '../../store/readings/coverage.ts'
import { type Store, StoreAwayError, StoreOutdatedError } from '../../store/store.ts'
import { bufferPaths } from './event-buffer.ts'
import { IncomingCheck, type PinnedChain, RefusedMessageError } from './incoming-check.ts'

/**
 * The required chain of events: that of `--chain`, of the store, or of the first complete block in the buffer; null if
 * unknown.
 */
export async function findPinnedChain(
  store: Store,
  chain: string | null,
  folder: string,
): Promise<PinnedChain | null> {
  if (chain !== null) return { id: chain, pinnedBy: '--chain is' }
  const coverage = await readStore(store, readCoverage).catch((error: unknown) => {
    // A store that is to be made or upgraded says its chain once that is done.
    if (error instanceof StoreAwayError || error instanceof StoreOutdatedError) return null
    throw error
  })
  if (coverage !== null) return { id: coverage.chainId, pinnedBy: 'the store contains chain' }
  const check = new IncomingCheck(null)
  for (const path of bufferPaths(folder)) {
    const framer = new RecordFramer(path, (bytes, start, end) => check.check(bytes.subarray(start, end)))
    try {
      for await (const chunk of createReadStream(path)) {
        framer.push(chunk as Buffer)
        if (check.pinned !== null) return { id: check.pinned.id, pinnedBy: 'the buffer contains chain' }
      }
    } catch (error) {
      // Faults of the buffer are reported when it is read for the store.
      if (!(error instanceof EventStreamError || error instanceof RefusedMessageError)) throw error
    }
  }
  return null
}

import { createReadStream } from 'node:fs'
import { type PinnedChain, RefusedEventError } from '#core/log/event-check'
import { RecordFramer } from '#core/records/record-framer'
import { EventStreamError } from '#core/records/record-position'
import { StoreError } from '#core/store/errors'
import { readCoverage } from '#core/store/queries/coverage'
import { readStore } from '#core/store/read-store'
import type { Store } from '#core/store/store'
import { bufferPaths } from './event-buffer.ts'
import { createIncomingCheck } from './incoming-check.ts'

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
    // A store that must be created or upgraded first gives its chain afterwards; with any other fault the service ends.
    if (error instanceof StoreError) return null
    throw error
  })
  if (coverage !== null) return { id: coverage.chainId, pinnedBy: 'the store contains chain' }
  const check = createIncomingCheck(null)
  for (const path of bufferPaths(folder)) {
    const framer = new RecordFramer(path, (bytes, start, end) => check.check(bytes.subarray(start, end)))
    try {
      for await (const chunk of createReadStream(path)) {
        framer.push(chunk as Buffer)
        if (check.pinned !== null) return { id: check.pinned.id, pinnedBy: 'the buffer contains chain' }
      }
    } catch (error) {
      // Faults of the buffer are reported when it is read for the store.
      if (!(error instanceof EventStreamError || error instanceof RefusedEventError)) throw error
    }
  }
  return null
}

import { singleFlight } from '../concurrency/single-flight.ts'
import { asUnavailable } from './errors.ts'
import type { Reader, ReaderOptions, Store } from './store.ts'

/**
 * A reader of a store that cannot be opened yet. Every read tries to open it, one at a time. Until an attempt succeeds, all
 * reads reject with `StoreUnavailableError` (errors.ts).
 */
export function openWaitingReader(store: Store, options: ReaderOptions): Reader {
  let opened: Reader | null = null
  let isClosed = false

  const attempts = singleFlight(async (): Promise<Reader> => {
    if (opened !== null) return opened
    const reader = await store.openReader(options)
    opened = reader
    if (isClosed) await reader.close()
    else options.onNotice?.(`${store.name}: can be read now`)
    return reader
  })

  /** An attempt in progress may have begun before the store was upgraded. */
  async function current(): Promise<Reader> {
    try {
      return opened ?? (await attempts.fresh())
    } catch (error) {
      throw asUnavailable(error)
    }
  }

  return {
    page: async (query) => (await current()).page(query),
    read: async (query) => (await current()).read(query),
    freshness: async (since) => (await current()).freshness(since),
    unchangedFreshness: (since) => opened?.unchangedFreshness?.(since) ?? null,
    openSnapshot: async () => (await current()).openSnapshot(),
    ...(store.wal === null ? {} : { wal: { ...store.wal, shorten: () => {} } }),
    clusterFaults: async () => opened?.clusterFaults?.() ?? null,
    checkSchema: async () => (await current()).checkSchema(),
    deniedTable: async () => (await (await current()).deniedTable?.()) ?? null,
    close: async () => {
      isClosed = true
      await opened?.close()
    },
  }
}

import type { Reader, ReaderOptions, Store } from './store.ts'
import { asUnavailable } from './store.ts'

/** How often it is tried to open the store at most, in milliseconds. */
const RETRY_MS = 100

/**
 * A reader of a store that cannot be opened yet: every read tries to. Until one succeeds, all reject with
 * {@link StoreUnavailableError}.
 */
export function openWaitingReader(store: Store, options: ReaderOptions): Reader {
  let opened: Reader | null = null
  let opening: Promise<Reader> | null = null
  let isClosed = false

  async function open(): Promise<Reader> {
    const reader = await store.openReader(options)
    opened = reader
    if (isClosed) await reader.close()
    else options.onNotice?.(`${store.name}: can be read now`)
    return reader
  }

  async function current(): Promise<Reader> {
    if (opened !== null) return opened
    if (opening === null) {
      opening = open()
      opening.catch(() => {
        setTimeout(() => {
          opening = null
        }, RETRY_MS).unref()
      })
    }
    try {
      return await opening
    } catch (error) {
      throw asUnavailable(error)
    }
  }

  return {
    page: async (query) => (await current()).page(query),
    read: async (reading) => (await current()).read(reading),
    freshness: async (since) => (await current()).freshness(since),
    recentFreshness: (since) => opened?.recentFreshness?.(since) ?? null,
    openSnapshot: async () => (await current()).openSnapshot(),
    ...(store.log === null ? {} : { log: { ...store.log, shorten: () => {} } }),
    clusterFaults: async () => opened?.clusterFaults?.() ?? null,
    checkSchema: async () => (await current()).checkSchema(),
    close: async () => {
      isClosed = true
      await opened?.close()
    },
  }
}

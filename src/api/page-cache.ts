import { LRUCache } from 'lru-cache'
import type { ResourceName } from '../resources/resource.ts'
import type { Change, StoreVersion } from '../store/changes.ts'
import type { Freshness, Position, Reader } from '../store/store.ts'

/** Pages kept at most: each is looked at after a commit. */
const MAX_PAGES = 10_000

/** What an entry takes beside its bytes. */
const ENTRY_BYTES = 1_000

/** Rows that a page shows or depends on. */
export type Extent = {
  resource: ResourceName
  /** The market that the rows are of; null for those of any. */
  scope: string | null
  /** Values of the first key column, inclusive; null on a side for no end. */
  first: bigint | null
  last: bigint | null
}

/** An answer as it was sent, without what differs from request to request. */
export type KeptPage = {
  route: string
  body: Buffer
  tag: string
  isGzipped: boolean
  extent: Extent
  /** The commit that it shows. */
  version: StoreVersion
}

/** Pages ready to be sent again. */
export type PageCache = {
  /** Whether there is a page, which may be out of date. */
  has(key: string): boolean
  /** The page, where it is what the store would answer at `at`; null where it is not. */
  check(key: string): Promise<{ page: KeptPage; at: Position } | null>
  /** Keeps a page, where it is still what the store would answer. */
  put(key: string, page: KeptPage): Promise<void>
  readonly bytes: number
}

/**
 * Keeps the pages asked for last, up to so many bytes, until a commit changes rows that they depend on.
 *
 * Null where the reader cannot tell what has changed.
 */
export function createPageCache(reader: Reader, maxBytes: number): PageCache | null {
  if (reader.freshness === undefined || maxBytes === 0) return null
  const pages = new LRUCache<string, KeptPage>({
    max: MAX_PAGES,
    maxSize: maxBytes,
    // A key is held as text, two bytes a character at most.
    sizeCalculation: ({ body }, key) => body.length + 2 * key.length + ENTRY_BYTES,
  })
  let state: Freshness | null = null

  function forget(changed: readonly Change[] | null): void {
    if (changed === null) {
      pages.clear()
    } else if (changed.length > 0) {
      const touches = touchedBy(changed)
      for (const [key, page] of pages.entries()) if (touches(page.extent)) pages.delete(key)
    }
  }

  async function look(): Promise<Freshness> {
    const found = await reader.freshness!(state?.version ?? null)
    forget(found.changed)
    state = found
    return found
  }
  const lookAgain = shared(look)

  return {
    has: (key) => pages.has(key),

    check: async (key) => {
      const { position, version } = await lookAgain()
      const page = pages.get(key)
      // A page may have been read from a later commit than the look has seen.
      if (page === undefined || position === null || page.version.version > version.version) return null
      return { page, at: position }
    },

    put: async (key, page) => {
      // What has changed between its commit and another look is not known.
      if (page.version.mark !== state?.version.mark) await lookAgain().catch(() => {})
      if (page.version.mark !== state?.version.mark) return
      pages.set(key, page)
    },

    get bytes() {
      return pages.calculatedSize
    },
  }
}

/** Tells which extents some changes touch. */
function touchedBy(changed: readonly Change[]): (extent: Extent) => boolean {
  const byScope = Map.groupBy(changed, ({ resource, scope }) => `${resource} ${scope}`)
  const byResource = Map.groupBy(changed, ({ resource }) => resource)
  return (extent) => {
    const { resource, scope } = extent
    const changes = scope === null ? byResource.get(resource) : byScope.get(`${resource} ${scope}`)
    return changes?.some((change) => isWithin(change, extent)) ?? false
  }
}

function isWithin({ range }: Change, { first, last }: Extent): boolean {
  return range === null || ((first === null || range.last >= first) && (last === null || range.first <= last))
}

/**
 * Runs `work` one at a time: who asks while it runs shares the next run, since what that one finds is no older
 * than the question.
 */
function shared<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null
  let next: Promise<T> | null = null

  function run(): Promise<T> {
    running = work().finally(() => {
      running = null
    })
    return running
  }

  return () => {
    if (running === null) return run()
    next ??= running
      .catch(() => {})
      .then(() => {
        next = null
        return run()
      })
    return next
  }
}

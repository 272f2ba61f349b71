import type { IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Change, StoreVersion } from '../../store/changes.ts'
import type { Freshness, PageQuery, Position } from '../../store/page.ts'
import type { Reader } from '../../store/store.ts'
import { acceptsGzip } from '../http/send-json.ts'

/** Pages kept at most: each is looked at after a commit. */
const MAX_PAGES = 10_000

/** What an entry takes beside its bytes. */
const ENTRY_BYTES = 1_000

/** The key that an answer to a request is kept under. */
export function pageKey(request: IncomingMessage): string {
  return `${acceptsGzip(request) ? 'gzip' : 'plain'} ${request.url}`
}

/** The list that a page is of: a resource's rows, of one market where they are kept by market. */
export type PageScope = Pick<Change, 'resource' | 'scope'>

/** The list that the page of a query is of. */
export function scopeOfPage({ resource, selection }: Pick<PageQuery, 'resource' | 'selection'>): PageScope {
  return { resource: resource.name, scope: selection.marketId ?? null }
}

/** Characters of requests remembered, to distinguish who reads a whole list from who asks for the same again. */
const MAX_ASKED = 1_000_000

/** A body up to this size is kept as text of one byte a character: Node sends it in one piece with its head. */
const MAX_TEXT_BYTES = 4 * 1024

/** An answer as it was sent, without what differs from request to request. */
export type KeptPage = {
  route: string
  /** Bytes, or a character for each byte (`latin1`). */
  body: Buffer | string
  tag: string
  isGzipped: boolean
  scope: PageScope
  /** The commit that it shows. */
  version: StoreVersion
}

/** A page, and the block at which the store would answer it. */
export type CheckedPage = { page: KeptPage; at: Position }

/** Pages ready to be sent again. */
export type PageCache = {
  /** Whether there is a page, which may be out of date. */
  has(key: string): boolean
  /** The page, where it is what the store would answer; null where it is not. */
  check(key: string): Promise<CheckedPage | null>
  /** As {@link PageCache.check}, where the store has just been looked at; null where it is to be asked. */
  checkAtOnce(key: string): CheckedPage | null
  /** Keeps a page, where it is still what the store would answer; a large one when it is made again. */
  put(key: string, page: KeptPage): Promise<void>
}

/**
 * Keeps the pages asked for last, up to so many bytes, until a commit changes rows that they depend on; null for no
 * bytes.
 */
export function createPageCache(reader: Reader, maxBytes: number): PageCache | null {
  if (maxBytes === 0) return null
  const pages = new LRUCache<string, KeptPage>({
    max: MAX_PAGES,
    maxSize: maxBytes,
    // A key is held as text, two bytes a character at most.
    sizeCalculation: ({ body }, key) => body.length + 2 * key.length + ENTRY_BYTES,
  })
  const asked = new LRUCache<string, true>({ maxSize: MAX_ASKED, sizeCalculation: (_, key) => key.length })
  let state: Freshness | null = null

  /**
   * Whether a page is worth its memory. One that reads a list through would push out what others ask for, and have
   * the garbage collector work on pages that are never asked for again.
   */
  function isWorthKeeping(key: string, body: Buffer | string): boolean {
    if (body.length <= MAX_TEXT_BYTES || asked.has(key)) return true
    asked.set(key, true)
    return false
  }

  function forget(changed: readonly Change[] | null): void {
    if (changed === null) {
      pages.clear()
    } else if (changed.length > 0) {
      const touches = touchedBy(changed)
      for (const [key, page] of pages.entries()) if (touches(page.scope)) pages.delete(key)
    }
  }

  async function look(): Promise<Freshness> {
    const found = await reader.freshness(state?.version ?? null)
    forget(found.changed)
    state = found
    return found
  }
  const lookAgain = shared(look)

  function find(key: string, { position, version }: Freshness): CheckedPage | null {
    const page = pages.get(key)
    // A page may have been read from a later commit than the look has seen.
    if (page === undefined || position === null || page.version.version > version.version) return null
    return { page, at: position }
  }

  return {
    has: (key) => pages.has(key),

    check: async (key) => find(key, await lookAgain()),

    checkAtOnce: (key) => {
      const recent = state === null ? null : reader.recentFreshness?.(state.version)
      return recent ? find(key, recent) : null
    },

    put: async (key, page) => {
      if (!isWorthKeeping(key, page.body)) return
      // Before anything is waited for: the memory may be used for another page then.
      const kept = { ...page, body: copyOf(page.body) }
      // What has changed between its commit and another look is not known.
      if (page.version.mark !== state?.version.mark) await lookAgain().catch(() => {})
      if (page.version.mark !== state?.version.mark) return
      pages.set(key, kept)
    },
  }
}

/** The page of a key, where there is one that is what the store would answer. */
export async function keptPage(cache: PageCache | null, key: string): Promise<CheckedPage | null> {
  if (cache === null || !cache.has(key)) return null
  return cache.checkAtOnce(key) ?? cache.check(key)
}

function copyOf(body: Buffer | string): Buffer | string {
  return body.length > MAX_TEXT_BYTES ? Buffer.from(body as Buffer) : body.toString('latin1')
}

/** Returns which lists some changes touch. */
function touchedBy(changed: readonly Change[]): (scope: PageScope) => boolean {
  const scopes = new Map<string, Set<string | null>>()
  for (const { resource, scope } of changed) {
    const known = scopes.get(resource)
    if (known === undefined) scopes.set(resource, new Set([scope]))
    else known.add(scope)
  }
  return ({ resource, scope }) => {
    const touched = scopes.get(resource)
    return touched !== undefined && (scope === null || touched.has(scope) || touched.has(null))
  }
}

/**
 * Runs `work` one at a time: who asks while it runs shares the next run, since what that one finds is not older
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

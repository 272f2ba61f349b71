import { LRUCache } from 'lru-cache'
import { singleFlight } from '#core/concurrency/single-flight'
import type { Change, StoreVersion } from '#core/store/changes'
import type { Freshness, StoreHead } from '#core/store/pages/page'
import type { Reader } from '#core/store/store'
import type { AnswerSource } from '../questions/question.ts'

/** Answers cached at most: each is looked at after a commit. */
const MAX_ANSWERS = 10_000

/** Memory of an entry besides its bytes. */
const ENTRY_BYTES = 1_000

/** Characters of remembered requests, which distinguish reading a whole list from repeating a request. */
const MAX_ASKED = 1_000_000

/** A body up to this size is cached as text of one byte a character: Node sends it in one piece with its head. */
const MAX_TEXT_BYTES = 4 * 1024

/** An answer as sent, without the parts that differ between requests. */
export type CachedAnswer = {
  /** Bytes, or a character for each byte (`latin1`). */
  body: Buffer | string
  tag: string
  isGzipped: boolean
  /** As in `RenderedBody`. */
  file?: string | undefined
  source: AnswerSource
  /** The commit that it shows. */
  version: StoreVersion
}

/** An answer, and the block at which the store would give it. */
export type FoundAnswer = { answer: CachedAnswer; at: StoreHead }

/** Answers ready to be sent again. */
export type AnswerCache = {
  /** Whether there is an answer, which may be out of date. */
  has(key: string): boolean
  /** The answer, if it is the one that the store would give; null if it is not. */
  find(key: string): Promise<FoundAnswer | null>
  /** As {@link AnswerCache.find}, if the store was checked just now; null if it must be checked. */
  findAtOnce(key: string): FoundAnswer | null
  /** Caches an answer, if it is still current; a large one only when it is rendered again. */
  put(key: string, answer: CachedAnswer): Promise<void>
}

/**
 * Caches the answers that were requested last, up to a number of bytes, until a commit changes rows that they depend on; null for no
 * bytes.
 */
export function createAnswerCache(reader: Reader, maxBytes: number): AnswerCache | null {
  if (maxBytes === 0) return null
  const answers = new LRUCache<string, CachedAnswer>({
    max: MAX_ANSWERS,
    maxSize: maxBytes,
    // A key is held as text, two bytes a character at most.
    sizeCalculation: ({ body }, key) => body.length + 2 * key.length + ENTRY_BYTES,
  })
  const asked = new LRUCache<string, true>({ maxSize: MAX_ASKED, sizeCalculation: (_, key) => key.length })
  let state: Freshness | null = null

  /**
   * Whether an answer is worth its memory. A client that reads a whole list would evict other answers, and burden
   * the garbage collector with answers that are never requested again.
   */
  function isWorthKeeping(key: string, body: Buffer | string): boolean {
    if (body.length <= MAX_TEXT_BYTES || asked.has(key)) return true
    asked.set(key, true)
    return false
  }

  function forget({ changed, version }: Freshness): void {
    if (changed === null) answers.clear()
    else if (version.version !== state?.version.version) {
      const touches = touchedBy(changed)
      for (const [key, { source }] of answers.entries()) if (touches(source)) answers.delete(key)
    }
  }

  async function refresh(): Promise<Freshness> {
    const found = await reader.freshness(state?.version ?? null)
    forget(found)
    state = found
    return found
  }
  const refreshes = singleFlight(refresh)

  function findIn(key: string, { storeHead, version }: Freshness): FoundAnswer | null {
    const answer = answers.get(key)
    // It may have been read from a later commit than the last refresh has seen.
    if (answer === undefined || storeHead === null || answer.version.version > version.version) return null
    return { answer, at: storeHead }
  }

  return {
    has: (key) => answers.has(key),

    find: async (key) => findIn(key, await refreshes.fresh()),

    findAtOnce: (key) => {
      const recent = state === null ? null : reader.recentFreshness?.(state.version)
      return recent ? findIn(key, recent) : null
    },

    put: async (key, answer) => {
      if (!isWorthKeeping(key, answer.body)) return
      // Before any wait, after which the memory may be used for another answer.
      const cached = { ...answer, body: copyOf(answer.body) }
      // The changes between its commit and another refresh are unknown.
      if (answer.version.mark !== state?.version.mark) await refreshes.fresh().catch(() => {})
      if (answer.version.mark !== state?.version.mark) return
      answers.set(key, cached)
    },
  }
}

function copyOf(body: Buffer | string): Buffer | string {
  return body.length > MAX_TEXT_BYTES ? Buffer.from(body as Buffer) : body.toString('latin1')
}

/** Returns a test for answers that a commit with these changes makes stale. */
function touchedBy(changed: readonly Change[]): (source: AnswerSource) => boolean {
  const scopes = new Map<string, Set<string | null>>()
  for (const { resource, scope } of changed) {
    const known = scopes.get(resource)
    if (known === undefined) scopes.set(resource, new Set([scope]))
    else known.add(scope)
  }
  return (source) => {
    if (source === 'the next commit') return true
    const touched = scopes.get(source.resource)
    return touched !== undefined && (source.scope === null || touched.has(source.scope) || touched.has(null))
  }
}

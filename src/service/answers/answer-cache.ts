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

/** Characters of the keys of requests that are remembered, to distinguish reading a whole list from repeating a request. */
const MAX_REQUESTED = 1_000_000

/** A body up to this size is cached as text of one byte a character: Node sends it in one piece with its head. */
const MAX_TEXT_BYTES = 4 * 1024

/** An answer as sent, without the parts that differ between requests. */
export type CachedAnswer = {
  /** Bytes, or a character for each byte (`latin1`). */
  body: Buffer | string
  tag: string
  /** Its own headers, entity tag included. */
  headers: Readonly<Record<string, string>>
  source: AnswerSource
  /** The commit that it shows. */
  version: StoreVersion
}

/** A cached answer that the store would also give now, and its head now. */
export type CurrentAnswer = { answer: CachedAnswer; storeHead: StoreHead }

/**
 * The answers that were requested last, up to a number of bytes, ready to be sent again until a commit changes rows that they
 * depend on.
 */
export class AnswerCache {
  readonly #reader: Reader
  readonly #answers: LRUCache<string, CachedAnswer>
  /** Large answers that were requested but are not cached, by key: they are when they are requested again. */
  readonly #requestedOnce = new LRUCache<string, true>({
    maxSize: MAX_REQUESTED,
    sizeCalculation: (_, key) => key.length,
  })
  /** The state of the store up to which stale answers have been dropped; null before the first check. */
  #state: Freshness | null = null
  readonly #refreshes = singleFlight(() => this.#refresh())

  /** @param maxBytes of answers and their keys; more than 0 */
  constructor(reader: Reader, maxBytes: number) {
    this.#reader = reader
    this.#answers = new LRUCache({
      max: MAX_ANSWERS,
      maxSize: maxBytes,
      // A key is held as text, two bytes a character at most.
      sizeCalculation: ({ body }, key) => body.length + 2 * key.length + ENTRY_BYTES,
    })
  }

  /** Whether there is an answer, which may be out of date. */
  has(key: string): boolean {
    return this.#answers.has(key)
  }

  /** The answer, if it is the one that the store would give; null if it is not. */
  async find(key: string): Promise<CurrentAnswer | null> {
    return this.#findIn(key, await this.#refreshes.fresh())
  }

  /** As {@link AnswerCache.find}, if it is known at once that nothing has changed; null if the changes must be read. */
  findAtOnce(key: string): CurrentAnswer | null {
    if (this.#state === null || !this.has(key)) return null
    const unchanged = this.#reader.unchangedFreshness?.(this.#state.version) ?? null
    return unchanged === null ? null : this.#findIn(key, unchanged)
  }

  /** Caches an answer, if it is still current; a large one only when it is rendered again. */
  async put(key: string, answer: CachedAnswer): Promise<void> {
    if (!this.#isWorthKeeping(key, answer.body)) return
    // Before any wait, after which the memory may be used for another answer.
    const cached = { ...answer, body: copyOf(answer.body) }
    // The changes between its commit and another refresh are unknown.
    if (answer.version.mark !== this.#state?.version.mark) await this.#refreshes.fresh().catch(() => {})
    if (answer.version.mark !== this.#state?.version.mark) return
    this.#answers.set(key, cached)
  }

  #findIn(key: string, { storeHead, version }: Freshness): CurrentAnswer | null {
    const answer = this.#answers.get(key)
    // It may have been read from a later commit than the last refresh has seen.
    if (answer === undefined || storeHead === null || answer.version.version > version.version) return null
    return { answer, storeHead }
  }

  /**
   * Whether an answer is worth its memory. A client that reads a whole list would evict other answers, and burden
   * the garbage collector with answers that are never requested again.
   */
  #isWorthKeeping(key: string, body: Buffer | string): boolean {
    if (body.length <= MAX_TEXT_BYTES || this.#requestedOnce.has(key)) return true
    this.#requestedOnce.set(key, true)
    return false
  }

  /** Reads what has changed since the last refresh, and drops the answers that this makes stale. */
  async #refresh(): Promise<Freshness> {
    const freshness = await this.#reader.freshness(this.#state?.version ?? null)
    this.#dropStale(freshness)
    this.#state = freshness
    return freshness
  }

  #dropStale({ changed, version }: Freshness): void {
    if (changed === null) this.#answers.clear()
    else if (version.version !== this.#state?.version.version) {
      const makesStale = staleAfter(changed)
      for (const [key, { source }] of this.#answers.entries()) {
        if (makesStale(source)) this.#answers.delete(key)
      }
    }
  }
}

function copyOf(body: Buffer | string): Buffer | string {
  return body.length > MAX_TEXT_BYTES ? Buffer.from(body as Buffer) : body.toString('latin1')
}

/** Creates a test for the sources of answers that commits with these changes make stale. */
function staleAfter(changed: readonly Change[]): (source: AnswerSource) => boolean {
  const scopes = new Map<string, Set<string | null>>()
  for (const { resource, scope } of changed) {
    const ofResource = scopes.get(resource)
    if (ofResource === undefined) scopes.set(resource, new Set([scope]))
    else ofResource.add(scope)
  }
  return (source) => {
    if (source === 'the next commit') return true
    const changedScopes = scopes.get(source.resource)
    if (changedScopes === undefined) return false
    return source.scope === null || changedScopes.has(source.scope) || changedScopes.has(null)
  }
}

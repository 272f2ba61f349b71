import { setTimeout as sleep } from 'node:timers/promises'
import { singleFlight } from '#core/concurrency/single-flight'
import type { Coverage } from '#core/domain/coverage'
import { BEGINNING, isBefore } from '#core/domain/event-position'
import { advance, storedPartsOf, type Unseen, unseenAfter, unseenAfterAll } from '#core/domain/unseen'
import type { Resource, Selection } from '#core/model/resource'
import type { Pass } from '#core/store/queries/unseen/points-pass'
import type { UnseenQuery } from '#core/store/queries/unseen/unseen-rows'
import {
  allDrained,
  COMMENT,
  type Follower,
  LAG_WAIT_MS,
  positionText,
  SILENCE_MS,
  type Start,
  sendToAll,
} from './follower.ts'
import type { Feed } from './hub.ts'
import { type Chunk, type ReadChunk, resumePosition, STREAM_CHUNK_ROWS } from './long-reads/chunk.ts'
import type { ReadClass } from './long-reads/read-queue.ts'
import { encodeStreamCursor } from './stream-cursor.ts'

/** The feed's progress: the ranges not sent yet, and the coverage at its last reading. */
type FeedProgress = { unseen: Unseen; coverage: Coverage }

/** The progress of a follower that catches up: the ranges not sent to it yet, and the coverage and pass of its reading. */
type CatchUp = { unseen: Unseen; asOf: Coverage; pass: Pass | null }

/** What to do for a follower that catches up. `after` is its progress then. */
type CatchUpStep =
  | { type: 'send'; chunk: Chunk; after: CatchUp }
  /** The store has less than the feed has read of it: a replica lags behind. */
  | { type: 'wait for the store'; after: CatchUp }
  /** It has received everything that is stored. */
  | { type: 'compare with the feed'; after: CatchUp }

/** What a follower has not received that has received nothing. */
const EVERYTHING: Unseen = { first: 0n, gaps: [], tail: BEGINNING }

/**
 * The rows of one selection as they arrive, for any number of followers: read once, sent to all, in the order of the
 * events that they come from.
 */
export class RowFeed implements Feed {
  readonly #resource: Resource
  readonly #selection: Selection
  readonly #readChunk: ReadChunk
  /** Followers that have received everything sent by the feed. */
  readonly #upToDate = new Set<Follower>()
  /** Followers that have received more, from another service, than this store has: they wait for the feed to get there. */
  readonly #waiting = new Map<Follower, () => void>()
  /** One update at a time. One in progress may have begun before the last commit, so callers wait for the next. */
  readonly #updates = singleFlight(() => this.#updateAll())
  readonly #laterUpdates = singleFlight(() => sleep(LAG_WAIT_MS).then(this.#updates.fresh))
  /** Null until the store has been read once. */
  #progress: FeedProgress | null = null
  /** Rows of the next chunk. */
  #limit = STREAM_CHUNK_ROWS

  constructor(resource: Resource, selection: Selection, readChunk: ReadChunk) {
    this.#resource = resource
    this.#selection = selection
    this.#readChunk = readChunk
  }

  /** Reads new rows and sends them to every follower that is up to date. */
  async update(): Promise<bigint | null> {
    await this.#updates.fresh()
    return this.#progress?.coverage.height ?? null
  }

  /** Whether a gap may be filled that the feed waits for: that does not change the store head. */
  get awaitsGaps(): boolean {
    if (this.#progress === null) return false
    const { unseen, coverage } = this.#progress
    // Blocks below the first height do not move the store head either. A network's first block is block 1.
    return unseen.gaps.length > 0 || coverage.first > 1n
  }

  /**
   * Sends a follower the rows that it has not received, and from then on new ones. Resolves once it is up to date with
   * the feed. Rejects if the store cannot be read.
   */
  async join(follower: Follower, start: Start): Promise<void> {
    await this.#updates.fresh()
    while (this.#progress === null && !follower.isClosed) await this.#laterUpdates.current()
    if (follower.isClosed) return
    await this.#updates.settled()
    if (start !== 'now') {
      const { coverage } = this.#progress!
      await this.#catchUp(follower, 'unseen' in start ? start.unseen : unseenAfter(start.after, coverage))
    }
    if (follower.isClosed) return
    this.#upToDate.add(follower)
    follower.send(this.#positionBytes(this.#progress!), 1)
  }

  leave(follower: Follower): void {
    this.#upToDate.delete(follower)
    this.#waiting.get(follower)?.()
    this.#waiting.delete(follower)
  }

  keepAlive(silent: readonly Follower[]): void {
    const { true: upToDate = [], false: others = [] } = Object.groupBy(
      silent,
      (follower) => `${this.#upToDate.has(follower)}`,
    )
    if (upToDate.length > 0) sendToAll(upToDate, this.#positionBytes(this.#progress!))
    sendToAll(others, COMMENT)
  }

  #positionBytes({ unseen, coverage }: FeedProgress): Buffer {
    const { tail } = unseen
    const received = { ...unseen, tail: resumePosition(tail, tail, coverage) }
    return Buffer.from(positionText(encodeStreamCursor(this.#resource, this.#selection, received)))
  }

  /** Reads one chunk of unseen rows, in pieces of a bounded length; null if they are not available. */
  async #read(
    readClass: ReadClass,
    progress: Pick<UnseenQuery, 'unseen' | 'asOf' | 'pass'>,
  ): Promise<Chunk | null> {
    const [resource, selection] = [this.#resource, this.#selection]
    const chunk = await this.#readChunk({ ...progress, resource, selection, limit: this.#limit }, readClass)
    if (chunk !== null) this.#limit = chunk.limit
    return chunk
  }

  /** Reads the store's coverage: rows that it already has are not new for the feed. */
  async #readFirst(): Promise<void> {
    const [resource, selection] = [this.#resource, this.#selection]
    const query = { resource, selection, unseen: EVERYTHING, asOf: null, limit: 0, pass: null }
    const chunk = await this.#readChunk(query, 'live')
    if (chunk === null) return
    this.#advance({ unseen: unseenAfterAll(chunk.coverage), coverage: chunk.coverage })
  }

  async #updateAll(): Promise<void> {
    if (this.#progress === null) return this.#readFirst()
    let pass: Pass | null = null
    for (;;) {
      const before: FeedProgress = this.#progress
      // A pass goes on with its coverage.
      const asOf = pass === null ? null : before.coverage
      const chunk = await this.#read('live', { unseen: before.unseen, asOf, pass })
      // A replica may lag behind what another one has answered.
      if (chunk === null || chunk.coverage.height < before.coverage.height) return
      pass = chunk.pass
      const { unseen, coverage, bytes, isLast } = chunk
      if (bytes.length > 0) sendToAll(this.#upToDate, bytes)
      this.#advance({ unseen, coverage })
      if (isLast) return
      if (bytes.length > 0) await allDrained(this.#upToDate)
    }
  }

  #advance(next: FeedProgress): void {
    this.#progress = next
    for (const wake of this.#waiting.values()) wake()
    this.#waiting.clear()
  }

  /** Sends a follower its missing rows until it is up to date with the feed, or closed. */
  async #catchUp(follower: Follower, start: Unseen): Promise<void> {
    let progress: CatchUp = { unseen: start, asOf: this.#progress!.coverage, pass: null }
    let sentAt = performance.now()
    while (!follower.isClosed) {
      const step = await this.#nextStep(progress)
      progress = step.after
      switch (step.type) {
        case 'send': {
          const { bytes, isLast } = step.chunk
          const isQuiet = bytes.length === 0
          const now = performance.now()
          if (!isQuiet || now - sentAt > SILENCE_MS) {
            const { unseen, asOf } = progress
            follower.send(isQuiet ? this.#positionBytes({ unseen, coverage: asOf }) : bytes, 1)
            sentAt = now
          }
          if (!isLast) await follower.drained()
          break
        }
        case 'wait for the store':
          await this.#laterUpdates.current()
          break
        case 'compare with the feed': {
          const { coverage, unseen } = this.#progress!
          if (this.#updates.isRunning || coverage !== progress.asOf) break
          if (!isBefore(unseen.tail, progress.unseen.tail)) return
          // It has received more than the feed has read: from another service over the same stream.
          await new Promise<void>((resolve) => this.#waiting.set(follower, resolve))
          break
        }
        default:
          step satisfies never
      }
    }
  }

  async #nextStep(progress: CatchUp): Promise<CatchUpStep> {
    const { unseen, pass } = progress
    // A pass goes on with its coverage.
    if (pass === null) await this.#updates.settled()
    const asOf = pass === null ? this.#progress!.coverage : progress.asOf
    if (storedPartsOf(unseen, asOf).length === 0) {
      const after = { unseen: advance(unseen, asOf, null), asOf, pass }
      return { type: 'compare with the feed', after }
    }
    const chunk = await this.#read('catching up', { unseen, asOf, pass })
    if (chunk === null) return { type: 'wait for the store', after: { unseen, asOf, pass: null } }
    return { type: 'send', chunk, after: { unseen: chunk.unseen, asOf, pass: chunk.pass } }
  }
}

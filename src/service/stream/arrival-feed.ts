import { setTimeout as sleep } from 'node:timers/promises'
import type { Coverage } from '#core/domain/coverage'
import { advance, heldOf, type Lacks, lacksAfter, lacksAfterAll } from '#core/domain/lacks'
import { isBefore } from '#core/domain/place'
import { sharedRuns } from '#core/shared-runs'
import type { Pass } from '#core/store/readings/point-arrivals'
import type { ChunkReader } from './chunk-reader.ts'
import { allDrained, type Follower, idText, LAG_WAIT_MS, type Start, sendToAll } from './follower.ts'
import type { Feed } from './hub.ts'

/** How often a follower without a row for a while is sent its cursor, milliseconds. */
const CURSOR_INTERVAL_MS = 5_000

/** The feed's progress: the ranges not sent yet, and the coverage at its last reading. */
type FeedProgress = { lacks: Lacks; coverage: Coverage }

/**
 * The rows of one selection as they arrive, for any number of followers: read once, sent to all, in the order of the
 * events that they come from.
 */
export class ArrivalFeed implements Feed {
  readonly #chunks: ChunkReader
  /** Followers that have received everything sent by the feed. */
  readonly #followers = new Set<Follower>()
  #level: FeedProgress | null = null
  /** Looks at the store, one at a time: one that is under way may have begun before the last commit. */
  readonly #pulls = sharedRuns(() => this.#pullAll())
  readonly #laterPulls = sharedRuns(() => sleep(LAG_WAIT_MS).then(this.#pulls.fresh))
  /** Followers that are ahead of the store here wait for the feed to advance: one reading serves all. */
  readonly #waiting = new Map<Follower, () => void>()

  constructor(chunks: ChunkReader) {
    this.#chunks = chunks
  }

  /** Reads new rows and sends them to every follower that is up to date. */
  pull(): Promise<void> {
    return this.#pulls.fresh()
  }

  /**
   * Sends a follower the rows that it has not received, and from then on new ones. Resolves once it is up to date with
   * the feed.
   */
  async join(follower: Follower, start: Start): Promise<void> {
    await this.#pulls.fresh()
    while (this.#level === null && !follower.isClosed) await this.#laterPulls.current()
    if (follower.isClosed) return
    await this.#pulls.settled()
    if (start !== 'now') {
      const lacks = 'lacks' in start ? start.lacks : lacksAfter(start.after, this.#level!.coverage)
      await this.#catchUp(follower, lacks)
    }
    if (follower.isClosed) return
    this.#followers.add(follower)
    follower.send(this.#cursorBytes(this.#level!), 1)
  }

  leave(follower: Follower): void {
    this.#followers.delete(follower)
    this.#waiting.get(follower)?.()
    this.#waiting.delete(follower)
  }

  /** Whether a gap may be filled that the feed waits for: of that the position says nothing. */
  get awaitsGaps(): boolean {
    // Blocks below the first height do not move the position either. A network's first block is block 1.
    const level = this.#level
    return level !== null && (level.lacks.gaps.length > 0 || level.coverage.first > 1n)
  }

  keepAlive(): void {
    if (this.#level === null) return
    sendToAll(this.#followers, Buffer.concat([Buffer.from(': \n'), this.#cursorBytes(this.#level)]))
  }

  #cursorBytes({ lacks, coverage }: FeedProgress): Buffer {
    return Buffer.from(idText(this.#chunks.cursorOf(lacks, coverage)))
  }

  async #pullAll(): Promise<void> {
    if (this.#level === null) {
      const coverage = await this.#chunks.coverage()
      if (coverage !== null) this.#advance({ lacks: lacksAfterAll(coverage), coverage })
      return
    }
    let level: FeedProgress = this.#level
    let pass: Pass | null = null
    for (;;) {
      const chunk = await this.#chunks.read('live', level.lacks, pass === null ? null : level.coverage, pass)
      // A replica may lag behind what another one has answered.
      if (chunk === null || chunk.coverage.height < level.coverage.height) return
      pass = chunk.pass
      const { lacks, coverage, bytes, isLast } = chunk
      if (bytes.length > 0) sendToAll(this.#followers, bytes)
      level = { lacks, coverage }
      this.#advance(level)
      if (isLast) return
      if (bytes.length > 0) await allDrained(this.#followers)
    }
  }

  #advance(level: FeedProgress): void {
    this.#level = level
    for (const wake of this.#waiting.values()) wake()
    this.#waiting.clear()
  }

  /** Sends a follower its missing rows until it is up to date with the feed, or closed. */
  async #catchUp(follower: Follower, start: Lacks): Promise<void> {
    let lacks = start
    let pass: Pass | null = null
    let asOf: Coverage = this.#level!.coverage
    let sentAt = performance.now()
    while (!follower.isClosed) {
      if (pass === null) {
        await this.#pulls.settled()
        asOf = this.#level!.coverage
      }
      const isWhole = heldOf(lacks, asOf).length === 0
      if (!isWhole) {
        const chunk = await this.#chunks.read('catching up', lacks, asOf, pass)
        if (chunk === null) {
          pass = null
          await this.#laterPulls.current()
          continue
        }
        lacks = chunk.lacks
        pass = chunk.pass
        const now = performance.now()
        const isQuiet = chunk.bytes.length === 0
        if (!isQuiet) follower.send(chunk.bytes, 1)
        else if (now - sentAt > CURSOR_INTERVAL_MS)
          follower.send(this.#cursorBytes({ lacks, coverage: asOf }), 1)
        if (!isQuiet || now - sentAt > CURSOR_INTERVAL_MS) sentAt = now
        if (!chunk.isLast) {
          await follower.drained()
          continue
        }
      } else lacks = advance(lacks, asOf, null)
      const level = this.#level!
      if (this.#pulls.isRunning || level.coverage !== asOf) continue
      if (!isBefore(level.lacks.tail, lacks.tail)) return
      // It has had more than there is here: from another service over the same stream.
      await new Promise<void>((resolve) => this.#waiting.set(follower, resolve))
    }
  }
}

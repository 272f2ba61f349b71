import { setTimeout as sleep } from 'node:timers/promises'
import { singleFlight } from '#core/concurrency/single-flight'
import type { Coverage } from '#core/domain/coverage'
import { advance, heldOf, type Lacks, lacksAfter, lacksAfterAll } from '#core/domain/lacks'
import { BEGINNING, isBefore } from '#core/domain/place'
import type { Resource, Selection } from '#core/model/resource'
import type { Pass } from '#core/store/queries/point-arrivals'
import { type Chunk, outsideUnsettled, type ReadChunk, STREAM_CHUNK_ROWS } from './chunk.ts'
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
import type { ReadClass } from './read-queue.ts'
import { encodeStreamCursor } from './stream-cursor.ts'

/** The feed's progress: the ranges not sent yet, and the coverage at its last reading. */
type FeedProgress = { lacks: Lacks; coverage: Coverage }

/** Of a follower that has received nothing. */
const EVERYTHING: Lacks = { first: 0n, gaps: [], tail: BEGINNING }

/**
 * The rows of one selection as they arrive, for any number of followers: read once, sent to all, in the order of the
 * events that they come from.
 */
export function createArrivalFeed(resource: Resource, selection: Selection, readChunk: ReadChunk) {
  /** Followers that have received everything sent by the feed. */
  const followers = new Set<Follower>()
  let level: FeedProgress | null = null
  /** Looks at the store, one at a time: one that is under way may have begun before the last commit. */
  const pulls = singleFlight(pullAll)
  const laterPulls = singleFlight(() => sleep(LAG_WAIT_MS).then(pulls.fresh))
  /** Followers that are ahead of the store here wait for the feed to advance: one reading serves all. */
  const waiting = new Map<Follower, () => void>()
  let limit = STREAM_CHUNK_ROWS

  /**
   * Sends a follower the rows that it has not received, and from then on new ones. Resolves once it is up to date with
   * the feed.
   */
  async function join(follower: Follower, start: Start): Promise<void> {
    await pulls.fresh()
    while (level === null && !follower.isClosed) await laterPulls.current()
    if (follower.isClosed) return
    await pulls.settled()
    if (start !== 'now') {
      const lacks = 'lacks' in start ? start.lacks : lacksAfter(start.after, level!.coverage)
      await catchUp(follower, lacks)
    }
    if (follower.isClosed) return
    followers.add(follower)
    follower.send(positionBytes(level!), 1)
  }

  function leave(follower: Follower): void {
    followers.delete(follower)
    waiting.get(follower)?.()
    waiting.delete(follower)
  }

  function keepAlive(silent: readonly Follower[]): void {
    const { true: upToDate = [], false: waiting = [] } = Object.groupBy(
      silent,
      (follower) => `${followers.has(follower)}`,
    )
    if (upToDate.length > 0) sendToAll(upToDate, positionBytes(level!))
    sendToAll(waiting, COMMENT)
  }

  function positionBytes({ lacks, coverage }: FeedProgress): Buffer {
    const { tail } = lacks
    const received = { ...lacks, tail: outsideUnsettled(tail, tail, coverage) }
    return Buffer.from(positionText(encodeStreamCursor(resource, selection, received)))
  }

  /**
   * Reads one chunk of missing ranges, in pieces of a bounded length; null if they are not available.
   *
   * @param asOf the coverage to which the pass belongs, if one is continued
   */
  async function read(
    readClass: ReadClass,
    lacks: Lacks,
    asOf: Coverage | null,
    pass: Pass | null,
  ): Promise<Chunk | null> {
    const chunk = await readChunk({ resource, selection, lacks, asOf, limit, pass }, readClass)
    if (chunk !== null) limit = chunk.limit
    return chunk
  }

  async function pullAll(): Promise<void> {
    if (level === null) {
      const query = { resource, selection, lacks: EVERYTHING, asOf: null, limit: 0, pass: null }
      const chunk = await readChunk(query, 'live')
      if (chunk !== null) moveTo({ lacks: lacksAfterAll(chunk.coverage), coverage: chunk.coverage })
      return
    }
    let pass: Pass | null = null
    for (;;) {
      const { lacks: before, coverage: asOf }: FeedProgress = level
      const chunk = await read('live', before, pass === null ? null : asOf, pass)
      // A replica may lag behind what another one has answered.
      if (chunk === null || chunk.coverage.height < asOf.height) return
      pass = chunk.pass
      const { lacks, coverage, bytes, isLast } = chunk
      if (bytes.length > 0) sendToAll(followers, bytes)
      moveTo({ lacks, coverage })
      if (isLast) return
      if (bytes.length > 0) await allDrained(followers)
    }
  }

  function moveTo(next: FeedProgress): void {
    level = next
    for (const wake of waiting.values()) wake()
    waiting.clear()
  }

  /** Sends a follower its missing rows until it is up to date with the feed, or closed. */
  async function catchUp(follower: Follower, start: Lacks): Promise<void> {
    let lacks = start
    let pass: Pass | null = null
    let asOf: Coverage = level!.coverage
    let sentAt = performance.now()
    while (!follower.isClosed) {
      if (pass === null) {
        await pulls.settled()
        asOf = level!.coverage
      }
      if (heldOf(lacks, asOf).length === 0) lacks = advance(lacks, asOf, null)
      else {
        const chunk = await read('catching up', lacks, asOf, pass)
        if (chunk === null) {
          pass = null
          await laterPulls.current()
          continue
        }
        lacks = chunk.lacks
        pass = chunk.pass
        const now = performance.now()
        const isQuiet = chunk.bytes.length === 0
        if (!isQuiet || now - sentAt > SILENCE_MS) {
          follower.send(isQuiet ? positionBytes({ lacks, coverage: asOf }) : chunk.bytes, 1)
          sentAt = now
        }
        if (!chunk.isLast) {
          await follower.drained()
          continue
        }
      }
      const { coverage, lacks: ofFeed } = level!
      if (pulls.isRunning || coverage !== asOf) continue
      if (!isBefore(ofFeed.tail, lacks.tail)) return
      // It has had more than there is here: from another service over the same stream.
      await new Promise<void>((resolve) => waiting.set(follower, resolve))
    }
  }

  return {
    /** Reads new rows and sends them to every follower that is up to date. */
    pull: pulls.fresh,
    /** Whether a gap may be filled that the feed waits for: of that the position says nothing. */
    get awaitsGaps(): boolean {
      // Blocks below the first height do not move the position either. A network's first block is block 1.
      return level !== null && (level.lacks.gaps.length > 0 || level.coverage.first > 1n)
    },
    join,
    leave,
    keepAlive,
  } satisfies Feed
}

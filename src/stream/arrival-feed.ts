import { setTimeout as sleep } from 'node:timers/promises'
import { type Coverage, isWithin } from '../domain/coverage.ts'
import { advance, heldOf, type Lacks, lacksAfter, lacksAfterAll } from '../domain/lacks.ts'
import { BEGINNING, isBefore, type Place } from '../domain/place.ts'
import type { Resource, Selection } from '../resources/resource.ts'
import { sharedRuns } from '../shared-runs.ts'
import type { ArrivalQuery, Arrivals, Pass } from '../store/readings/arrivals.ts'
import {
  allDrained,
  eventText,
  type Feed,
  type Follower,
  idText,
  MAX_PIECE_BYTES,
  sendToAll,
} from './feed.ts'
import type { Lane } from './reading-turns.ts'
import { encodeStreamCursor } from './stream-cursor.ts'

/** Rows that are sent at a time, at most; fewer where they are long. */
const CHUNK_ROWS = 500

/** How often a follower without a row for a while is sent its cursor, milliseconds. */
const CURSOR_INTERVAL_MS = 5_000

/** How long a feed waits for a replica that lags, or for the first block of a store, milliseconds. */
const LAG_WAIT_MS = 500

export type FeedOptions = {
  resource: Resource
  selection: Selection
}

/** Reads rows by when they came, once it is their turn; null where the store does not hold as much. */
export type ReadArrivals = (query: ArrivalQuery, lane: Lane) => Promise<Arrivals | null>

/**
 * Whether a row stands with the one before: both come from one event, or from one imported block, within which the places
 * of rows are made up. No cursor points between such rows.
 */
const isTogether = (a: Place, b: Place, { imported }: Coverage) =>
  a.height === b.height && (a.index === b.index || isWithin(imported, a.height))

/** The place up to which all has been had with the last row of an event, or of an imported block. */
const endOf = ({ height, index }: Place, { imported }: Coverage): Place =>
  isWithin(imported, height) ? { height: height + 1n, index: 0 } : { height, index }

/** What the feed has sent: what it lacks still, and what was held when it last looked. */
type Level = { lacks: Lacks; coverage: Coverage }

/** The feed of a resource whose rows keep the events that they come from: each row in the order of these. */
export function createArrivalFeed({ resource, selection }: FeedOptions, read: ReadArrivals): Feed {
  const followers = new Set<Follower>()
  let level: Level | null = null
  /** Looks at the store, one at a time: one that is under way may have begun before the last commit. */
  const pulls = sharedRuns(pullAll)
  const laterPulls = sharedRuns(() => sleep(LAG_WAIT_MS).then(pulls.fresh))
  /** Rows of the present length that make a piece. */
  let limit = CHUNK_ROWS
  /** Those who have had more than the store here holds wait for the feed to advance: one look at the store for all. */
  const waiting = new Map<Follower, () => void>()

  const cursorOf = (lacks: Lacks) => encodeStreamCursor(resource, selection, lacks)

  /** Reads one chunk of what is lacked; null where it cannot be had. */
  async function readChunk(lane: Lane, lacks: Lacks, asOf: Coverage | null, pass: Pass | null) {
    const arrivals = await read({ resource, selection, lacks, asOf, limit, pass }, lane)
    if (arrivals === null) return null
    const { coverage, rows } = arrivals
    const pieces: string[] = []
    let bytes = 0
    let { reached } = arrivals
    for (const [index, { row, place }] of rows.entries()) {
      // One event may make several rows, the providers of a market's list say: only the last of them says that the
      // event has been had, and nothing is cut between them.
      const [before, next] = [rows[index - 1]?.place, rows[index + 1]?.place]
      const isLast = next === undefined || !isTogether(place, next, coverage)
      const upTo = isLast ? endOf(place, coverage) : { height: place.height, index: place.index - 1 }
      const text = eventText(
        resource,
        cursorOf(advance(lacks, coverage, upTo)),
        resource.node(row, selection),
      )
      bytes += Buffer.byteLength(text)
      if (bytes > MAX_PIECE_BYTES && before !== undefined && !isTogether(before, place, coverage)) {
        reached = endOf(before, coverage)
        limit = index
        break
      }
      pieces.push(text)
    }
    if (bytes < MAX_PIECE_BYTES / 2) limit = Math.min(CHUNK_ROWS, 2 * limit)
    return {
      bytes: Buffer.from(pieces.join('')),
      coverage,
      lacks: advance(lacks, coverage, reached),
      pass: arrivals.pass,
      isLast: reached === null,
    }
  }

  async function pullAll(): Promise<void> {
    if (level === null) {
      const lacks: Lacks = { first: 0n, gaps: [], tail: BEGINNING }
      const first = await read({ resource, selection, lacks, asOf: null, limit: 0, pass: null }, 'live')
      if (first === null) return
      comeOn({ lacks: lacksAfterAll(first.coverage), coverage: first.coverage })
      return
    }
    let pass: Pass | null = null
    for (;;) {
      const asOf: Coverage | null = pass === null ? null : level.coverage
      const chunk = await readChunk('live', level.lacks, asOf, pass)
      // A replica may lag behind what another one has answered.
      if (chunk === null || chunk.coverage.height < level.coverage.height) return
      pass = chunk.pass
      const { lacks, coverage, bytes, isLast } = chunk
      if (bytes.length > 0) sendToAll(followers, bytes)
      comeOn({ lacks, coverage })
      if (isLast) return
      if (bytes.length > 0) await allDrained(followers)
    }
  }

  function comeOn(to: Level): void {
    level = to
    for (const wake of waiting.values()) wake()
    waiting.clear()
  }

  /** Sends a follower what it lacks until it is level with the feed; null once it is closed. */
  async function catchUp(follower: Follower, start: Lacks): Promise<Lacks | null> {
    let lacks = start
    let pass: Pass | null = null
    let asOf: Coverage = level!.coverage
    let sentAt = performance.now()
    while (!follower.isClosed) {
      if (pass === null) {
        await pulls.settled()
        asOf = level!.coverage
      }
      const isWhole = heldOf(lacks, asOf).length === 0
      if (!isWhole) {
        const chunk = await readChunk('catching up', lacks, asOf, pass)
        if (chunk === null) {
          pass = null
          await laterPulls.current()
          continue
        }
        lacks = chunk.lacks
        pass = chunk.pass
        const now = performance.now()
        if (chunk.bytes.length > 0) follower.send(chunk.bytes, 1)
        else if (now - sentAt > CURSOR_INTERVAL_MS) follower.send(Buffer.from(idText(cursorOf(lacks))), 1)
        if (chunk.bytes.length > 0 || now - sentAt > CURSOR_INTERVAL_MS) sentAt = now
        if (!chunk.isLast) {
          await follower.drained()
          continue
        }
      } else lacks = advance(lacks, asOf, null)
      if (pulls.isRunning || level!.coverage !== asOf) continue
      if (!isBefore(level!.lacks.tail, lacks.tail)) return lacks
      // It has had more than there is here: from another service over the same stream.
      await new Promise<void>((resolve) => waiting.set(follower, resolve))
    }
    return null
  }

  return {
    pull: pulls.fresh,
    join: async (follower, start) => {
      await pulls.fresh()
      while (level === null && !follower.isClosed) await laterPulls.current()
      if (follower.isClosed) return
      await pulls.settled()
      if (start !== 'now') {
        const lacks = 'lacks' in start ? start.lacks : lacksAfter(start.after, level!.coverage)
        if ((await catchUp(follower, lacks)) === null) return
      }
      if (follower.isClosed) return
      followers.add(follower)
      follower.send(Buffer.from(idText(cursorOf(level!.lacks))), 1)
    },
    leave: (follower) => {
      followers.delete(follower)
      waiting.get(follower)?.()
      waiting.delete(follower)
    },
    get awaitsGaps() {
      // Blocks below the first height do not move the position either. A network's first block is block 1.
      return level !== null && (level.lacks.gaps.length > 0 || level.coverage.first > 1n)
    },
    keepAlive: () => {
      if (level !== null) sendToAll(followers, Buffer.from(`: \n${idText(cursorOf(level.lacks))}`))
    },
  }
}

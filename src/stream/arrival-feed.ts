import { setTimeout as sleep } from 'node:timers/promises'
import type { Coverage } from '../domain/coverage.ts'
import { advance, isBefore, type Lacks, lacksBehindAll } from '../domain/lacks.ts'
import type { Resource, Selection } from '../resources/resource.ts'
import type { ArrivalQuery, Arrivals } from '../store/arrivals.ts'
import { eventText, type Feed, type Follower, idText } from './feed.ts'
import { encodeStreamCursor } from './stream-cursor.ts'

/** Rows that are read at a time. */
const CHUNK_ROWS = 500

/** How long is waited for a replica that lags, milliseconds. */
const LAG_WAIT_MS = 500

export type FeedOptions = {
  resource: Resource
  selection: Selection
}

/** Reads rows by when they came; null in an empty store. */
export type ReadArrivals = (query: ArrivalQuery) => Promise<Arrivals | null>

/** What the feed has sent: what it lacks still, and what was held when it last looked. */
type Level = { lacks: Lacks; coverage: Coverage }

/** The feed of a resource whose rows keep the events that they come from: each row in the order of these. */
export function createArrivalFeed({ resource, selection }: FeedOptions, read: ReadArrivals): Feed {
  const followers = new Set<Follower>()
  let level: Level | null = null
  let pulling: Promise<void> | null = null

  const cursorOf = (lacks: Lacks) => encodeStreamCursor(resource, selection, { lacks })

  /** Reads one chunk of what is lacked; null where it cannot be had. */
  async function readChunk(lacks: Lacks, asOf: Coverage | null) {
    const arrivals = await read({ resource, selection, lacks, asOf, limit: CHUNK_ROWS })
    // A replica may lag behind what another one has told.
    if (arrivals === null || (asOf !== null && arrivals.coverage.height < asOf.height)) return null
    const coverage = asOf ?? arrivals.coverage
    let text = ''
    for (const { row, place } of arrivals.rows) {
      text += eventText(resource, cursorOf(advance(lacks, coverage, place)), resource.node(row, selection))
    }
    return {
      bytes: Buffer.from(text),
      coverage,
      lacks: advance(lacks, coverage, arrivals.reached),
      isLast: arrivals.reached === null,
    }
  }

  async function pullAll(): Promise<void> {
    if (level === null) {
      const empty: Lacks = { first: 0n, gaps: [], tail: { height: 0n, index: 0 } }
      const first = await read({ resource, selection, lacks: empty, asOf: null, limit: 0 })
      if (first === null) return
      level = { lacks: lacksBehindAll(first.coverage), coverage: first.coverage }
      return
    }
    for (;;) {
      const chunk = await readChunk(level.lacks, null)
      if (chunk === null || chunk.coverage.height < level.coverage.height) return
      level = { lacks: chunk.lacks, coverage: chunk.coverage }
      if (chunk.bytes.length > 0) for (const follower of [...followers]) follower.send(chunk.bytes)
      if (chunk.isLast) return
    }
  }

  function pull(): Promise<void> {
    pulling ??= pullAll().finally(() => {
      pulling = null
    })
    return pulling
  }

  /** Waits until no pull is under way, whatever becomes of it. */
  async function settled(): Promise<void> {
    while (pulling !== null) await pulling.catch(() => {})
  }

  /** Has the feed look again, in a while. */
  async function pullLater(): Promise<void> {
    await sleep(LAG_WAIT_MS)
    await pull()
  }

  /** Sends a follower what it lacks until it is level with the feed; null once it is closed. */
  async function catchUp(follower: Follower, start: Lacks): Promise<Lacks | null> {
    let lacks = start
    while (!follower.isClosed) {
      await settled()
      const asOf: Coverage = level!.coverage
      const chunk = await readChunk(lacks, asOf)
      if (chunk === null) {
        await pullLater()
        continue
      }
      if (chunk.bytes.length > 0) follower.send(chunk.bytes)
      lacks = chunk.lacks
      if (!chunk.isLast) await follower.drained()
      else if (pulling === null && level!.coverage === asOf) {
        if (!isBefore(level!.lacks.tail, lacks.tail)) return lacks
        // It has had more than there is here: from another service over the same stream.
        await pullLater()
      }
    }
    return null
  }

  return {
    pull,
    join: async (follower, start) => {
      await pull()
      while (level === null && !follower.isClosed) await pullLater()
      if (follower.isClosed) return
      if (start === 'now') {
        await settled()
      } else if (!('lacks' in start) || (await catchUp(follower, start.lacks)) === null) return
      if (follower.isClosed) return
      followers.add(follower)
      follower.send(Buffer.from(idText(cursorOf(level!.lacks))))
    },
    leave: (follower) => {
      followers.delete(follower)
    },
    get awaitsGaps() {
      // Blocks below the first height do not move the position either. A network's first block is block 1.
      return level !== null && (level.lacks.gaps.length > 0 || level.coverage.first > 1n)
    },
    keepAlive: () => {
      if (level === null) return
      const bytes = Buffer.from(`: \n${idText(cursorOf(level.lacks))}`)
      for (const follower of [...followers]) follower.send(bytes)
    },
  }
}

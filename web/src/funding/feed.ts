import { type ReadonlySignal, signal } from '@preact/signals'
import { LyraApiError, type LyraClient } from 'lyra-client'
import { followStream } from '../service/follow-stream.ts'
import { mergePoints, type Point, readPoint, SOURCES, type Source } from './point.ts'
import { createPointLoader, type LoadedPoints } from './point-loader.ts'
import { type Moment, momentsOf } from './series.ts'
import type { Range } from './tiles.ts'

/** A range that changes quickly, as when it is dragged, is asked for once it rests. */
const REST_MS = 80

/** Streamed points are shown together, so often. */
const SHOW_MS = 150

/** Streamed points of a source that are kept beside what has been loaded. */
const MAX_STREAMED = 5_000

/** What is drawn: the points of both sources about a range. */
export type FundingData = {
  /** The range that was asked for. */
  range: Range
  external: LoadedPoints
  internal: LoadedPoints
  /** Every moment at which a point of either came. */
  moments: Moment[]
}

/** How new points come in: by the stream, not yet, or only by asking where the service has no stream. */
export type LiveState = 'connecting' | 'streaming' | 'asking'

/** The points of one market, as a view looks at them. */
export type FundingFeed = {
  data: ReadonlySignal<FundingData | null>
  /** How much of what the range needs is there, 0 to 1; null where nothing is being loaded. */
  progress: ReadonlySignal<number | null>
  error: ReadonlySignal<Error | null>
  live: ReadonlySignal<LiveState>
  /** The time of the last streamed point, Unix nanoseconds; null before there is one. */
  streamedUpTo: ReadonlySignal<bigint | null>
  /** How many points the stream has brought. */
  streamed: ReadonlySignal<number>
  /** Looks at a range. */
  show(range: Range): void
  /** Asks again for what may have changed unseen: after the service was away, or without a stream. */
  refresh(): void
  close(): void
}

/** Feeds a view of a market with points: loaded as its range needs them, and new ones as they come. */
export function createFundingFeed(lyra: LyraClient, marketId: string): FundingFeed {
  const loader = createPointLoader(lyra, marketId, SOURCES)
  const closed = new AbortController()
  const streamedPoints: Record<Source, Point[]> = { SOURCE_EXTERNAL: [], SOURCE_INTERNAL: [] }
  const data = signal<FundingData | null>(null)
  const progress = signal<number | null>(null)
  const error = signal<Error | null>(null)
  const live = signal<LiveState>('connecting')
  const streamedUpTo = signal<bigint | null>(null)
  const streamed = signal(0)
  let wanted: Range | null = null
  let loading = new AbortController()
  let restTimer: ReturnType<typeof setTimeout> | undefined
  let showTimer: ReturnType<typeof setTimeout> | undefined
  let following = false

  function publish(range: Range): void {
    const [external, internal] = SOURCES.map((source): LoadedPoints => {
      const loaded = loader.known(source, range)
      return { ...loaded, points: mergePoints(loaded.points, streamedPoints[source]) }
    }) as [LoadedPoints, LoadedPoints]
    data.value = { range, external, internal, moments: momentsOf(external.points, internal.points) }
  }

  async function load(range: Range): Promise<void> {
    loading.abort()
    loading = new AbortController()
    const { signal: stopped } = loading
    try {
      await loader.load(range, AbortSignal.any([stopped, closed.signal]), (done, of) => {
        if (!stopped.aborted) progress.value = done === of ? null : done / of
      })
      if (stopped.aborted || closed.signal.aborted) return
      error.value = null
      publish(range)
      if (!following) void follow()
    } catch (failure) {
      if (stopped.aborted || closed.signal.aborted) return
      error.value = failure as Error
    }
    progress.value = null
  }

  /** Takes what comes after the first answer's block, whatever has been loaded since: the same point is one. */
  async function follow(): Promise<void> {
    following = true
    try {
      live.value = 'streaming'
      await followStream((options) => lyra.streamFundingPeriodDataPoints({ marketId }, options), {
        afterBlock: loader.firstHeight(),
        signal: closed.signal,
        onRow: (row) => {
          const source = SOURCES.find((known) => known === row.dataPointType)
          if (source !== undefined) add(source, readPoint(row))
        },
      })
    } catch (failure) {
      if (closed.signal.aborted) return
      if (!(failure instanceof LyraApiError)) throw failure
      live.value = 'asking'
    }
  }

  function add(source: Source, point: Point): void {
    const points = streamedPoints[source]
    points.push(point)
    streamed.value++
    if (points.length > MAX_STREAMED) {
      points.splice(0, MAX_STREAMED / 2)
      refresh()
    }
    showTimer ??= setTimeout(() => {
      showTimer = undefined
      streamedUpTo.value = newest()
      if (data.peek() !== null && !closed.signal.aborted) publish(data.peek()!.range)
    }, SHOW_MS)
  }

  function newest(): bigint {
    const times = SOURCES.flatMap((source) => streamedPoints[source].map(({ timestamp }) => timestamp))
    return times.reduce((latest, time) => (time > latest ? time : latest))
  }

  function refresh(): void {
    loader.forgetOpen()
    if (wanted !== null) void load(wanted)
  }

  return {
    data,
    progress,
    error,
    live,
    streamedUpTo,
    streamed,
    show: (range) => {
      if (wanted !== null && wanted.from === range.from && wanted.to === range.to) return
      const first = wanted === null
      wanted = range
      clearTimeout(restTimer)
      restTimer = setTimeout(() => void load(range), first ? 0 : REST_MS)
    },
    refresh,
    close: () => {
      clearTimeout(restTimer)
      clearTimeout(showTimer)
      loading.abort()
      closed.abort()
    },
  }
}

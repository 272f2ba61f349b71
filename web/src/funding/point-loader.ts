import type { LyraClient } from 'lyra-client'
import { mergePoints, type Point, readPoint, type Source } from './point.ts'
import { partsOf, type Range, tilesOf } from './tiles.ts'

/** Rows of one source that a tile shows all of; one with more is sampled. */
const MAX_ROWS = 1_500

/** Times at which a tile is sampled. */
const SAMPLES = 64

/** Questions at a time: a browser has six connections, and one is the stream's. */
const CONCURRENCY = 5

const MAX_CACHED_TILES = 300

/** What is known of one source in one tile. */
type Tile = {
  points: Point[]
  /** Null where these are all its points; else each is the last one of a part of this length (nanoseconds). */
  sampleStep: bigint | null
  /** Whether points may still come that no stream tells of: the tile reaches beyond the last block. */
  open: boolean
}

/** The points of a source within a range, and those next to it where lines go on. */
export type LoadedPoints = {
  points: Point[]
  /** The longest part of which only the last point is among them, nanoseconds; null where all points are. */
  sampleStep: bigint | null
}

export type PointLoader = {
  /**
   * Loads what a range needs and is not known yet: a bounded number of rows, however many points it holds.
   *
   * @param onProgress told of the tiles that are there, of how many
   */
  load(range: Range, signal: AbortSignal, onProgress: (done: number, of: number) => void): Promise<void>
  /** What is known of a source in a range. */
  known(source: Source, range: Range): LoadedPoints
  /** The height of the block of the first answer; empty before there is one. */
  firstHeight(): string
  /** Forgets tiles that reach beyond the last block: points have come that no stream has told of. */
  forgetOpen(): void
}

/** Loads the points of a market by tiles, and keeps them. */
export function createPointLoader(
  lyra: Pick<LyraClient, 'fundingPeriodDataPointsPage'>,
  marketId: string,
  sources: readonly Source[],
): PointLoader {
  const tiles = new Map<string, Tile>()
  let firstHeight = ''

  async function page(source: Source, { from, to }: Partial<Range>, rows: number, signal: AbortSignal) {
    const answer = await lyra.fundingPeriodDataPointsPage(
      { marketId, source, from, to },
      { first: rows, newestFirst: true, signal },
    )
    if (firstHeight === '') firstHeight = answer.blockHeight
    return {
      points: answer.rows.map(({ node }) => readPoint(node)).reverse(),
      whole: !answer.pageInfo.hasNextPage,
      lastTime: BigInt(answer.blockTimestamp || 0),
    }
  }

  async function loadTile(source: Source, tile: Range, limit: Limit, signal: AbortSignal): Promise<void> {
    const first = await limit(() => page(source, tile, MAX_ROWS, signal))
    const open = first.lastTime < tile.to
    if (first.whole) return keep(source, tile, { points: first.points, sampleStep: null, open })
    const parts = partsOf(tile, SAMPLES)
    const samples = await Promise.all(parts.map((part) => limit(() => page(source, part, 1, signal))))
    const points = samples.flatMap((sample) => sample.points)
    keep(source, tile, { points, sampleStep: parts[0]!.to - parts[0]!.from, open })
  }

  /** The last point before the first tile: from there a line comes in, and its value still holds. */
  async function loadBefore(source: Source, tile: Range, limit: Limit, signal: AbortSignal): Promise<void> {
    const { points } = await limit(() => page(source, { to: tile.from }, 1, signal))
    keep(source, before(tile), { points, sampleStep: null, open: false })
  }

  function keep(source: Source, tile: Range, loaded: Tile): void {
    tiles.set(nameOf(source, tile), loaded)
    for (const oldest of tiles.keys()) {
      if (tiles.size <= MAX_CACHED_TILES) break
      tiles.delete(oldest)
    }
  }

  return {
    load: async (range, given, onProgress) => {
      const failed = new AbortController()
      const signal = AbortSignal.any([given, failed.signal])
      const limit = createLimit(CONCURRENCY)
      const needed = tilesOf(range)
      const wanted = sources.flatMap((source) => [
        { source, tile: before(needed[0]!), ask: () => loadBefore(source, needed[0]!, limit, signal) },
        ...needed.map((tile) => ({ source, tile, ask: () => loadTile(source, tile, limit, signal) })),
      ])
      const missing = wanted.filter(({ source, tile }) => !tiles.has(nameOf(source, tile)))
      let done = wanted.length - missing.length
      onProgress(done, wanted.length)
      const asked = missing.map(async ({ ask }) => {
        await ask()
        onProgress(++done, wanted.length)
      })
      try {
        await Promise.all(asked)
      } finally {
        // After a failure the others are not worth waiting for.
        failed.abort()
      }
    },
    known: (source, range) => {
      const needed = tilesOf(range)
      const found = [before(needed[0]!), ...needed].flatMap((tile) => {
        const name = nameOf(source, tile)
        const known = tiles.get(name)
        if (known === undefined) return []
        // The tiles in use are the last to go.
        tiles.delete(name)
        tiles.set(name, known)
        return [known]
      })
      const steps = found.flatMap(({ sampleStep }) => (sampleStep === null ? [] : [sampleStep]))
      return {
        points: mergePoints(...found.map(({ points }) => points)),
        sampleStep: steps.reduce<bigint | null>(
          (most, step) => (most === null || step > most ? step : most),
          null,
        ),
      }
    },
    firstHeight: () => firstHeight,
    forgetOpen: () => {
      for (const [name, { open }] of tiles) if (open) tiles.delete(name)
    },
  }
}

/** Stands for all that comes before a tile. */
function before({ from }: Range): Range {
  return { from, to: from }
}

function nameOf(source: Source, { from, to }: Range): string {
  return `${source} ${from} ${to}`
}

type Limit = <T>(task: () => Promise<T>) => Promise<T>

/** Runs tasks in their order, so many at a time. */
function createLimit(atATime: number): Limit {
  let free = atATime
  const waiting: (() => void)[] = []
  return async (task) => {
    if (free > 0) free--
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    }
  }
}

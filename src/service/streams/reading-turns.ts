/** Reads besides pages: streams (new rows, missing rows), and exports. */
const LANES = ['live', 'catching up', 'export'] as const

export type ReadingLane = (typeof LANES)[number]

/** Reads of new rows in succession before another read has its turn. */
const LIVE_AT_ONCE = 8

/** Runs `work` once it is its turn. */
export type ReadingTurns = <T>(lane: ReadingLane, work: () => Promise<T>) => Promise<T>

/**
 * Lets reads take turns, a few at a time: within a lane in order of arrival, new rows before the rest, followers with
 * old cursors and exports alternately. Each reader has one read at a time, so that nobody waits longer than for one of
 * every other; their number is limited when they are accepted.
 */
export function createReadingTurns(atOnce: number): ReadingTurns {
  const waiting: Record<ReadingLane, (() => void)[]> = { live: [], 'catching up': [], export: [] }
  let running = 0
  let liveInARow = 0
  let last: ReadingLane = 'live'

  function nextLane(): ReadingLane | null {
    const other =
      last === 'catching up' ? (['export', 'catching up'] as const) : (['catching up', 'export'] as const)
    const rest = other.find((lane) => waiting[lane].length > 0) ?? null
    if (waiting.live.length > 0 && (rest === null || liveInARow < LIVE_AT_ONCE)) return 'live'
    return rest
  }

  function beginNext(): void {
    if (running >= atOnce) return
    const lane = nextLane()
    if (lane === null) return
    if (lane === 'live') liveInARow += 1
    else {
      liveInARow = 0
      last = lane
    }
    running += 1
    waiting[lane].shift()!()
  }

  return async (lane, work) => {
    await new Promise<void>((resolve) => {
      waiting[lane].push(resolve)
      beginNext()
    })
    try {
      return await work()
    } finally {
      // Other work, such as messages, has its turn in between.
      setImmediate(() => {
        running -= 1
        beginNext()
      })
    }
  }
}

/** What reads beside pages: streams (what has just come, what a follower lacks), and exports. */
const LANES = ['live', 'catching up', 'export'] as const

export type Lane = (typeof LANES)[number]

/** Reads of what has just come that go before the others, one after another; then one of these has its turn. */
const LIVE_AT_ONCE = 8

/** Runs `work` once it is its turn. */
export type ReadingTurns = <T>(lane: Lane, work: () => Promise<T>) => Promise<T>

/**
 * Lets reads take turns, a few at a time: those of a lane in the order in which they were asked for, what has just
 * come before the rest, and followers with old cursors and exports by turns. Everybody asks for one read at a time,
 * so that nobody waits longer than for one of everyone else; how many there are is limited if they are taken on.
 */
export function createReadingTurns(atOnce: number): ReadingTurns {
  const waiting: Record<Lane, (() => void)[]> = { live: [], 'catching up': [], export: [] }
  let running = 0
  let liveInARow = 0
  let last: Lane = 'live'

  function nextLane(): Lane | null {
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
      // What else there is to do, messages say, comes in between.
      setImmediate(() => {
        running -= 1
        beginNext()
      })
    }
  }
}

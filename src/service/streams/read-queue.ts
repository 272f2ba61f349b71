/** The classes of reads besides pages: streams (new rows, missing rows), and exports. */
const READ_CLASSES = ['live', 'catching up', 'export'] as const

export type ReadClass = (typeof READ_CLASSES)[number]

/** Reads of new rows in succession before another read has its turn. */
const LIVE_AT_ONCE = 8

/** Runs `work` once it is its turn. */
type ReadQueue = <T>(readClass: ReadClass, work: () => Promise<T>) => Promise<T>

/**
 * Lets reads take turns, a few at a time: within a class in order of arrival, new rows before the rest, followers with
 * old cursors and exports alternately. Each reader has one read at a time, so that nobody waits longer than for one of
 * every other; their number is limited when they are accepted.
 */
export function createReadQueue(atOnce: number): ReadQueue {
  const waiting: Record<ReadClass, (() => void)[]> = { live: [], 'catching up': [], export: [] }
  let running = 0
  let liveInARow = 0
  let last: ReadClass = 'live'

  function nextClass(): ReadClass | null {
    const other =
      last === 'catching up' ? (['export', 'catching up'] as const) : (['catching up', 'export'] as const)
    const rest = other.find((readClass) => waiting[readClass].length > 0) ?? null
    if (waiting.live.length > 0 && (rest === null || liveInARow < LIVE_AT_ONCE)) return 'live'
    return rest
  }

  function beginNext(): void {
    if (running >= atOnce) return
    const readClass = nextClass()
    if (readClass === null) return
    if (readClass === 'live') liveInARow += 1
    else {
      liveInARow = 0
      last = readClass
    }
    running += 1
    waiting[readClass].shift()!()
  }

  return async (readClass, work) => {
    await new Promise<void>((resolve) => {
      waiting[readClass].push(resolve)
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

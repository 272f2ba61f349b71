/** The classes of reads besides pages: new rows and missing rows of streams, and exports. */
const READ_CLASSES = ['live', 'catching up', 'export'] as const

export type ReadClass = (typeof READ_CLASSES)[number]

/** Reads of new rows in succession before a read of another class, if one waits. */
const LIVE_AT_ONCE = 8

/** Runs `work` once it is its turn. */
type ReadQueue = <T>(readClass: ReadClass, work: () => Promise<T>) => Promise<T>

/**
 * Runs a few reads at a time: new rows before the rest, missing rows and exports alternately, and within a class in order
 * of arrival. Each stream or export has one read at a time, so that none waits for more than one read of each of the others;
 * their number is limited when they are accepted.
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
      // Lets other work run in between, such as messages.
      setImmediate(() => {
        running -= 1
        beginNext()
      })
    }
  }
}

/** The classes of reads besides pages: new rows and missing rows of streams, and exports. */
const READ_CLASSES = ['live', 'catching up', 'export'] as const

export type ReadClass = (typeof READ_CLASSES)[number]

/** Reads of new rows in succession before a read of another class, if one waits. */
const LIVE_AT_ONCE = 8

/**
 * Runs a few reads at a time: new rows before the rest, missing rows and exports alternately, and within a class in order
 * of arrival. Each stream or export has one read at a time, so that none waits for more than one read of each of the others;
 * their number is limited when they are accepted.
 */
export class ReadQueue {
  readonly #atOnce: number
  /** What wakes the reads that wait. */
  readonly #waiting: Record<ReadClass, (() => void)[]> = { live: [], 'catching up': [], export: [] }
  #running = 0
  #liveInARow = 0
  /** The class of the last read that was begun and was not of new rows. */
  #lastOther: ReadClass | null = null

  constructor(atOnce: number) {
    this.#atOnce = atOnce
  }

  /** Runs `work` once it is its turn. */
  async run<T>(readClass: ReadClass, work: () => Promise<T>): Promise<T> {
    await new Promise<void>((resolve) => {
      this.#waiting[readClass].push(resolve)
      this.#beginNext()
    })
    try {
      return await work()
    } finally {
      // Lets other work run in between, such as messages.
      setImmediate(() => {
        this.#running -= 1
        this.#beginNext()
      })
    }
  }

  #beginNext(): void {
    if (this.#running >= this.#atOnce) return
    const readClass = this.#nextClass()
    if (readClass === null) return
    if (readClass === 'live') this.#liveInARow += 1
    else {
      this.#liveInARow = 0
      this.#lastOther = readClass
    }
    this.#running += 1
    this.#waiting[readClass].shift()!()
  }

  #nextClass(): ReadClass | null {
    const others: readonly ReadClass[] =
      this.#lastOther === 'catching up' ? ['export', 'catching up'] : ['catching up', 'export']
    const other = others.find((readClass) => this.#waiting[readClass].length > 0) ?? null
    const hasLive = this.#waiting.live.length > 0
    return hasLive && (other === null || this.#liveInARow < LIVE_AT_ONCE) ? 'live' : other
  }
}

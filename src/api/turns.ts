import { unavailable } from './errors.ts'

/** Pages that are in the making at the same time. */
const AT_ONCE = 8

/** How long pages may be made before the event loop goes on, to what else there is. */
const SLICE_MS = 20

/** A request that has waited for this long is refused: the service has more to do than it can. */
const MAX_WAIT_MS = 10_000

/**
 * Runs `work` once it is its turn.
 *
 * @throws {ApiError} 503 where its turn does not come in time.
 */
export type Turns = <T>(work: () => Promise<T>) => Promise<T>

/**
 * Lets pages be made in the order in which they were asked for, a few at a time, and the event loop run in
 * between. However many connections ask at once, memory holds few unfinished pages, what was sent is let go of,
 * and what is quick to answer does not wait for all of them.
 */
export function createTurns(): Turns {
  const waiting: (() => void)[] = []
  let running = 0
  /** When the first page of this round of the event loop was begun; null before. */
  let roundSince: number | null = null

  function hasRoom(): boolean {
    return running < AT_ONCE && (roundSince === null || performance.now() - roundSince < SLICE_MS)
  }

  function begin(): void {
    running += 1
    if (roundSince !== null) return
    roundSince = performance.now()
    setImmediate(() => {
      roundSince = null
      beginNext()
    })
  }

  function beginNext(): void {
    if (waiting.length === 0 || !hasRoom()) return
    begin()
    waiting.shift()!()
  }

  async function wait(): Promise<void> {
    const since = performance.now()
    await new Promise<void>((resolve) => waiting.push(resolve))
    if (performance.now() - since < MAX_WAIT_MS) return
    throw unavailable('the service has too much to do at the moment; try again')
  }

  return async (work) => {
    try {
      if (waiting.length === 0 && hasRoom()) begin()
      else await wait()
      return await work()
    } finally {
      running -= 1
      beginNext()
    }
  }
}

import { unavailable } from './errors.ts'

/** Pages that are in the making at the same time. */
const AT_ONCE = 8

/** How long pages may be made before the event loop continues with what else there is. */
const SLICE_MS = 20

/** A request that has waited for this long is refused: the service is overloaded. */
const MAX_WAIT_MS = 10_000

/**
 * Runs `work` once it is its turn.
 *
 * @param address whose turn it is; the service's own work has the empty one
 * @throws {ApiError} 503 where its turn does not come in time.
 */
export type Turns = <T>(work: () => Promise<T>, address?: string) => Promise<T>

/** Turns of pages of the usual size, and of long ones: neither wait for the others. */
export type PageTurns = { usual: Turns; long: Turns }

/**
 * Lets pages be made a few at a time, and the event loop run in between. However many connections ask at once,
 * memory holds few unfinished pages, what was sent is let go of, and what is quick to answer does not wait for all of
 * them. Addresses that wait get their turns one after another, one each, in the order in which they came: a client
 * that asks for much waits for itself.
 *
 * @param onAlone called with an address whose request is refused while no other address waits
 */
export function createTurns(onAlone: (address: string) => void = () => {}): Turns {
  /** What waits, by address; the address whose turn is next comes first. */
  const waiting = new Map<string, (() => void)[]>()
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
    const [next] = waiting
    if (next === undefined || !hasRoom()) return
    const [address, queue] = next
    begin()
    const wake = queue.shift()!
    // Last in the map is last to have its turn again.
    waiting.delete(address)
    if (queue.length > 0) waiting.set(address, queue)
    wake()
  }

  async function wait(address: string): Promise<void> {
    const since = performance.now()
    await new Promise<void>((resolve) => {
      const queue = waiting.get(address)
      if (queue === undefined) waiting.set(address, [resolve])
      else queue.push(resolve)
    })
    if (performance.now() - since < MAX_WAIT_MS) return
    if ([...waiting.keys()].every((other) => other === address)) onAlone(address)
    throw unavailable('the service is overloaded; try again')
  }

  return async (work, address = '') => {
    try {
      if (waiting.size === 0 && hasRoom()) begin()
      else await wait(address)
      return await work()
    } finally {
      running -= 1
      beginNext()
    }
  }
}

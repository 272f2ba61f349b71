import { ImportError } from './import-error.ts'

/** Times of blocks that rows of current state name: some for each funding period that there ever was. */
const MAX_TIMES = 2_000_000

/** The height of a second that several blocks have. */
const SEVERAL = Number.POSITIVE_INFINITY

const SECOND = 1_000_000

/**
 * Finds the blocks of current-state rows: the rows only have block times, and may be older than the last segment. The
 * times are gathered first; then each block read is checked against them.
 */
export class KnownTimes {
  /** The heights of the blocks of the times, and of the seconds that begin then; NaN if none has been found. */
  readonly #heights = new Map<number, number>()
  readonly #ofSeconds = new Map<number, number>()

  /** Notes a time, Unix microseconds, whose block is wanted. */
  want(time: number): void {
    if (Number.isNaN(time)) return
    this.#heights.set(time, Number.NaN)
    if (time % SECOND === 0) this.#ofSeconds.set(time, Number.NaN)
    if (this.#heights.size > MAX_TIMES) {
      throw new ImportError(`the tables of current state name more than ${MAX_TIMES} blocks: no real ones do`)
    }
  }

  /** Notes the block of a time. */
  found(time: number, height: number): void {
    if (this.#heights.has(time)) this.#heights.set(time, height)
    const second = time - (((time % SECOND) + SECOND) % SECOND)
    const known = this.#ofSeconds.get(second)
    if (known === undefined) return
    this.#ofSeconds.set(second, Number.isNaN(known) || known === height ? height : SEVERAL)
  }

  /** The height of the only block of a second; of a time that is not cut to a second, of the block of that time. */
  heightInSecond(time: number): number | null {
    return time % SECOND === 0 ? known(this.#ofSeconds.get(time)) : this.heightAt(time)
  }

  /** The height of the block of a time; null if none has been found. */
  heightAt(time: number): number | null {
    return known(this.#heights.get(time))
  }
}

function known(height: number | undefined): number | null {
  return Number.isFinite(height) ? height! : null
}

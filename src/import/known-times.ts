import { ImportError } from './import-error.ts'
import { firstAtLeast } from './sorted-numbers.ts'

/** Times of blocks that rows of current state name: some for each funding period that there ever was. */
const MAX_TIMES = 2_000_000

/** A second that several blocks have. */
const SEVERAL = Number.POSITIVE_INFINITY

const SECOND = 1_000_000

/**
 * Finds the blocks of current-state rows: the rows only have block times, and may be older than the last segment. The
 * times are gathered first; then each block read is checked against them.
 */
export class KnownTimes {
  #gathered: number[] = []
  #times = new Float64Array(0)
  /** The heights of the blocks of the times, and of the seconds that begin then; NaN if none has been found. */
  #heights = new Float64Array(0)
  #ofSeconds = new Float64Array(0)

  /** Notes a time, Unix microseconds, whose block is wanted. */
  want(time: number): void {
    if (Number.isNaN(time)) return
    this.#gathered.push(time)
    if (this.#gathered.length >= MAX_TIMES) this.#sort()
  }

  /** Notes the block of a time. */
  found(time: number, height: number): void {
    const index = this.#indexOf(time)
    if (index >= 0) this.#heights[index] = height
    const second = this.#indexOf(time - (((time % SECOND) + SECOND) % SECOND))
    if (second < 0) return
    const known = this.#ofSeconds[second]!
    this.#ofSeconds[second] = Number.isNaN(known) || known === height ? height : SEVERAL
  }

  /** The height of the only block of a second; of a time that is not cut to a second, of the block of that time. */
  heightInSecond(time: number): number | null {
    if (time % SECOND !== 0) return this.heightAt(time)
    const index = this.#indexOf(time)
    const height = index < 0 ? Number.NaN : this.#ofSeconds[index]!
    return Number.isFinite(height) ? height : null
  }

  /** The height of the block of a time; null if none has been found. */
  heightAt(time: number): number | null {
    const index = this.#indexOf(time)
    if (index < 0) return null
    const height = this.#heights[index]!
    return Number.isNaN(height) ? null : height
  }

  #sort(): void {
    const all = new Float64Array(this.#times.length + this.#gathered.length)
    all.set(this.#times)
    all.set(this.#gathered, this.#times.length)
    all.sort()
    this.#gathered = []
    this.#times = all.filter((time, index) => index === 0 || all[index - 1] !== time)
    this.#heights = new Float64Array(this.#times.length).fill(Number.NaN)
    this.#ofSeconds = this.#heights.slice()
    if (this.#times.length > MAX_TIMES) {
      throw new ImportError(`the tables of current state name more than ${MAX_TIMES} blocks: no real ones do`)
    }
  }

  #indexOf(time: number): number {
    if (this.#gathered.length > 0) this.#sort()
    const index = firstAtLeast(this.#times, time)
    return this.#times[index] === time ? index : -1
  }
}

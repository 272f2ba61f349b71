// The blocks that a receiver must get from another source.
import { type HeightRange, holdAll, isWithin, merged, without } from '#core/domain/height-ranges'
import type { ForwardState } from './forward-state.ts'

/** So many ranges of missing blocks are told apart. Of more, the first ones count as one, with the blocks between them. */
const MAX_RANGES = 100

/** Blocks that were passed over, since no log had them complete, and that have not been passed on since. */
export class MissingBlocks {
  /** Ascending, without overlap. */
  #ranges: readonly HeightRange[] = []

  /** Adds blocks that were passed over; returns whether any of them were not known to be missing. */
  add(range: HeightRange): boolean {
    if (holdAll(this.#ranges, range)) return false
    const ranges = merged([...this.#ranges, range])
    if (ranges.length > MAX_RANGES) {
      const [first, second] = ranges
      ranges.splice(0, 2, { from: first!.from, to: second!.to })
    }
    this.#ranges = ranges
    return true
  }

  /** A block was passed on. */
  passed(height: bigint): void {
    if (isWithin(this.#ranges, height)) this.#ranges = without(this.#ranges, [{ from: height, to: height }])
  }

  /**
   * The first block of the first range that has arrived; null if none has. A receiver takes blocks in their order, so a range
   * counts as arrived once its first block has.
   */
  firstArrived(isThere: (height: bigint) => boolean): bigint | null {
    return this.#ranges.find(({ from }) => isThere(from))?.from ?? null
  }

  get state(): Pick<ForwardState, 'missingBlocks' | 'missingCount'> {
    const first = this.#ranges.at(0)
    const last = this.#ranges.at(-1)
    return {
      missingBlocks:
        first === undefined || last === undefined ? null : { from: `${first.from}`, to: `${last.to}` },
      missingCount: this.#ranges.reduce((sum, { from, to }) => sum + Number(to - from) + 1, 0),
    }
  }
}

import type { Limits } from '../http/limits.ts'

type Pace = Limits['exportPace']

/** Samples in the time over which the least pace is taken, and over which readers are compared. */
const SAMPLES = 60
const COMPARED_SAMPLES = 30

/** First samples of a measurement that say nothing about the reader: the systems between fill their buffers. */
const FILLING_SAMPLES = 1

/** Further samples that a reader must have before it is compared with others. */
const FEWEST_SAMPLES = 2

/** The time between two samples, milliseconds. */
export const sampleInterval = ({ seconds }: Pace): number => (seconds * 1_000) / SAMPLES

/**
 * Measures how fast a client reads while bytes wait for it. A client that has read everything at a sample waits for the
 * service: it is not slow, and its measurement begins again.
 */
export class ReadingPace {
  readonly #least: Pace
  /** Bytes read in total at each of the last samples, all of which had bytes waiting. */
  #samples: number[] = []
  /** Samples of this measurement, those that are forgotten included. */
  #count = 0

  constructor(least: Pace) {
    this.#least = least
  }

  /**
   * Adds a sample.
   *
   * @param read the bytes read in total
   * @param isWaiting whether more bytes wait for the client
   */
  sample(read: number, isWaiting: boolean): void {
    if (!isWaiting) {
      this.#samples = []
      this.#count = 0
      return
    }
    this.#samples.push(read)
    this.#count += 1
    if (this.#samples.length > SAMPLES + 1) this.#samples.shift()
  }

  /** Whether the client was slower than the least pace over the whole time. */
  isTooSlow(): boolean {
    if (this.#samples.length <= SAMPLES) return false
    const { bytesPerSecond, seconds } = this.#least
    return this.#samples.at(-1)! - this.#samples[0]! < bytesPerSecond * seconds
  }

  /** The last mean, in bytes a sample, to compare readers by; null if it was measured for too short a time. */
  recent(): number | null {
    const measured = Math.min(this.#count - 1 - FILLING_SAMPLES, COMPARED_SAMPLES)
    if (measured < FEWEST_SAMPLES) return null
    return (this.#samples.at(-1)! - this.#samples.at(-1 - measured)!) / measured
  }
}

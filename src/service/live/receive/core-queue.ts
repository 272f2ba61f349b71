// How long the core's own queue lasts while the event log cannot be written.
import { describeDuration } from '#core/domain/duration'

/**
 * A core does not wait for its receiver: it keeps so many events (`SocketChannelBufferSize`, its default) in memory, and ends
 * 3 s after they are as many.
 */
const QUEUE_EVENTS = 1_000_000

/** The rate of events is that of so many of the last samples. */
const RATE_SAMPLES = 60

type Sample = { atMs: number; received: number }

/**
 * Estimates how long a core's queue takes its events while the log cannot be written, from the rate at which they arrived
 * before.
 */
export class CoreQueue {
  #samples: Sample[] = []
  /** When the log could not be written any more, by the clock of the samples; null while it can be. */
  #blockedAtMs: number | null = null
  #secondsLeft: number | null = null

  /** Seconds until the core ends, by its usual rate; infinite if it sent nothing. Null while the log can be written. */
  get secondsLeft(): number | null {
    return this.#secondsLeft
  }

  /** Takes the number of events received so far; called at about equal intervals. */
  sample(received: number, isBlocked: boolean, atMs = performance.now()): void {
    if (!isBlocked) {
      this.#blockedAtMs = null
      this.#secondsLeft = null
      this.#samples.push({ atMs, received })
      if (this.#samples.length > RATE_SAMPLES) this.#samples.shift()
      return
    }
    this.#blockedAtMs ??= atMs
    const perSecond = this.#eventsPerSecond()
    const waitedSeconds = (atMs - this.#blockedAtMs) / 1000
    this.#secondsLeft = perSecond === 0 ? Infinity : Math.max(0, QUEUE_EVENTS / perSecond - waitedSeconds)
  }

  #eventsPerSecond(): number {
    const [first] = this.#samples
    const last = this.#samples.at(-1)
    if (first === undefined || last === undefined || last.atMs <= first.atMs) return 0
    return (1000 * (last.received - first.received)) / (last.atMs - first.atMs)
  }
}

/** Says how long the core keeps its events while the log cannot be written. */
export function describeQueue(secondsLeft: number | null): string {
  if (secondsLeft === null || secondsLeft === Infinity) {
    return 'the core keeps its events in memory meanwhile, and ends when they are about a million'
  }
  if (secondsLeft === 0)
    return 'the core has more events in memory than it keeps by default: it may have ended'
  return (
    `the core keeps its events in memory meanwhile, and ends when they are about a million: ` +
    `at the usual rate in ${describeDuration(secondsLeft)}`
  )
}

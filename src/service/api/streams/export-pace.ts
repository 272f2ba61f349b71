import type { ServerResponse } from 'node:http'
import type { Limits } from '../http/limits.ts'

/** Samples in the time over which a pace is taken. */
const SAMPLES = 6

type Pace = Limits['exportPace']

/**
 * Judges a reader by samples at regular intervals: whether it was slower than a pace over the whole time, although
 * bytes were waiting at each sample. A reader that waits for the service is not slow.
 *
 * @returns judges another sample: the bytes read in total, and whether more are waiting
 */
export function createPaceJudge({
  bytesPerSecond,
  seconds,
}: Pace): (taken: number, isWaiting: boolean) => boolean {
  /** Bytes read at each of the last samples at which bytes were waiting. */
  let samples: number[] = []
  return (taken, isWaiting) => {
    if (!isWaiting) {
      samples = []
      return false
    }
    samples.push(taken)
    if (samples.length <= SAMPLES) return false
    return taken - samples.shift()! < bytesPerSecond * seconds
  }
}

/** Watches whether a client takes an answer at a pace; `signal` is aborted, with the reason, once it does not. */
export function watchPace(response: ServerResponse, pace: Pace): { signal: AbortSignal; end(): void } {
  const stop = new AbortController()
  const isSlow = createPaceJudge(pace)
  const timer = setInterval(
    () => {
      const { socket } = response
      if (socket === null) return
      // Written bytes count as such before the system has accepted them.
      if (!isSlow(socket.bytesWritten - socket.writableLength, socket.writableLength > 0)) return
      stop.abort(
        new Error(
          `the client reads less than ${pace.bytesPerSecond} bytes per second over ${pace.seconds} seconds`,
        ),
      )
    },
    (pace.seconds * 1_000) / SAMPLES,
  )
  return { signal: stop.signal, end: () => clearInterval(timer) }
}

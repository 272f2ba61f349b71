import { GO_ZERO_TIME } from '#core/domain/time'
import { fromSeconds } from './clock.ts'
import type { Context } from './context.ts'
import { EVENT_TYPES } from './event-types.ts'

const EPOCH_SECONDS = 300

/** `EpochEvent.Action`. */
const START = 1
const END = 2

/**
 * Creates the network's epochs, of five minutes each, from 0 on. The returned function ends the current epoch and begins
 * the next one if that is due. It returns the number of the ended epoch, or null.
 */
export function createEpochs(): (context: Context) => number | null {
  let sequence = -1
  let start = 0n

  function write({ out }: Context, action: number, end: bigint): void {
    const due = start + fromSeconds(EPOCH_SECONDS)
    out.write(EVENT_TYPES.epoch, null, { 1: sequence, 2: action, 3: start, 4: due, 5: end })
  }

  return (context) => {
    const { time } = context.block
    const isRunning = sequence >= 0
    if (isRunning && time < start + fromSeconds(EPOCH_SECONDS)) return null
    if (isRunning) write(context, END, time)
    const ended = isRunning ? sequence : null
    sequence++
    start = time
    write(context, START, GO_ZERO_TIME)
    return ended
  }
}

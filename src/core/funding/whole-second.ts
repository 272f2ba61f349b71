import { SECOND } from '../domain/time.ts'

/** Cuts a time (Unix nanoseconds) to its second, as the core does with block times in TWAPs. */
export function wholeSecond(time: bigint): bigint {
  return time - (time % SECOND)
}

import type { FundingSchedule } from 'lyra-client'

/**
 * When the next funding payment of a market is due after a time, Unix nanoseconds: the core pays at the first block from
 * then on. Null without a schedule, or without its beginning.
 */
export function nextPayment(schedule: FundingSchedule | null | undefined, after: bigint): bigint | null {
  if (schedule?.initial == null) return null
  const [initial, every] = [BigInt(schedule.initial), BigInt(schedule.every)]
  return initial > after ? initial : initial + ((after - initial) / every + 1n) * every
}

import { type Decimal, divide, parseDecimal, subtract } from './decimal.ts'

/** When funding payments are due: at `initial` + n x `every`, n >= 0; Unix nanoseconds and nanoseconds, `every` > 0. */
type FundingSchedule = { initial: string | null; every: string }

/**
 * When the next funding payment of a market is due after a time, Unix nanoseconds. Null without a schedule, or without its
 * beginning.
 */
export function nextPayment(schedule: FundingSchedule | null | undefined, after: bigint): bigint | null {
  if (schedule?.initial == null) return null
  const [initial, every] = [BigInt(schedule.initial), BigInt(schedule.every)]
  return initial > after ? initial : initial + ((after - initial) / every + 1n) * every
}

/** The price premium: internal price divided by external price, minus 1; null if that cannot be calculated. */
export function pricePremium(internalPrice: string, externalPrice: string): Decimal | null {
  const [internal, external] = [parseDecimal(internalPrice), parseDecimal(externalPrice)]
  if (internal === null || external === null || external.digits === 0n) return null
  return divide(subtract(internal, external), external)
}

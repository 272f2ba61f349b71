import { add, type Decimal, divide, ofInteger, textOfDecimal, ZERO } from '../../../domain/decimal.ts'
import { MAX_INT64 } from '../../../domain/integers.ts'
import type { Row } from '../../../model/resource.ts'
import { AVERAGE_WINDOWS } from '../../../resources/rate-averages.ts'
import type { Query } from '../../queries-protocol.ts'
import { EndedPeriods } from './ended-periods.ts'
import { keyOfPeriod } from './latest-periods.ts'

/** The average rates of a market, as of a time. */
export type RateAverages = {
  node: Record<string, string | null>
  /** The first block time, Unix nanoseconds, at which they change even if no period does. */
  until: bigint
}

const LONGEST = AVERAGE_WINDOWS.at(-1)!.length
const EIGHT_HOURS = 28_800_000_000_000n

/** The averages of a market whose periods are not all stored. */
export const NO_AVERAGES: RateAverages['node'] = Object.fromEntries(
  AVERAGE_WINDOWS.map(({ name }) => [name, null]),
)

/**
 * The average rates of a market over the windows that end at `at`. A period counts in a window if it ended after the
 * window's start, and not after its end.
 *
 * @param running the market's period that has no end yet
 */
export function* readRateAverages(marketId: string, running: Row | null, at: bigint): Query<RateAverages> {
  const sums = AVERAGE_WINDOWS.map((): Decimal | null => null)
  let until = MAX_INT64
  const changesAt = (time: bigint) => {
    if (time > at && time < until) until = time
  }
  // From the latest period back to the first missing one.
  let earliest = running === null ? null : keyOfPeriod(running)
  let isUnbroken = true
  const periods = new EndedPeriods(marketId, { from: at - LONGEST + 1n, upTo: at })
  while (!periods.isAtEnd) {
    for (const { start, seq, end, paid } of yield* periods.readChunk()) {
      isUnbroken &&= earliest === null || seq === earliest.seq - 1n
      if (isUnbroken) earliest = { start, seq }
      if (paid === null) continue
      for (const [index, { length }] of AVERAGE_WINDOWS.entries()) {
        if (end <= at - length) continue
        sums[index] = add(sums[index] ?? ZERO, paid.rate)
        changesAt(end + length)
      }
    }
  }
  const node: RateAverages['node'] = {}
  for (const [index, { name, length }] of AVERAGE_WINDOWS.entries()) {
    const sum = earliest !== null && earliest.start <= at - length ? sums[index]! : null
    node[name] = sum === null ? null : textOfDecimal(divide(sum, ofInteger(length / EIGHT_HOURS)))
    if (earliest !== null) changesAt(earliest.start + length)
  }
  return { node, until }
}

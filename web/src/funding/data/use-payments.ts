import type { PositionFunding } from 'lyra-client'
import { subjectOf, type ViewRange } from '../../range/view-range.ts'
import type { Range } from '../../series/series.ts'
import { lyra } from '../../service/lyra.ts'
import { type Query, useQuery } from '../../service/use-query.ts'
import { shownUnits } from './shown.ts'
import { readUnits } from './units.ts'

/** A range that is dragged is asked for once it rests; milliseconds. */
const REST_MS = 250

/** The payments of a position over a range. */
export type RangePayments = PositionFunding & Totals & { range: Range }

/** Fields that only the first part of an answer has. */
type Totals = { count: number; total: string; sumOfRates: string; missing: string[] }

/**
 * Sums over the periods that ended in a range, for a position of the chosen size.
 *
 * @param version changes when there may be new payments
 */
export function usePayments(marketId: string, range: ViewRange, version: string): Query<RangePayments> {
  const read = readUnits(shownUnits())
  // The sum of rates is the same for every size.
  const units = 'units' in read ? read.units : '1'
  const { from, to } = range
  return useQuery(
    `${marketId} ${subjectOf(range)} ${units}`,
    async (signal) => {
      const found = await lyra.positionFunding(marketId, { from, to, units, first: 0, signal })
      return { ...(found as PositionFunding & Totals), range: { from, to } }
    },
    { version: `${from} ${to} ${version}`, restMs: REST_MS },
  )
}

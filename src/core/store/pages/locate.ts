import { conditionOf } from '../../model/filters.ts'
import {
  type Filter,
  isOfAllMarkets,
  marketToNumber,
  type Resource,
  type Selection,
} from '../../model/resource.ts'
import type { Query } from '../queries-protocol.ts'
import { FIND_MARKET } from '../statements.ts'
import type { KeySpan } from './scan.ts'

/** The ranges that contain a selection's rows. */
export type Located = {
  /**
   * The number of the market in scope; null if the rows do not name it by number, or the rows of all markets are requested.
   */
  market: bigint | null
  /** The first and last time of the rows; null if no table of spans gives them. */
  span: KeySpan | null
}

/** The filters of a selection for whose values a table contains spans. */
export function filtersBySpan({ filters, storage: { span } }: Resource, selection: Selection): Filter[] {
  return filters.filter(
    ({ name, columns }) =>
      selection[name] !== undefined && columns.length === 1 && columns[0] === span?.column,
  )
}

/**
 * Finds the ranges that contain a selection's rows; null if there are no rows.
 *
 * @param known the market's number, if it is cached
 */
export function* locateRows(resource: Resource, selection: Selection, known?: bigint): Query<Located | null> {
  if (isOfAllMarkets(resource, selection)) return { market: null, span: null }
  const marketId = marketToNumber(resource, selection)
  let market = known ?? null
  if (marketId !== null && market === null) {
    const [found] = yield { text: FIND_MARKET, values: [marketId] }
    if (found === undefined) return null
    market = BigInt(found[0]!)
  }
  const filters = filtersBySpan(resource, selection)
  if (filters.length === 0) return { market, span: null }
  const conditions = filters.map((filter, index) => conditionOf(filter, `$${index + 2}`))
  const [found] = yield {
    text: `select cast(min(first_timestamp) as text), cast(max(last_timestamp) as text) from ${resource.storage.span!.table}
      where market = $1 and ${conditions.join(' and ')}`,
    values: [market!, ...filters.map(({ name }) => selection[name]!)],
  }
  const [first, last] = found!
  return first === null ? null : { market, span: { first: BigInt(first!), last: BigInt(last!) } }
}

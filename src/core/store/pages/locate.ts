import { FILTER_COLUMNS, type Resource, type Selection, scopeOf } from '../../resources/resource.ts'
import { FIND_MARKET } from '../statements.ts'
import type { Reading } from './page.ts'
import type { KeySpan } from './scan.ts'

/** Where the rows of a selection lie. */
export type Located = {
  /** The number of the market in scope; null if rows do not name it by that. */
  market: bigint | null
  /** Between which times; null if no table says so. */
  span: KeySpan | null
}

/**
 * Finds where the rows of a selection lie; null if there are none.
 *
 * @param known the number of the market, if it is known already
 */
export function* locateRows(
  resource: Resource,
  selection: Selection,
  known?: bigint,
): Reading<Located | null> {
  const { scopeBy, span } = resource.storage
  let market = known ?? null
  if (scopeBy === 'number' && market === null) {
    const [found] = yield { text: FIND_MARKET, values: [scopeOf(resource, selection)!] }
    if (found === undefined) return null
    market = BigInt(found[0]!)
  }
  const value = span && selection[span.filter]
  if (span === undefined || value === undefined) return { market, span: null }
  const [found] = yield {
    text: `select cast(first_timestamp as text), cast(last_timestamp as text) from ${span.table}
      where market = $1 and ${FILTER_COLUMNS[span.filter]} = $2`,
    values: [market!, value],
  }
  if (found === undefined) return null
  return { market, span: { first: BigInt(found[0]!), last: BigInt(found[1]!) } }
}

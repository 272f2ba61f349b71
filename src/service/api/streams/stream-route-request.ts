import type { Place } from '#core/domain/place'
import { decodeCursor } from '#core/resources/cursor'
import { filterOf } from '#core/resources/filters'
import { decodeMarketCursor } from '#core/resources/market-cursor'
import { isOfAllMarkets, type Resource, type Selection } from '#core/resources/resource'
import type { Position } from '#core/store/pages/page'
import { readPlace } from '#core/store/readings/arrivals'
import type { Reader } from '#core/store/store'
import type { Start } from '../../stream/follower.ts'
import { decodeStreamCursor } from '../../stream/stream-cursor.ts'
import { emptyStore, invalidPagination } from '../http/errors.ts'
import { selectionOf } from '../questions/page-request.ts'
import { PARAMETER_TYPES } from '../questions/parameter-types.ts'
import {
  byName,
  filterParameter,
  filterParametersOf,
  type Parameter,
  type ParameterValues,
} from '../questions/parameters.ts'

const START_PARAMETERS: readonly Parameter[] = [
  {
    name: 'after',
    type: PARAMETER_TYPES.cursor,
    description:
      "Rows after this one: the id of an event of such a stream, or the cursor of a page's row. `Last-Event-ID` takes precedence.",
  },
  {
    name: 'afterBlock',
    type: PARAMETER_TYPES.uint64,
    description:
      'Rows of the blocks after this height, such as the `X-Block-Height` of a page. Cannot be combined with `after`.',
  },
]

/** The query parameters of a resource's stream, by name. */
export function streamParametersOf(resource: Resource): readonly Parameter[] {
  return byName([
    ...START_PARAMETERS,
    ...(resource.scope === null ? [] : [filterParameter(filterOf(resource.scope))]),
    ...filterParametersOf(resource, 'stream'),
  ])
}

/** A request for a stream, checked. */
export type StreamRequest = { selection: Selection; start: Start; position: Position }

/**
 * Checks a request's parameters, in the order of docs/api.md's table of errors.
 *
 * @param lastEventId the header of a reconnecting client; otherwise empty
 *
 * @throws {ApiError} 400 if a parameter is missing, malformed or contradictory; 503 for an empty store.
 */
export async function streamRequest(
  resource: Resource,
  values: ParameterValues,
  lastEventId: string,
  reader: Reader,
): Promise<StreamRequest> {
  const selection = selectionOf(resource, 'stream', null, values)
  const after = values.get('after') as string | undefined
  const afterBlock = values.get('afterBlock') as bigint | undefined
  if (after !== undefined && afterBlock !== undefined) {
    throw invalidPagination('after and afterBlock cannot be combined; give one of them')
  }
  const [name, cursor] = lastEventId === '' ? ['after', after] : ['Last-Event-ID', lastEventId]
  const lacks = cursor === undefined ? null : decodeStreamCursor(resource, selection, cursor)
  const place =
    cursor === undefined || lacks !== null
      ? null
      : await placeOfCursor(resource, selection, name!, cursor, reader)
  const { position } = await reader.freshness(null)
  if (position === null) throw emptyStore()
  if (lacks !== null) return { selection, start: { lacks }, position }
  if (place !== null) return { selection, start: { after: place }, position }
  if (afterBlock === undefined) return { selection, start: 'now', position }
  return { selection, start: { after: { height: afterBlock + 1n, index: 0 } }, position }
}

/** The position of a page's row, by its cursor. */
async function placeOfCursor(
  resource: Resource,
  selection: Selection,
  name: string,
  cursor: string,
  reader: Reader,
): Promise<Place> {
  const isOfAll = isOfAllMarkets(resource, selection)
  const found = isOfAll ? decodeMarketCursor(resource, cursor) : decodeCursor(resource, selection, cursor)
  const row = isOfAll ? 'a row in an export of all markets' : 'a row'
  const allowed = `use the id of an event of this stream, or the cursor of ${row}`
  if (typeof found === 'string') throw invalidPagination(`${name} is not a cursor of this stream; ${allowed}`)
  const [rowSelection, key] = 'key' in found ? [{ marketId: found.marketId }, found.key] : [selection, found]
  const place = await reader.read(() => readPlace(resource, rowSelection, key))
  if (place === null)
    throw invalidPagination(`${name} is the cursor of a row that no longer exists; ${allowed}`)
  return place
}

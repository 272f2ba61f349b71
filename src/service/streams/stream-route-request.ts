import type { EventPosition } from '#core/domain/event-position'
import { filterOf } from '#core/model/filters'
import { isOfAllMarkets, type Resource, type Selection } from '#core/model/resource'
import { decodeCursor } from '#core/resources/cursor'
import { decodeMarketCursor } from '#core/resources/market-cursor'
import type { StoreHead } from '#core/store/pages/page'
import { readPosition } from '#core/store/queries/unseen/unseen-rows'
import type { Reader } from '#core/store/store'
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
import type { Start } from './follower.ts'
import { decodeStreamCursor } from './stream-cursor.ts'

/** For clients that add the last id to the address because they cannot set headers. */
const LAST_EVENT_ID: Parameter = {
  name: 'lastEventId',
  type: PARAMETER_TYPES.streamId,
  description:
    'The last id received, for clients that cannot set the header `Last-Event-ID`, which takes precedence. Empty: as if not given.',
}

const START_PARAMETERS: readonly Parameter[] = [
  LAST_EVENT_ID,
  {
    name: 'after',
    type: PARAMETER_TYPES.streamId,
    description:
      "Rows after this one: the id of an event of such a stream, or the cursor of a page's row. `Last-Event-ID` and `lastEventId` take precedence. Empty: as if not given.",
  },
  {
    name: 'afterBlock',
    type: PARAMETER_TYPES.startBlock,
    description:
      'Rows of the blocks after this height, such as the `X-Block-Height` of a page. Cannot be combined with `after`. Empty: as if not given.',
  },
]

/** The id or cursor to resume after, with the name by which the client gives it; null if it gives none. */
type ResumedId = { name: string; id: string } | null

/** @param lastIdHeader the header `Last-Event-ID`; empty if the client sends none */
function resumedId(values: ParameterValues, lastIdHeader: string): ResumedId {
  if (lastIdHeader !== '') return { name: 'Last-Event-ID', id: lastIdHeader }
  for (const name of ['lastEventId', 'after']) {
    const id = startValue<string>(values, name)
    if (id !== undefined) return { name, id }
  }
  return null
}

/** A parameter of the start. Undefined if it is absent or empty: some clients send an empty one before they have an id. */
function startValue<Value>(values: ParameterValues, name: string): Value | undefined {
  const value = values.get(name)
  return value === '' ? undefined : (value as Value | undefined)
}

/** The query parameters of a resource's stream, by name. */
export function streamParametersOf(resource: Resource): readonly Parameter[] {
  return byName([
    ...START_PARAMETERS,
    ...(resource.scope === null ? [] : [filterParameter(filterOf(resource.scope))]),
    ...filterParametersOf(resource, 'stream'),
  ])
}

/** A request for a stream, checked. */
type StreamRequest = { selection: Selection; start: Start; storeHead: StoreHead }

/**
 * Checks a request's parameters, in the order of docs/api.md's table of errors.
 *
 * @param lastIdHeader the header `Last-Event-ID`; empty if the client sends none
 *
 * @throws {ApiError} 400 if a parameter is missing, malformed or contradictory; 503 for an empty store.
 */
export async function streamRequest(
  resource: Resource,
  values: ParameterValues,
  lastIdHeader: string,
  reader: Reader,
): Promise<StreamRequest> {
  const selection = selectionOf(resource, 'stream', null, values)
  const afterBlock = startValue<bigint>(values, 'afterBlock')
  if (startValue(values, 'after') !== undefined && afterBlock !== undefined) {
    throw invalidPagination('after and afterBlock cannot be combined; give one of them')
  }
  const resumed = resumedId(values, lastIdHeader)
  const unseen = resumed === null ? null : decodeStreamCursor(resource, selection, resumed.id)
  const position =
    resumed === null || unseen !== null
      ? null
      : await positionOfCursor(resource, selection, resumed.name, resumed.id, reader)
  const { storeHead } = await reader.freshness(null)
  if (storeHead === null) throw emptyStore()
  if (unseen !== null) return { selection, start: { unseen }, storeHead }
  if (position !== null) return { selection, start: { after: position }, storeHead }
  if (afterBlock === undefined) return { selection, start: 'now', storeHead }
  return { selection, start: { after: { height: afterBlock + 1n, index: 0 } }, storeHead }
}

/** The position of a page's row, by its cursor. */
async function positionOfCursor(
  resource: Resource,
  selection: Selection,
  name: string,
  cursor: string,
  reader: Reader,
): Promise<EventPosition> {
  const isOfAll = isOfAllMarkets(resource, selection)
  const decoded = isOfAll ? decodeMarketCursor(resource, cursor) : decodeCursor(resource, selection, cursor)
  const row = isOfAll ? 'a row in an export of all markets' : 'a row'
  const allowed = `use the id of an event of this stream, or the cursor of ${row}`
  if (typeof decoded === 'string')
    throw invalidPagination(`${name} is not a cursor of this stream; ${allowed}`)
  const [rowSelection, key] =
    'key' in decoded ? [{ marketId: decoded.marketId }, decoded.key] : [selection, decoded]
  const position = await reader.read(() => readPosition(resource, rowSelection, key))
  if (position === null)
    throw invalidPagination(`${name} is the cursor of a row that no longer exists; ${allowed}`)
  return position
}

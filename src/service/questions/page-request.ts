import { ASSET_ID, canonicalId, MARKET_ID, PARTY_ID, TRADER_ID } from '#core/domain/ids'
import { filterOf, fixingFilter, idSet } from '#core/model/filters'
import type { Filter, Key, KeyValue, RequestKind, Resource, Selection } from '#core/model/resource'
import { type CursorFault, decodeCursor } from '#core/resources/cursor'
import type { PageQuery } from '#core/store/pages/page'
import {
  type ApiError,
  invalidAssetId,
  invalidMarketId,
  invalidPagination,
  invalidPartyId,
  invalidTraderId,
  missingFilter,
  missingMarketId,
  missingPartyIds,
} from '../http/errors.ts'
import { DEFAULT_PAGE_SIZE, PARAMETER_TYPES, type SizeType } from './parameter-types.ts'
import { dateRangeOf, type ParameterValues } from './parameters.ts'

/** The checked request for a page, without its resource, which cannot be sent between threads. */
export type CheckedPage = Omit<PageQuery, 'resource'>

/**
 * Checks a request's parameters, in the order of docs/api.md's table of errors.
 *
 * @param pathMarketId the market id of the path, if the resource has one there
 * @param kind `export` for all rows that the filters select, also those that a list has only on demand
 *
 * @throws {ApiError} 400 if a parameter is missing, malformed, out of range or contradictory.
 */
export function pageRequest(
  resource: Resource,
  pathMarketId: string | null,
  values: ParameterValues,
  kind: 'list' | 'export' = 'list',
): CheckedPage {
  const selection = selectionOf(resource, kind, pathMarketId, values)
  const { limit, backward, cursor } = paginationOf(resource, selection, values)
  const newestFirst = (values.get('pagination.newestFirst') as boolean | undefined) ?? true
  const edges = backward ? 'reversed' : 'as read'
  return { selection, descending: newestFirst !== backward, cursor, limit, edges }
}

/**
 * The selection of a request.
 *
 * @param scopeId the required market id, empty if it is missing; null if the resource needs none
 *
 * @throws {ApiError} 400 for a filter or an id that is missing or malformed.
 */
export function selectionOf(
  resource: Resource,
  kind: RequestKind,
  scopeId: string | null,
  values: ParameterValues,
): Selection {
  const { scope, filters, required, flags, selectionRule } = resource
  const missing = missingFilterOf(resource, kind)
  if (missing !== null && !required[kind]!.some((name) => values.has(name))) throw missing
  const alone = flags.find(({ name, needs }) => values.get(name) === true && !values.has(needs))
  if (alone !== undefined) throw missingPartyIds(alone.name, alone.needs)
  if (scopeId === '') throw missingMarketId()
  const selection: Selection = scopeId === null ? {} : { marketId: checkedId('marketId', scopeId) }
  const set = (field: keyof Selection, value: KeyValue) => Object.assign(selection, { [field]: value })
  // In an export over all markets the market of such a resource is a filter, too.
  for (const { name, type } of scope === null ? filters : [filterOf(scope), ...filters]) {
    const value = values.get(name) as KeyValue | readonly string[] | undefined
    // SOURCE_UNSPECIFIED is the documented default, which published clients send: it restricts nothing.
    if (value === undefined || (type === 'source' && value === 0n)) continue
    if (typeof value === 'object') set(name, idSet(value.map((id) => checkedId('partyId', id))))
    else set(name, isId(type) ? checkedId(type, value as string) : value)
  }
  const { start, end } = dateRangeOf(values)
  if (start !== null) set('from', start)
  if (end !== null) set('to', end)
  return selectionRule === undefined ? selection : selectionRule(selection, kind)
}

const IDS = {
  marketId: { pattern: MARKET_ID, refusal: invalidMarketId },
  partyId: { pattern: PARTY_ID, refusal: invalidPartyId },
  traderId: { pattern: TRADER_ID, refusal: invalidTraderId },
  assetId: { pattern: ASSET_ID, refusal: invalidAssetId },
}

const isId = (type: Filter['type']): type is keyof typeof IDS => type in IDS

/**
 * The refusal of a request of a kind that gives none of the filters it needs; null if it needs none. The only one, if it is an
 * id, is refused as if it were empty.
 */
export function missingFilterOf({ filters, required }: Resource, kind: RequestKind): ApiError | null {
  const needed = required[kind] ?? []
  if (needed.length === 0) return null
  const [type] = needed.map((needed) => filters.find(({ name }) => name === needed)!.type)
  return needed.length === 1 && isId(type!) ? IDS[type].refusal('') : missingFilter(needed)
}

/**
 * The market that a path names.
 *
 * @throws {ApiError} 400 for an id that is missing or malformed.
 */
export function marketIdOfPath(marketId: string | null): string {
  if (marketId === null || marketId === '') throw missingMarketId()
  return checkedId('marketId', marketId)
}

/**
 * The party that a path names.
 *
 * @throws {ApiError} 400 for an id that is missing or malformed.
 */
export function partyIdOfPath(partyId: string | null): string {
  return checkedId('partyId', partyId ?? '')
}

/** An id in lower case; a name is unchanged. @throws {ApiError} 400 if it is malformed. */
export function checkedId(name: keyof typeof IDS, id: string): string {
  const { pattern, refusal } = IDS[name]
  if (!pattern.test(id)) throw refusal(id)
  return canonicalId(id)
}

type Pagination = { limit: number; backward: boolean; cursor: Key | null }

/** `first` takes precedence over `last`; ignored parameters are not checked (docs/api.md, pages). */
function paginationOf(resource: Resource, selection: Selection, values: ParameterValues): Pagination {
  const after = values.get('pagination.after') as string | undefined
  const before = values.get('pagination.before') as string | undefined
  const first = values.get('pagination.first') as bigint | undefined
  const last = values.get('pagination.last') as bigint | undefined
  if (after !== undefined && before !== undefined) {
    throw invalidPagination('cannot set both an after and a before cursor; give one of them')
  }
  const backward = first === undefined && (last !== undefined || before !== undefined)
  const [cursorName, text] = backward ? ['before', before] : ['after', after]
  const [sizeName, size] = backward ? ['last', last] : ['first', first]
  const cursor = text === undefined ? null : cursorOf(resource, selection, `pagination.${cursorName}`, text)
  return { limit: pageSize(`pagination.${sizeName}`, size), backward, cursor }
}

/** @throws {ApiError} 400 for a size that no page has. */
export function pageSize(
  name: string,
  size: bigint | undefined,
  { allowed, maximum }: SizeType = PARAMETER_TYPES.pageSize,
): number {
  if (size === undefined) return DEFAULT_PAGE_SIZE
  if (size < 1n || size > BigInt(maximum)) {
    throw invalidPagination(`${name} must be ${allowed}, not ${size}`)
  }
  return Number(size)
}

const CURSOR_FAULTS: Record<CursorFault, string> = {
  empty: 'is empty',
  garbled: 'is not a valid cursor',
  'of another resource': 'is a cursor of another resource',
  'of another market': 'is a cursor of another market',
}

const ALLOWED_CURSOR = 'use one from an earlier response for the same list and the same market or party'

/** The error for an invalid cursor. */
export function invalidCursor(name: string, fault: CursorFault): ApiError {
  return invalidPagination(`${name} ${CURSOR_FAULTS[fault]}; ${ALLOWED_CURSOR}`)
}

/**
 * The key that a cursor of a request holds.
 *
 * @throws {ApiError} 400 for one that is not of the selection.
 */
export function cursorOf(resource: Resource, selection: Selection, name: string, text: string): Key {
  const key = decodeCursor(resource, selection, text)
  if (typeof key === 'string') throw invalidCursor(name, key)
  for (const [index, { column, type }] of resource.key.entries()) {
    const filter = type === 'id' ? fixingFilter(resource, selection, column) : undefined
    if (filter === undefined || selection[filter.name] === key[index]) continue
    const what = filter.type === 'marketId' ? 'market' : 'party'
    throw invalidPagination(`${name} is a cursor of another ${what}; ${ALLOWED_CURSOR}`)
  }
  return key
}

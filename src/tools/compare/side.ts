import type { HeightRange } from '#core/domain/height-ranges'
import { columnOf, isObject, namesOf } from '#core/model/field'
import type { Key, KeyValue, Resource } from '#core/model/resource'
import { decodeCursor } from '#core/resources/cursor'
import { CompareError } from './compare-error.ts'

/** A row as the API returns it, with its key; `exact` is the key before its time was cut to the microsecond. */
export type ComparedRow = { key: Key; exact?: Key; node: Readonly<Record<string, unknown>> }

/** The coverage of a side, as far as the side reports it. */
export type SideCoverage = {
  /** Null if the side does not report it. */
  chainId: string | null
  /**
   * Heights of blocks that are complete or imported, ascending; for a data node of the reference, all up to its own height.
   */
  heights: readonly HeightRange[]
  /** Imported heights, whose rows may be incomplete. */
  imported: readonly HeightRange[]
  /** Time of the last block, Unix nanoseconds; null if unknown. */
  timestamp: bigint | null
  /** Whether old rows have been deleted. */
  isPruned: boolean
  /** The markets with rows of a resource. */
  markets: (resource: Resource) => readonly string[]
}

/** One of two sides that are compared: a store, or a service by its address. */
export type Side = {
  name: string
  coverage: SideCoverage
  /** Whether its rows may change while they are read. */
  isLive: boolean
  /** Whether it is a data node of the reference, which has fewer lists, and times only in microseconds. */
  isReference: boolean
  /** The current height of its rows. */
  height(): Promise<bigint>
  /**
   * All rows of a resource, or of one market if the rows are requested by market: many at a time, ascending at least by the
   * first column of the key.
   *
   * @param atHeight the height that the side must have; null for any
   *
   * @throws {HeightMovedError} if a live side no longer has it.
   */
  rows(
    resource: Resource,
    marketId: string | null,
    atHeight: bigint | null,
  ): AsyncIterable<readonly ComparedRow[]>
  /** The block that a row is from; null if the side does not report it. */
  blockOf(resource: Resource, marketId: string | null, key: Key): Promise<bigint | null>
  /**
   * How many points the block of a data point, at `height`, has with the same market, seq and source; null if the side does
   * not report it.
   */
  pointsBeside(marketId: string, key: Key, height: bigint): Promise<bigint | null>
  close(): Promise<void>
}

/** A live side has received further blocks while it was read. */
export class HeightMovedError extends Error {
  override name = 'HeightMovedError'
}

/** Whether a resource's rows are requested for each market separately. */
export function isByMarket({ scope, required }: Resource): boolean {
  return scope === 'marketId' || required.list?.includes('marketId') === true
}

/** Whether every request for a resource's rows must name a party. */
export function isByPartyAlone({ required }: Resource): boolean {
  return required.list?.join() === 'partyId'
}

/** Whether no field of a resource's nodes shows some part of their key. */
export function hasHiddenKey({ key }: Resource): boolean {
  return key.some(({ hidden }) => hidden !== undefined)
}

/**
 * The key of a row, from its cursor.
 *
 * @throws {CompareError} if it is no cursor of the resource.
 */
export function keyOfCursor(resource: Resource, cursor: string, from: string): Key {
  const key = decodeCursor(resource, {}, cursor)
  if (typeof key !== 'string') return key
  throw new CompareError(
    `${from}: a row of ${resource.name} has the cursor ${JSON.stringify(cursor.slice(0, 80))}`,
  )
}

/**
 * The key of a row, from its node.
 *
 * @throws {CompareError} if the node has no value for a part of it.
 */
export function keyOfNode(resource: Resource, node: Readonly<Record<string, unknown>>, from: string): Key {
  return resource.key.map(({ column, type }): KeyValue => {
    const field = resource.fields.find((one) => columnOf(one) === column && !isObject(one.form))
    if (field === undefined) throw new TypeError(`${resource.name}: no field of its node shows ${column}`)
    const value = node[field.name]
    const names = namesOf(field.form)
    if (names?.includes(String(value))) return BigInt(names.indexOf(String(value)))
    if ((type === 'id' || type === 'text') && typeof value === 'string') return value
    if (typeof value === 'string' && /^-?\d{1,20}$/.test(value)) return BigInt(value)
    throw new CompareError(
      `${from}: a row of ${resource.name} has ${JSON.stringify(value)?.slice(0, 80)} as ${field.name}; this is not the address of a Lyra service or Vega data node`,
    )
  })
}

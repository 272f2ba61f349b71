import type { HeightRange } from '#core/domain/coverage'
import { columnOf, isObject, namesOf } from '#core/model/field'
import type { Key, KeyValue, Resource } from '#core/model/resource'
import { CompareError } from './compare-error.ts'

/** A row as the API gives it, with its key; `exact`: the key before its time was cut to the microsecond. */
export type ComparedRow = { key: Key; exact?: Key; node: Readonly<Record<string, unknown>> }

/** The coverage of a side, as far as it is reported. */
export type SideCoverage = {
  /** Null if it does not say. */
  chainId: string | null
  /** Heights held whole or imported, ascending; of a data node of the reference all up to its own. */
  heights: readonly HeightRange[]
  /** Imported heights: some of their rows may be missing. */
  imported: readonly HeightRange[]
  /** The last block's time, Unix nanoseconds; null if it is not known. */
  timestamp: bigint | null
  /** Whether old rows have been deleted. */
  isPruned: boolean
  /** The markets that rows of a resource are of. */
  markets: (resource: Resource) => readonly string[]
}

/** One of the two that are compared: a store, or a service by its address. */
export type Side = {
  name: string
  held: SideCoverage
  /** Whether its rows may change while they are read. */
  isLive: boolean
  /** Whether it is a data node of the reference: that lists less, and keeps times to the microsecond. */
  isReference: boolean
  /** The height that its rows are of now. */
  height(): Promise<bigint>
  /**
   * All rows of a resource, of a market if its rows are asked for by market, ascending by the first column of the
   * key at least, some at a time.
   *
   * @param atHeight the height that the rows must be of; null: any
   * @throws {HeightMovedError} if a live side has moved on from it.
   */
  rows(
    resource: Resource,
    marketId: string | null,
    atHeight: bigint | null,
  ): AsyncIterable<readonly ComparedRow[]>
  /** The block that a row comes from; null if the side does not say. */
  blockOf(resource: Resource, marketId: string | null, key: Key): Promise<bigint | null>
  /**
   * How many points the block of a data point, at `height`, has of its market, seq and source; null if the side
   * does not say.
   */
  pointsBeside(marketId: string, key: Key, height: bigint): Promise<bigint | null>
  close(): Promise<void>
}

/** A live side has moved on while it was read. */
export class HeightMovedError extends Error {
  override name = 'HeightMovedError'
}

/** Whether a resource's rows are asked for market by market. */
export function isByMarket({ scope, required }: Resource): boolean {
  return scope === 'marketId' || required.list?.includes('marketId') === true
}

/** Whether each request for a resource's rows names a party. */
export function isByPartyAlone({ required }: Resource): boolean {
  return required.list?.join() === 'partyId'
}

/**
 * The key of a row, from its node.
 *
 * @throws {CompareError} if a part is missing in the node.
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

import { setTimeout as sleep } from 'node:timers/promises'
import { compareNumbers } from '#core/domain/compare-numbers'
import { type HeightRange, type InText, inText } from '#core/domain/height-ranges'
import { cutToMicrosecond } from '#core/domain/time'
import type { Field } from '#core/model/field'
import { compareResourceKeys, type Resource } from '#core/model/resource'
import { RESOURCES } from '#core/resources/resources'
import { commonHeights } from './common-heights.ts'
import { CompareError } from './compare-error.ts'
import { compareRows, type Pair, type RowRules } from './compare-rows.ts'
import { coverOf, exactKey, type RowsCompared } from './cover.ts'
import { canonical, cutToMicroseconds, inOrder } from './rows-in-order.ts'
import {
  type ComparedRow,
  HeightMovedError,
  hasHiddenKey,
  isByMarket,
  isByPartyAlone,
  type Side,
} from './side.ts'

/** The first difference between two sides; a side without the row is null. */
export type Difference = {
  marketId: string | null
  /** The values of the key, by column. */
  key: Record<string, string>
  a: ComparedRow['node'] | null
  b: ComparedRow['node'] | null
  /** The fields that differ, if both sides have the row. */
  fields: readonly string[]
}

/** Result of comparing a resource. */
export type ResourceComparison = {
  resource: string
  /** Number of rows that are equal on both sides, up to the first difference. */
  same: number
  /** Number of skipped rows, whose blocks or times one side does not cover. */
  notCovered: number
  /**
   * Number of data points that a data node cannot store: it stores only one of those with the same block, market, seq and
   * source. For a service, whose blocks are unknown, all points that only the data node does not have.
   */
  lost: number
  difference: Difference | null
  /** Why the resource was not compared; null if it was. */
  notCompared: string | null
}

export type Comparison = {
  a: string
  b: string
  chainId: string | null
  /** The heights that both have completely, or imported. */
  heights: InText<HeightRange>[]
  resources: ResourceComparison[]
}

type CompareOptions = { signal: AbortSignal; onStep?: (what: string) => void }

/**
 * How often changing rows are read again until both sides have the same height, and the milliseconds between two attempts.
 */
const TRIES = 20
const TRY_WAIT_MS = 250

/**
 * How often a difference to a data node of the reference is checked again, because it names a block before it has the
 * block's rows.
 */
const REFERENCE_ROUNDS = 3

/**
 * Compares the rows that both sides cover. Of resources whose rows never change it compares those of common blocks, of all
 * others all rows, once both sides have the same height. It stops at the first difference of each resource.
 *
 * @throws {CompareError} if nothing can be compared.
 */
export async function compareSides(a: Side, b: Side, options: CompareOptions): Promise<Comparison> {
  if (a.isReference && b.isReference) {
    throw new CompareError(
      'both are Vega data nodes, which do not list their markets: one of the two must be Lyra',
    )
  }
  const heights = commonHeights({ ...a.coverage, name: a.name }, { ...b.coverage, name: b.name })
  const resources: ResourceComparison[] = []
  for (const resource of RESOURCES) {
    options.signal.throwIfAborted()
    options.onStep?.(resource.name)
    resources.push(await compareResource(a, b, heights, resource, options))
  }
  return {
    a: a.name,
    b: b.name,
    chainId: a.coverage.chainId ?? b.coverage.chainId,
    heights: heights.map(inText),
    resources,
  }
}

async function compareResource(
  a: Side,
  b: Side,
  heights: readonly HeightRange[],
  resource: Resource,
  { signal }: CompareOptions,
): Promise<ResourceComparison> {
  let result: ResourceComparison = {
    resource: resource.name,
    same: 0,
    notCovered: 0,
    lost: 0,
    difference: null,
    notCompared: null,
  }
  const reference = [a, b].find((side) => side.isReference)
  if (reference !== undefined && !resource.isOfReference)
    return { ...result, notCompared: `${reference.name} does not list them` }
  if (reference !== undefined && hasHiddenKey(resource))
    return { ...result, notCompared: `${reference.name} does not say of which event each is` }
  const partial = [a, b].find((side) => side.isLive && isByPartyAlone(resource))
  if (partial !== undefined)
    return { ...result, notCompared: `${partial.name} lists only those of one party` }
  const markets = isByMarket(resource)
    ? [...new Set([...a.coverage.markets(resource), ...b.coverage.markets(resource)])].sort()
    : [null]
  for (const marketId of markets) {
    const compare = (atHeight: bigint | null) =>
      compareRowsOf({ a, b, heights, resource, marketId, atHeight }, result)
    const further = resource.rowsStay ? await compare(null) : await atOneHeight(a, b, compare, signal)
    if (typeof further === 'string') return { ...result, notCompared: further }
    result = further
    if (result.difference !== null) break
  }
  return result
}

/** Compares changing rows at a common height; returns the reason if that is impossible. */
async function atOneHeight(
  a: Side,
  b: Side,
  compare: (height: bigint) => Promise<ResourceComparison>,
  signal: AbortSignal,
): Promise<ResourceComparison | string> {
  let roundsLeft = a.isReference || b.isReference ? REFERENCE_ROUNDS : 1
  for (let tried = 1; ; tried++) {
    const [ofA, ofB] = await Promise.all([a.height(), b.height()])
    if (ofA === ofB) {
      try {
        const part = await compare(ofA)
        if (part.difference === null || --roundsLeft === 0) return part
      } catch (error) {
        if (!(error instanceof HeightMovedError)) throw error
      }
    }
    // The side that lags must be able to catch up.
    const canMeet = ofA === ofB || (ofA < ofB ? a : b).isLive
    if (!canMeet || tried >= TRIES) {
      return `they show the state at the last block, which is ${ofA} for ${a.name} and ${ofB} for ${b.name}`
    }
    await sleep(TRY_WAIT_MS, undefined, { signal })
  }
}

/** Continues a comparison with more rows. */
async function compareRowsOf(
  compared: RowsCompared,
  before: ResourceComparison,
): Promise<ResourceComparison> {
  const { a, b, resource, marketId, atHeight } = compared
  const cutsTimes = [a, b].some(({ isReference, coverage }) => isReference || coverage.imported.length > 0)
  const [rowsA, rowsB] = [a, b].map((side) =>
    inOrder(cutToMicroseconds(side.rows(resource, marketId, atHeight), compared), side.name),
  )
  const rules: RowRules<ComparedRow, Pair<ComparedRow>> = {
    order: (x, y) => compareResourceKeys(x.key, y.key),
    fieldsOf: (x, y) =>
      resource.fields.flatMap(({ name, form }) =>
        isSame(form, x.node[name], y.node[name], cutsTimes) ? [] : [name],
      ),
    describe: (pair) => pair,
    allowances: {
      lost: (pair) => isLost(compared, pair),
      notCovered: async (pair) => (await coverOf(compared, pair)) !== 'covered',
    },
  }
  const { same, notCovered, lost } = before
  const counts = { same, notCovered, lost }
  for await (const { a, b, fields } of compareRows(rowsA!, rowsB!, rules, counts)) {
    const values = (a ?? b)!.key.map(String)
    const key = Object.fromEntries(resource.key.map(({ column }, index) => [column, values[index]!]))
    const difference = { marketId, key, a: a?.node ?? null, b: b?.node ?? null, fields }
    return { ...before, ...counts, difference }
  }
  return { ...before, ...counts }
}

/** Whether a row is a data point that the other side, a data node of the reference, cannot store. */
async function isLost(
  { a, b, resource, marketId }: RowsCompared,
  { a: left, b: right }: Pair<ComparedRow>,
): Promise<boolean> {
  const row = left ?? right!
  const [own, other] = left === null ? [b, a] : [a, b]
  if (left !== null && right !== null) return false
  if (resource.name !== 'fundingPeriodDataPoints' || marketId === null || !other.isReference) return false
  const key = exactKey(row)
  const height = await own.blockOf(resource, marketId, key)
  const beside = height === null ? null : await own.pointsBeside(marketId, key, height)
  return beside === null || beside > 1n
}

/** Whether two values of a field are equal; numbers are compared as numbers. */
function isSame(form: Field['form'], a: unknown, b: unknown, cutsTimes: boolean): boolean {
  if (a === b) return true
  if (typeof a === 'string' && typeof b === 'string') {
    if (form === 'number' || form === 'rate') return compareNumbers(a, b) === 0
    if (form !== 'time' || !cutsTimes) return false
    const isTime = (text: string) => /^-?\d{1,20}$/.test(text)
    return isTime(a) && isTime(b) && cutToMicrosecond(BigInt(a)) === cutToMicrosecond(BigInt(b))
  }
  return canonical(a) === canonical(b)
}

import { setTimeout as sleep } from 'node:timers/promises'
import { compareNumbers } from '#core/domain/compare-numbers'
import { type HeightRange, type InText, inText, isWithin } from '#core/domain/coverage'
import { cutToMicrosecond } from '#core/domain/time'
import { count } from '#core/domain/words'
import type { Field } from '#core/model/field'
import { compareResourceKeys, type Resource } from '#core/model/resource'
import { RESOURCES } from '#core/resources/resources'
import { commonHeights } from './common-heights.ts'
import { CompareError } from './compare-error.ts'
import { compareRows, type Pair, type RowRules } from './compare-rows.ts'
import { type ComparedRow, HeightMovedError, isByMarket, isByPartyAlone, type Side } from './side.ts'

/** The first difference between two sides; null: no row. */
export type Difference = {
  marketId: string | null
  /** The key by its columns. */
  key: Record<string, string>
  a: ComparedRow['node'] | null
  b: ComparedRow['node'] | null
  /** The fields that differ, if both have the row. */
  fields: readonly string[]
}

/** Result of comparing a resource. */
export type ResourceComparison = {
  resource: string
  /** Rows that are the same in both, up to the first difference. */
  same: number
  /** Rows passed over: of blocks, or of times, that not both cover. */
  notCovered: number
  /**
   * Data points that a data node cannot keep: it keeps one of those with the same block, market, seq and source. For a
   * service, whose blocks are unknown, all that only the data node is missing.
   */
  lost: number
  difference: Difference | null
  /** Why it was not compared; null if it was. */
  notCompared: string | null
}

export type Comparison = {
  a: string
  b: string
  chainId: string | null
  /** The heights that both hold whole or imported. */
  heights: InText<HeightRange>[]
  resources: ResourceComparison[]
}

type CompareOptions = { signal: AbortSignal; onStep?: (what: string) => void }

/** Rows under one value of the key's first column, at most: more are a fault of the service that sends them. */
const MAX_GROUP_ROWS = 100_000

/** How often changing rows are read again until both sides are at one height; milliseconds between attempts. */
const TRIES = 20
const TRY_WAIT_MS = 250

/** How often a difference to a data node of the reference is looked at again: it names a block before it has its rows. */
const REFERENCE_ROUNDS = 3

/** What lies so close to the last common block is not compared if a row's block is not known: it may come late. */
const LATE_NS = 60_000_000_000n

/** A key's column that is the height of the row's block. */
const BLOCK_COLUMN = 'at_block'

/**
 * Compares the rows covered by both sides: for resources whose rows never change, those of common blocks; for all
 * others, all rows, once both sides are at one height. Ends a resource at its first difference.
 *
 * @throws {CompareError} if nothing can be compared.
 */
export async function compareSides(a: Side, b: Side, options: CompareOptions): Promise<Comparison> {
  if (a.isReference && b.isReference) {
    throw new CompareError(
      'both are Vega data nodes, which do not list their markets: one of the two must be Lyra',
    )
  }
  const heights = commonHeights({ ...a.held, name: a.name }, { ...b.held, name: b.name })
  const resources: ResourceComparison[] = []
  for (const resource of RESOURCES) {
    options.signal.throwIfAborted()
    options.onStep?.(resource.name)
    resources.push(await compareResource(a, b, heights, resource, options))
  }
  return {
    a: a.name,
    b: b.name,
    chainId: a.held.chainId ?? b.held.chainId,
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
  const foreign = [a, b].find((side) => side.isReference && resource.grpcMethod === undefined)
  if (foreign !== undefined) return { ...result, notCompared: `${foreign.name} does not list them` }
  const partial = [a, b].find((side) => side.isLive && isByPartyAlone(resource))
  if (partial !== undefined)
    return { ...result, notCompared: `${partial.name} lists only those of one party` }
  const markets = isByMarket(resource)
    ? [...new Set([...a.held.markets(resource), ...b.held.markets(resource)])].sort()
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
    // The one that is behind must catch up.
    const canMeet = ofA === ofB || (ofA < ofB ? a : b).isLive
    if (!canMeet || tried >= TRIES) {
      return `they show the state at the last block, which is ${ofA} for ${a.name} and ${ofB} for ${b.name}`
    }
    await sleep(TRY_WAIT_MS, undefined, { signal })
  }
}

type RowsCompared = {
  a: Side
  b: Side
  heights: readonly HeightRange[]
  resource: Resource
  marketId: string | null
  /** Null: the rows are those of blocks that both cover. */
  atHeight: bigint | null
}

/** Continues a comparison with further rows. */
async function compareRowsOf(
  compared: RowsCompared,
  before: ResourceComparison,
): Promise<ResourceComparison> {
  const { a, b, resource, marketId, atHeight } = compared
  const cutsTimes = [a, b].some(({ isReference, held }) => isReference || held.imported.length > 0)
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
      notCovered: async (pair) => !(await isCovered(compared, pair)),
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

/** Rows with their times cut to the microsecond, if one side is a data node of the reference: it keeps no more digits. */
async function* cutToMicroseconds(
  chunks: AsyncIterable<readonly ComparedRow[]>,
  { a, b, resource }: RowsCompared,
): AsyncGenerator<readonly ComparedRow[], void, undefined> {
  if (!resource.dateRange || !(a.isReference || b.isReference)) return yield* chunks
  for await (const rows of chunks) {
    yield rows.map((row) => {
      const [time, ...rest] = row.key
      return { ...row, key: [cutToMicrosecond(time as bigint), ...rest], exact: row.key }
    })
  }
}

/** A row's key with its time as it was sent. */
const exactKey = ({ key, exact }: ComparedRow) => exact ?? key

/** Whether a row is a data point that the data node of the reference on the other side cannot hold. */
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

/** Rows in the order of their whole key, each once; those under one value of its first column at a time. */
async function* inOrder(
  chunks: AsyncIterable<readonly ComparedRow[]>,
  name: string,
): AsyncGenerator<ComparedRow[], void, undefined> {
  let group: ComparedRow[] = []
  const whole = () => {
    const sorted = group.sort(
      (x, y) => compareResourceKeys(x.key, y.key) || compareResourceKeys(x.exact ?? [], y.exact ?? []),
    )
    // Of rows of one key with a cut time only the same row is a repetition.
    return sorted.filter((row, index) => {
      const before = sorted[index - 1]
      if (before === undefined || compareResourceKeys(row.key, before.key) !== 0) return true
      return row.exact !== undefined && canonical(row.node) !== canonical(before.node)
    })
  }
  for await (const rows of chunks) {
    for (const row of rows) {
      const order = group.length === 0 ? 0 : compareResourceKeys([row.key[0]!], [group[0]!.key[0]!])
      // The reference's pages begin with rows that the page before has ended with.
      if (order < 0) continue
      if (order > 0) {
        yield whole()
        group = []
      }
      group.push(row)
      if (group.length > MAX_GROUP_ROWS) group = whole()
      if (group.length > MAX_GROUP_ROWS) {
        throw new CompareError(`${name}: more than ${count(MAX_GROUP_ROWS)} rows under one key`)
      }
    }
  }
  if (group.length > 0) yield whole()
}

/** Whether a differing or missing row is of a block that both sides cover. */
async function isCovered(
  { a, b, heights, resource, marketId, atHeight }: RowsCompared,
  { a: left, b: right, isBeforeFirst }: Pair<ComparedRow>,
): Promise<boolean> {
  if (atHeight !== null) return true
  const { key } = (left ?? right)!
  const isMissingInOne = left === null || right === null
  const incomplete = left === null ? a : b
  if (isBeforeFirst && incomplete.held.isPruned) return false
  const isImported = (height: bigint) => [a, b].some(({ held }) => isWithin(held.imported, height))
  const blocks: (bigint | null)[] =
    resource.key[0]!.column === BLOCK_COLUMN
      ? [key[0] as bigint]
      : await Promise.all([
          left === null ? null : a.blockOf(resource, marketId, exactKey(left)),
          right === null ? null : b.blockOf(resource, marketId, exactKey(right)),
        ])
  const known = blocks.filter((height) => height !== null)
  if (known.length > 0) {
    if (!known.every((height) => isWithin(heights, height))) return false
    return !(isMissingInOne && known.some(isImported))
  }
  // Where its block is not known, its time must do.
  const [first] = a.held.heights
  const [other] = b.held.heights
  if (isBeforeFirst && first!.from !== other!.from) return false
  if (isMissingInOne && hasGap(incomplete.held.heights)) return false
  if (!resource.dateRange) return true
  const ends = [a, b].map(({ held }) => held.timestamp).filter((time) => time !== null)
  return ends.every((end) => (key[0] as bigint) <= end - LATE_NS)
}

function hasGap(heights: readonly HeightRange[]): boolean {
  return heights.some(({ from }, index) => index > 0 && from > heights[index - 1]!.to + 1n)
}

/** Whether two values of a field are the same, numbers compared as numbers. */
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

/** A value as JSON, the fields of objects in the order of their names. */
function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_, inner: unknown) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([x], [y]) => (x < y ? -1 : 1)))
        : inner,
    ) ?? 'undefined'
  )
}

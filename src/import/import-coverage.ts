import {
  type Coverage,
  describeHeights,
  type Gap,
  GapList,
  type HeightRange,
  type ResourceGap,
} from '../domain/coverage.ts'
import { ImportError, ImportGapError } from './import-error.ts'
import { nanoseconds } from './reference-values.ts'
import type { SourceBlock } from './source.ts'

/**
 * What a store holds while blocks are imported, by the rules that events are ingested by (docs/events.md, blocks): a hole
 * beyond the position is an error or a gap, blocks below the first height extend it downwards, and missing ones are
 * filled. What is held is never replaced.
 */
export class ImportCoverage {
  readonly #chainId: string
  readonly #allowGap: boolean
  #ends: Pick<Coverage, 'first' | 'began' | 'height' | 'timestamp' | 'blockOne'> | null
  readonly #gaps: GapList
  readonly #imported: GapList
  /** By resource, the heights that are held without its events. */
  readonly #lacking: Map<string, GapList>
  /** The heights of the blocks that this import has come by, imported now or before. */
  readonly #seen: HeightRange[] = []
  readonly #ranges = remembered(withoutKinds)

  /** @throws {ImportError} where the store holds another chain. */
  constructor(before: Coverage | null, chainId: string, allowGap: boolean) {
    if (before !== null && before.chainId !== chainId) {
      throw new ImportError(
        `the source is of chain ${JSON.stringify(chainId)}, where the store holds chain ${JSON.stringify(before.chainId)}: use one store for each chain`,
      )
    }
    this.#chainId = chainId
    this.#allowGap = allowGap
    this.#ends = before
    this.#gaps = new GapList(before?.gaps ?? [])
    this.#imported = new GapList(asGaps(before?.imported ?? []))
    const byResource = Map.groupBy(before?.resourceGaps ?? [], ({ resource }) => resource)
    this.#lacking = new Map([...byResource].map(([resource, own]) => [resource, new GapList(asGaps(own))]))
  }

  /** What the store holds once all blocks that were added are committed; null where it is empty. */
  get coverage(): Coverage | null {
    if (this.#ends === null) return null
    const { first, began, height, timestamp, blockOne } = this.#ends
    return {
      ...{ chainId: this.#chainId, first, began, blockOne, height, timestamp },
      gaps: this.#gaps.all,
      resourceGaps: this.#resourceGaps(),
      imported: this.#ranges(this.#imported.all),
    }
  }

  /** The lowest height from which on something may be imported, of a source's heights. */
  lowestWanted(from: number): number {
    if (this.#ends === null) return from
    const { first, height } = this.#ends
    if (BigInt(from) < first) return from
    const gap = this.#gaps.all.find(({ to, kind }) => kind === 'missing' && to >= from)
    const lowest = gap === undefined ? height + 1n : gap.from
    return Math.max(from, Number(lowest))
  }

  /** Whether the store lacks a block: what it holds, in part too, is left as it is. */
  wants(height: bigint): boolean {
    if (this.#ends === null || height < this.#ends.first || height > this.#ends.height) return true
    return this.#gaps.at(height)?.kind === 'missing'
  }

  /** Whether a block is held, and from events. */
  isFromEvents(height: bigint): boolean {
    return !this.wants(height) && !this.#imported.has(height)
  }

  /** Notes that the source has blocks that are held already. */
  pass(from: bigint, to: bigint): void {
    const last = this.#seen.at(-1)
    if (last !== undefined && last.to + 1n === from) last.to = to
    else if (from <= to) this.#seen.push({ from, to })
  }

  /**
   * Adds a block that is wanted, which lacks some resources as yet.
   *
   * @throws {ImportGapError} where blocks before it are missing, unless gaps are allowed.
   */
  add({ height, time }: SourceBlock, lacking: readonly string[], source: string): void {
    const at = BigInt(height)
    const timestamp = nanoseconds(time)
    const ends = this.#ends
    const one: Gap = { from: at, to: at, kind: 'missing' }
    if (ends === null) {
      this.#ends = { first: at, began: at, blockOne: null, height: at, timestamp }
    } else if (at < ends.first) {
      if (at + 1n < ends.first) this.#gaps.add({ from: at + 1n, to: ends.first - 1n, kind: 'missing' })
      this.#ends = { ...ends, first: at }
    } else if (at <= ends.height) {
      this.#gaps.fill(at)
    } else {
      if (at > ends.height + 1n) this.#skip(ends.height + 1n, at - 1n, source)
      this.#ends = { ...ends, height: at, timestamp }
    }
    this.#imported.add(one)
    this.pass(at, at)
    for (const resource of lacking) this.#listOf(resource).add(one)
  }

  /** The blocks that this import has come by hold a resource now, as far as they are imported. */
  complete(resource: string): void {
    const own = this.#lacking.get(resource)
    if (own === undefined) return
    const seen = intersection(merged(this.#seen), this.#imported.all)
    this.#lacking.set(resource, new GapList(asGaps(difference(own.all, seen))))
  }

  #skip(from: bigint, to: bigint, source: string): void {
    if (!this.#allowGap) {
      throw new ImportGapError(
        `${source}: expected block ${from}, found block ${to + 1n}: ${describeHeights(from, to)} missing. ` +
          'Import or ingest what holds these blocks, or continue without them with --allow-gap',
      )
    }
    this.#gaps.add({ from, to, kind: 'missing' })
  }

  #listOf(resource: string): GapList {
    const known = this.#lacking.get(resource)
    if (known !== undefined) return known
    const list = new GapList([])
    this.#lacking.set(resource, list)
    return list
  }

  #resourceGaps(): ResourceGap[] {
    return [...this.#lacking.keys()]
      .sort()
      .flatMap((resource) => this.#lacking.get(resource)!.all.map(({ from, to }) => ({ resource, from, to })))
  }
}

function asGaps(ranges: readonly HeightRange[]): Gap[] {
  return ranges.map(({ from, to }) => ({ from, to, kind: 'missing' }))
}

function withoutKinds(gaps: readonly Gap[]): readonly HeightRange[] {
  return gaps.map(({ from, to }) => ({ from, to }))
}

/** A function that gives the same result for the same argument: what has not changed is not written again. */
function remembered<T, R>(make: (argument: T) => R): (argument: T) => R {
  let last: { argument: T; result: R } | null = null
  return (argument) => {
    if (last === null || last.argument !== argument) last = { argument, result: make(argument) }
    return last.result
  }
}

/** Ranges in any order as a list that is ascending and apart. */
function merged(ranges: readonly HeightRange[]): HeightRange[] {
  const result: HeightRange[] = []
  for (const range of [...ranges].sort((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0))) {
    const last = result.at(-1)
    if (last === undefined || range.from > last.to + 1n) result.push({ ...range })
    else if (range.to > last.to) last.to = range.to
  }
  return result
}

/** What two lists of ranges, each ascending and apart, have in common. */
function intersection(a: readonly HeightRange[], b: readonly HeightRange[]): HeightRange[] {
  const common: HeightRange[] = []
  for (let left = 0, right = 0; left < a.length && right < b.length; ) {
    const [one, other] = [a[left]!, b[right]!]
    const from = one.from > other.from ? one.from : other.from
    const to = one.to < other.to ? one.to : other.to
    if (from <= to) common.push({ from, to })
    if (one.to < other.to) left++
    else right++
  }
  return common
}

/** What of the first list is not in the second; both ascending and apart. */
function difference(a: readonly HeightRange[], b: readonly HeightRange[]): HeightRange[] {
  const rest: HeightRange[] = []
  let start = 0
  for (const { from, to } of a) {
    while (start < b.length && b[start]!.to < from) start++
    let next = from
    for (let index = start; index < b.length && b[index]!.from <= to; index++) {
      if (b[index]!.from > next) rest.push({ from: next, to: b[index]!.from - 1n })
      next = b[index]!.to + 1n
    }
    if (next <= to) rest.push({ from: next, to })
  }
  return rest
}

import { type HeightRange, isWithin } from '#core/domain/height-ranges'
import type { Key, Resource } from '#core/model/resource'
import type { Pair } from './compare-rows.ts'
import type { ComparedRow, Side } from './side.ts'

/** Rows this close to the last common block are not compared if their block is unknown, because they may arrive late. */
const LATE_NS = 60_000_000_000n

/** A column of keys that is the height of the row's block. */
const BLOCK_COLUMN = 'at_block'

/** The compared rows of a resource, or of one market in it. */
export type RowsCompared = {
  a: Side
  b: Side
  heights: readonly HeightRange[]
  resource: Resource
  marketId: string | null
  /** The height of both sides; null if the rows are those of blocks that both cover. */
  atHeight: bigint | null
}

/** A row's key with the time as it was sent. */
export const exactKey = ({ key, exact }: ComparedRow) => exact ?? key

/** Whether both sides cover a differing or missing row, or why one of them need not have it. */
type Cover =
  | 'covered'
  /** The side without it has pruned rows, and has had none before it. */
  | 'pruned'
  /** Its block is not one of those that both sides cover. */
  | 'outside the common blocks'
  /** The side without it may have imported its block without it. */
  | 'imported'
  /** Its block is unknown; one side has had no row before it, and the sides begin at different heights. */
  | 'before the first rows'
  /** Its block is unknown, and the side without it has gaps. */
  | 'maybe in a gap'
  /** Its block is unknown, and its time is near the end of a side. */
  | 'near the end'

/** Whether both sides cover a row that differs or that one of them does not have: by its block if that is known, or its time. */
export async function coverOf(compared: RowsCompared, pair: Pair<ComparedRow>): Promise<Cover> {
  if (compared.atHeight !== null) return 'covered'
  if (pair.isBeforeFirst && sideWithout(compared, pair).coverage.isPruned) return 'pruned'
  const blocks = await blocksOf(compared, pair)
  return blocks.length > 0 ? coverOfBlocks(compared, pair, blocks) : coverByTime(compared, pair)
}

/** The side without the row; if both have it, B. */
const sideWithout = ({ a, b }: RowsCompared, pair: Pair<ComparedRow>): Side => (pair.a === null ? a : b)

const isMissingInOne = ({ a, b }: Pair<ComparedRow>) => a === null || b === null

const keyOfPair = ({ a, b }: Pair<ComparedRow>): Key => (a ?? b)!.key

/** The heights of the row's block, as far as the sides that have it know them. */
async function blocksOf(
  { a, b, resource, marketId }: RowsCompared,
  pair: Pair<ComparedRow>,
): Promise<bigint[]> {
  if (resource.key[0]!.column === BLOCK_COLUMN) return [keyOfPair(pair)[0] as bigint]
  const blocks = await Promise.all([
    pair.a === null ? null : a.blockOf(resource, marketId, exactKey(pair.a)),
    pair.b === null ? null : b.blockOf(resource, marketId, exactKey(pair.b)),
  ])
  return blocks.filter((height) => height !== null)
}

function coverOfBlocks(
  { a, b, heights }: RowsCompared,
  pair: Pair<ComparedRow>,
  blocks: readonly bigint[],
): Cover {
  if (!blocks.every((height) => isWithin(heights, height))) return 'outside the common blocks'
  const isImported = (height: bigint) => [a, b].some(({ coverage }) => isWithin(coverage.imported, height))
  return isMissingInOne(pair) && blocks.some(isImported) ? 'imported' : 'covered'
}

function coverByTime(compared: RowsCompared, pair: Pair<ComparedRow>): Cover {
  const { a, b, resource } = compared
  const beginAlike = a.coverage.heights[0]!.from === b.coverage.heights[0]!.from
  if (pair.isBeforeFirst && !beginAlike) return 'before the first rows'
  if (isMissingInOne(pair) && hasGap(sideWithout(compared, pair).coverage.heights)) return 'maybe in a gap'
  if (!resource.dateRange) return 'covered'
  const time = keyOfPair(pair)[0] as bigint
  const ends = [a, b].map(({ coverage }) => coverage.timestamp).filter((end) => end !== null)
  return ends.every((end) => time <= end - LATE_NS) ? 'covered' : 'near the end'
}

function hasGap(heights: readonly HeightRange[]): boolean {
  return heights.some(({ from }, index) => index > 0 && from > heights[index - 1]!.to + 1n)
}

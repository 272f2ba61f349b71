import { GapList } from '#core/domain/gap-list'
import { firstGapFrom, type HeightRange } from '#core/domain/height-ranges'
import { type Table, type TextCell, tableOf } from '#core/store/schema/tables'
import { allRows, namedRow } from '#core/store/walk-table'
import { describeRow } from './compare-tables.ts'
import type { Checking } from './problems.ts'

/** The heights that rows may have, according to the tables of the stream. */
export type Heights = { first: bigint; last: bigint; missing: GapList<HeightRange> }

/** Checks the store head and the gaps; null for an empty store. */
export async function checkStream(checking: Checking): Promise<Heights | null> {
  const { reader, problems, signal } = checking
  const [row, ...others] = await allRows(reader, tableOf('stream'), {}, signal)
  if (row === undefined) return null
  if (others.length > 0) problems.add('stream', 'more than one row')
  const stream = namedRow(tableOf('stream'), row)
  const first = BigInt(stream.first_height!)
  const last = BigInt(stream.height!)
  if (first > last) problems.add('stream', `the first height, ${first}, is above the last, ${last}`)
  if (stream.chain_id === '') problems.add('stream', 'the chain has no id')
  const ends = { first, last }
  const gaps = await checkRanges(checking, tableOf('gaps'), ends)
  const missing = new GapList<HeightRange>(gaps.filter(({ kind }) => kind === 'missing'))
  const imported = tableOf('imported')
  const ranges = await checkRanges(checking, imported, ends)
  for (const { from, to } of missing.all) {
    const range = ranges[firstGapFrom(ranges, from)]
    if (range === undefined || range.from > to) continue
    problems.add(
      `${imported.name} (${range.from})`,
      `some of its blocks, ${from} to ${to}, are recorded as a gap`,
    )
  }
  return { ...ends, missing }
}

/** A row of ranges of heights; gaps have a kind. */
type StoredRange = HeightRange & { kind: TextCell | undefined }

/** Checks ranges of heights; returns those that are in order. */
async function checkRanges(
  { reader, problems, signal }: Checking,
  table: Table,
  { first, last }: Pick<Heights, 'first' | 'last'>,
): Promise<StoredRange[]> {
  const ranges: StoredRange[] = []
  for (const row of await allRows(reader, table, {}, signal)) {
    const { from_height, to_height, kind } = namedRow(table, row)
    const [from, to] = [BigInt(from_height!), BigInt(to_height!)]
    const where = describeRow(table, row)
    const end = ranges.at(-1)?.to
    if (from > to) problems.add(where, `it ends, at ${to}, before it begins`)
    if (from < first) problems.add(where, `it begins before the first block, ${first}`)
    if (to > last) problems.add(where, `it ends, at ${to}, beyond the last block, ${last}`)
    if (end !== undefined && from <= end) problems.add(where, `it begins at or before ${end}`)
    else if (from <= to) ranges.push({ from, to, kind })
  }
  return ranges
}

/** The fault of a row's height; null if there is none. */
export function heightFault(from: bigint, heights: Heights | null): string | null {
  if (heights === null) return null
  const { first, last, missing } = heights
  if (from > last) return `it comes from block ${from}, but the last stored block is ${last}`
  if (from < first) return `it comes from block ${from}, but the first stored block is ${first}`
  return missing.has(from) ? `it comes from block ${from}, which is recorded as missing` : null
}

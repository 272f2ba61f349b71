import { hasBlock } from '#core/domain/event-position'
import type { Gap } from '#core/domain/gap-list'
import { byFrom, firstGapFrom, type HeightRange } from '#core/domain/height-ranges'
import { readCoverage } from '#core/store/queries/coverage'
import { type PrunedBefore, readPrunedBefore } from '#core/store/queries/pruned'
import type { TableReader } from '#core/store/table-reader'
import type { UnknownReason } from '../judgements.ts'

/** The stored part of the stream. */
export type StoredStream = {
  /** The height of the first block. */
  first: bigint
  /** Heights that are missing, incomplete or imported. */
  gaps: readonly (HeightRange & { kind: Gap['kind'] | 'imported' })[]
  pruned: PrunedBefore | null
}

/** Null if no block is stored. */
export async function readStream(reader: TableReader): Promise<StoredStream | null> {
  const coverage = await reader.run(readCoverage())
  if (coverage === null) return null
  const { first, gaps, imported } = coverage
  return {
    first,
    gaps: [...gaps, ...imported.map((range) => ({ ...range, kind: 'imported' as const }))].sort(byFrom),
    pruned: await reader.run(readPrunedBefore()),
  }
}

/** Why results in the block at a height are unknown; null if all its events are stored. */
export function unknownAt(stream: StoredStream, height: bigint): UnknownReason | null {
  return hasBlock(height) ? unknownBetween(stream, height, height) : 'imported'
}

/** Why results are unknown that depend on the blocks between two heights, both included; null if all events are stored. */
export function unknownBetween({ gaps }: StoredStream, from: bigint, to: bigint): UnknownReason | null {
  let unknown: UnknownReason | null = null
  for (let at = firstGapFrom(gaps, from); at < gaps.length && gaps[at]!.from <= to; at++) {
    if (gaps[at]!.kind === 'imported') return 'imported'
    unknown = 'events missing'
  }
  return unknown
}

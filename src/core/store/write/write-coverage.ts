import type { Coverage } from '../../domain/coverage.ts'
import type { KeyValue } from '../../model/resource.ts'

const WRITE_STREAM = `
  insert into stream (id, chain_id, first_height, began_height, block_one_hashes, height, timestamp)
  values (1, $1, $2, $3, $4, $5, $6)
  on conflict (id) do update
    set first_height = excluded.first_height, began_height = excluded.began_height,
      block_one_hashes = excluded.block_one_hashes, height = excluded.height, timestamp = excluded.timestamp`

type CoverageValues = readonly (KeyValue | null)[]

/** The part of a coverage that a commit writes: the store head, and the changed ranges of heights, by their table. */
export type WrittenCoverage = {
  stream: CoverageValues
  ranges: Readonly<Record<string, readonly CoverageValues[]>>
}

/** The changed part of a coverage; `before` is the stored one. */
export function writtenCoverage(before: Coverage | null, after: Coverage): WrittenCoverage {
  const { chainId, first, began, blockOne, height, timestamp, gaps, imported } = after
  const ranges: Record<string, CoverageValues[]> = {}
  if (imported !== before?.imported)
    ranges.imported = imported.map(({ from, to, lacks }) => [from, to, lacks])
  if (gaps !== before?.gaps)
    ranges.gaps = gaps.map(({ from, to, kind, start, end }) => [from, to, kind, start, end])
  const hashes = blockOne === null ? null : JSON.stringify(blockOne)
  return { stream: [chainId, first, began, hashes, height, timestamp], ranges }
}

/** The statements that write a coverage. None needs the rows of another. */
export function coverageStatements({
  stream,
  ranges,
}: WrittenCoverage): { text: string; values: CoverageValues }[] {
  return [
    { text: WRITE_STREAM, values: stream },
    ...Object.entries(ranges).flatMap(([name, rows]) => [
      { text: `delete from ${name}`, values: [] },
      // Rows of an older version, which are published before an upgrade, have fewer columns.
      ...rows.map((values) => ({ text: `insert into ${name} values (${placeholdersOf(values)})`, values })),
    ]),
  ]
}

const placeholdersOf = (values: CoverageValues) => values.map((_, index) => `$${index + 1}`).join(', ')

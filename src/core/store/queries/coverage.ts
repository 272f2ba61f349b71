import type { Coverage } from '../../domain/coverage.ts'
import type { Gap } from '../../domain/gap-list.ts'
import { type HeightRange, merged } from '../../domain/height-ranges.ts'
import type { Row } from '../../model/resource.ts'
import type { StoreHead } from '../pages/page.ts'
import type { Query } from '../queries-protocol.ts'
import { textOf } from '../statements.ts'

/** The last stored block; null in an empty store. */
export function* readStoreHead(): Query<StoreHead | null> {
  const [row] = yield { text: 'select cast(height as text), cast(timestamp as text) from stream' }
  return row === undefined ? null : { height: row[0] as string, timestamp: row[1] as string }
}

/** Reads the coverage of the store; null if the store is empty. */
export function* readCoverage(): Query<Coverage | null> {
  const [stream] = yield { text: READ_STREAM }
  const [first] = yield { text: READ_FIRST_TIME }
  const gaps = yield { text: READ_GAPS }
  const since = yield { text: READ_SINCE }
  const imported = yield { text: READ_IMPORTED }
  if (stream === undefined) return null
  return { ...coverageOf(stream, gaps, since, imported), firstTimestamp: timeOf(first?.[0]) }
}

/** The row of the stream, which an empty store does not have. */
export const READ_STREAM = `
  select chain_id, cast(first_height as text), cast(began_height as text), block_one_hashes,
    cast(height as text), cast(timestamp as text)
  from stream`

/** The block time of the first stored checkpoint: that of the store's first block is not stored. */
const READ_FIRST_TIME = 'select cast(block_timestamp as text) from checkpoints order by height limit 1'

/** The columns of a gap after its beginning. */
export const GAP_COLUMNS = `${textOf('to_height')}, kind, ${textOf('start_timestamp')}, ${textOf('end_timestamp')}`

const READ_GAPS = `
  select ${textOf('from_height')}, ${GAP_COLUMNS} from gaps order by from_height`

export const READ_SINCE = `select resource, ${textOf('height')}, ${textOf('start_timestamp')} from since order by resource`

const READ_IMPORTED = `
  select ${textOf('from_height')}, cast(to_height as text), lacks from imported order by from_height`

/** A coverage without the time of the first block, which is read from another resource's rows. */
export type CoverageWithoutStart = Omit<Coverage, 'firstTimestamp'>

/** Parses the row of READ_STREAM, and rows of READ_GAPS, READ_SINCE and READ_IMPORTED. */
export function coverageOf(
  [chainId, first, began, blockOne, height, timestamp]: Row,
  gaps: readonly Row[],
  since: readonly Row[],
  imported: readonly Row[],
): CoverageWithoutStart {
  return {
    chainId: chainId as string,
    first: BigInt(first!),
    began: BigInt(began!),
    blockOne: blockOne == null ? null : (JSON.parse(String(blockOne)) as string[]),
    height: BigInt(height!),
    timestamp: BigInt(timestamp!),
    gaps: gaps.map((row): Gap => {
      const [, , kind, start, end] = row
      return { ...heightRangeOf(row), kind: kind as Gap['kind'], start: timeOf(start), end: timeOf(end) }
    }),
    since: since.map(([resource, from, start]) => ({
      resource: resource as string,
      height: BigInt(from!),
      start: timeOf(start),
    })),
    imported: imported.map((row) => ({ ...heightRangeOf(row), lacks: String(row[2]) })),
  }
}

const heightRangeOf = ([from, to]: Row): HeightRange => ({ from: BigInt(from!), to: BigInt(to!) })

const timeOf = (value: Row[number] | undefined) => (value == null ? null : BigInt(value))

/** The number of blocks in gaps from the height on at which the store began. Below it, history may still be added. */
const COUNT_MISSING_BLOCKS = `
  select cast(coalesce(sum(to_height - from_height + 1), 0) as text) from gaps
  where from_height >= (select began_height from stream)`

/** The number of blocks from the height on at which the store began that are missing or incomplete. */
export function* readMissingBlocks(): Query<number> {
  const [row] = yield { text: COUNT_MISSING_BLOCKS }
  return Number(row![0])
}

const READ_ACCEPTED = `
  select ${textOf('from_height')}, cast(to_height as text) from accepted_gaps order by from_height`

/** The heights of gaps that an operator has accepted, ascending and without overlap. */
export function* readAcceptedGaps(): Query<readonly HeightRange[]> {
  return merged((yield { text: READ_ACCEPTED }).map(heightRangeOf))
}

import type { Coverage } from '../../domain/coverage.ts'
import type { Gap } from '../../domain/gap-list.ts'
import { type HeightRange, merged } from '../../domain/height-ranges.ts'
import type { Row } from '../../model/resource.ts'
import { STORED } from '../../resources/stored.ts'
import { StoreError } from '../errors.ts'
import type { StoreHead } from '../pages/page.ts'
import type { Query } from '../queries-protocol.ts'
import { textOf } from '../statements.ts'

export const READ_STREAM = `
  select chain_id, cast(first_height as text), cast(began_height as text), block_one_hashes,
    cast(height as text), cast(timestamp as text)
  from stream`

export const READ_SINCE = `select resource, ${textOf('height')}, ${textOf('start_timestamp')} from since order by resource`

/** The columns of a gap after its beginning. */
export const GAP_COLUMNS = `${textOf('to_height')}, kind, ${textOf('start_timestamp')}, ${textOf('end_timestamp')}`

const READ_GAPS = `
  select ${textOf('from_height')}, ${GAP_COLUMNS} from gaps order by from_height`

const READ_IMPORTED = `
  select ${textOf('from_height')}, cast(to_height as text), lacks from imported order by from_height`

const READ_ACCEPTED = `
  select ${textOf('from_height')}, cast(to_height as text) from accepted_gaps order by from_height`

/** The number of blocks in gaps above the height at which the store began. Below it, history may still be added. */
const COUNT_MISSING_BLOCKS = `
  select cast(coalesce(sum(to_height - from_height + 1), 0) as text) from gaps
  where from_height >= (select began_height from stream)`

/** Of an empty store alone: on a cluster it asks every machine. */
const FIND_ANY_ROW = `
  select 1 where (${STORED.flatMap(({ tables }) => tables.map(({ name }) => `exists (select 1 from ${name})`)).join(' or ')})`

/**
 * Refuses to continue a store that has rows but no store head, as an interrupted copy leaves it: what is calculated from rows
 * may be missing beside them, and would never be written. To be asked once a cluster has published the last commit, whose rows come
 * before its head.
 *
 * @throws {StoreError} for such a store.
 */
export function* refusePartOfCopy(store: string): Query<void> {
  if ((yield* readStoreHead()) !== null || (yield { text: FIND_ANY_ROW }).length === 0) return
  throw new StoreError(
    `${store}: contains only a part of another store, because lyra copy was interrupted; run it again, or begin with a new store`,
  )
}

/** The last stored block; null in an empty store. */
export function* readStoreHead(): Query<StoreHead | null> {
  const [row] = yield { text: 'select cast(height as text), cast(timestamp as text) from stream' }
  return row === undefined ? null : { height: row[0] as string, timestamp: row[1] as string }
}

/** The number of blocks above the height at which the store began that are missing or incomplete. */
export function* readMissingBlocks(): Query<number> {
  const [row] = yield { text: COUNT_MISSING_BLOCKS }
  return Number(row![0])
}

/** The heights of gaps that an operator has accepted, ascending and without overlap. */
export function* readAcceptedGaps(): Query<readonly HeightRange[]> {
  return merged((yield { text: READ_ACCEPTED }).map(heightRangeOf))
}

function heightRangeOf([from, to]: Row): HeightRange {
  return { from: BigInt(from!), to: BigInt(to!) }
}

/** Parses the row of READ_STREAM and those of READ_GAPS, READ_SINCE and READ_IMPORTED; null if the first is null. */
export function coverageOf(
  stream: Row | null,
  gaps: readonly Row[],
  since: readonly Row[],
  imported: readonly Row[],
): Coverage | null {
  if (stream === null) return null
  const [chainId, first, began, blockOne, height, timestamp] = stream
  return {
    chainId: chainId as string,
    first: BigInt(first!),
    firstTimestamp: null,
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

const timeOf = (value: Row[number] | undefined) => (value == null ? null : BigInt(value))

/** The first stored checkpoint's block time. */
const READ_FIRST_TIME = 'select cast(block_timestamp as text) from checkpoints order by height limit 1'

/** Reads the coverage of the store; null if the store is empty. */
export function* readCoverage(): Query<Coverage | null> {
  const [stream] = yield { text: READ_STREAM }
  const [first] = yield { text: READ_FIRST_TIME }
  const gaps = yield { text: READ_GAPS }
  const since = yield { text: READ_SINCE }
  const imported = yield { text: READ_IMPORTED }
  const coverage = coverageOf(stream ?? null, gaps, since, imported)
  return coverage && { ...coverage, firstTimestamp: timeOf(first?.[0]) }
}

import type { Coverage } from '../../domain/coverage.ts'
import type { Batch } from '../../resources/batch.ts'
import { type Change, changesOf } from '../changes.ts'
import { RANGES, RANGES_NAMES, type RangesName, streamValues } from '../readings/coverage.ts'
import { WRITE_STREAM } from '../statements.ts'
import { type Queryable, queryRows, writeChanges } from './connection.ts'

type RowTexts = readonly (string | null)[]

/**
 * Makes the rows of a commit visible: the position, the ranges of heights that the commit changes, and the
 * changes. Values are texts, so that it can be kept as JSON.
 */
export type Publication = {
  stream: RowTexts
  ranges: Partial<Record<RangesName, readonly RowTexts[]>>
  changes: Change[] | null
}

const texts = (values: readonly unknown[]): RowTexts =>
  values.map((value) => (value === null ? null : String(value)))

/** The publication of a commit. `before` is the store's coverage before it. */
export function publicationOf(batch: Batch, before: Coverage | null, after: Coverage): Publication {
  const changed = RANGES_NAMES.filter((name) => after[name] !== before?.[name])
  return {
    stream: texts(streamValues(after)),
    ranges: Object.fromEntries(changed.map((name) => [name, RANGES[name].valuesOf(after).map(texts)])),
    changes: changesOf(batch),
  }
}

/**
 * Writes a publication, within the caller's transaction.
 *
 * @param commits whether the transaction is committed with it: if an earlier statement has failed, the server rolls
 * it back
 */
export async function publish(client: Queryable, publication: Publication, commits = false): Promise<void> {
  const { stream, ranges, changes } = publication
  const written = queryRows(client, WRITE_STREAM, stream)
  written.catch(() => {})
  for (const name of RANGES_NAMES) {
    const rows = ranges[name]
    if (rows === undefined) continue
    await queryRows(client, RANGES[name].remove)
    for (const values of rows) await queryRows(client, RANGES[name].insert, values)
  }
  const noted = writeChanges(client, changes)
  await Promise.all([written, noted, ...(commits ? [client.query('commit')] : [])])
}

/** Stores a publication with its rows, until these are committed. */
export async function keepUnpublished(client: Queryable, publication: Publication): Promise<void> {
  await queryRows(
    client,
    `insert into unpublished (id, publication) values (1, $1)
      on conflict (id) do update set publication = excluded.publication, session = pg_backend_pid()`,
    [JSON.stringify(publication)],
  )
}

/** The session that has committed rows and has not published them; null if there are none. */
export async function unpublishedSession(client: Queryable): Promise<number | null> {
  const [row] = await queryRows(client, 'select session from unpublished')
  return row === undefined ? null : Number(row[0])
}

/** Publishes committed rows, if any are unpublished, within the caller's transaction. */
export async function publishKept(client: Queryable): Promise<void> {
  const [kept] = await queryRows(client, 'delete from unpublished returning publication')
  if (kept !== undefined) await publish(client, JSON.parse(String(kept[0])) as Publication)
}

import type { Coverage } from '../../domain/coverage.ts'
import type { Batch } from '../../projections/batch.ts'
import { type Change, changesOf } from '../changes.ts'
import { resourceGapValues, streamValues } from '../coverage-rows.ts'
import {
  DELETE_GAPS,
  DELETE_IMPORTED,
  DELETE_RESOURCE_GAPS,
  INSERT_GAP,
  INSERT_IMPORTED,
  INSERT_RESOURCE_GAP,
  WRITE_STREAM,
} from '../statements.ts'
import { type Queryable, rowsOf, writeChanges } from './connection.ts'

type Values = readonly (string | null)[]

/**
 * What says that the rows of a commit are there: the position, the ranges of heights that the commit changes (null: those
 * of before), and the changes. Values are texts, so that it can be kept as JSON.
 */
export type Publication = {
  stream: Values
  gaps: readonly Values[] | null
  resourceGaps: readonly Values[] | null
  imported: readonly Values[] | null
  changes: Change[] | null
}

const texts = (values: readonly unknown[]): Values =>
  values.map((value) => (value === null ? null : String(value)))

/** What a commit publishes. `before` is what the store holds before it. */
export function publicationOf(batch: Batch, before: Coverage | null, after: Coverage): Publication {
  const { gaps, resourceGaps, imported } = after
  return {
    stream: texts(streamValues(after)),
    gaps: gaps === before?.gaps ? null : gaps.map(({ from, to, kind }) => texts([from, to, kind])),
    resourceGaps:
      resourceGaps === before?.resourceGaps ? null : resourceGaps.map((gap) => texts(resourceGapValues(gap))),
    imported: imported === before?.imported ? null : imported.map(({ from, to }) => texts([from, to])),
    changes: changesOf(batch),
  }
}

/** Writes a publication, within the caller's transaction. */
export async function publish(client: Queryable, publication: Publication): Promise<void> {
  const { stream, gaps, resourceGaps, imported, changes } = publication
  const replace = async (remove: string, insert: string, rows: readonly Values[] | null) => {
    if (rows === null) return
    await rowsOf(client, remove)
    for (const values of rows) await rowsOf(client, insert, [...values])
  }
  await rowsOf(client, WRITE_STREAM, [...stream])
  await replace(DELETE_IMPORTED, INSERT_IMPORTED, imported)
  await replace(DELETE_GAPS, INSERT_GAP, gaps)
  await replace(DELETE_RESOURCE_GAPS, INSERT_RESOURCE_GAP, resourceGaps)
  await writeChanges(client, changes)
}

/** Keeps a publication with the rows that it is of, until these are committed. */
export async function keepUnpublished(client: Queryable, publication: Publication): Promise<void> {
  await rowsOf(
    client,
    `insert into unpublished (id, publication) values (1, $1)
      on conflict (id) do update set publication = excluded.publication, session = pg_backend_pid()`,
    [JSON.stringify(publication)],
  )
}

/** The session that has committed rows and has not published them; null where there are none. */
export async function unpublishedSession(client: Queryable): Promise<number | null> {
  const [row] = await rowsOf(client, 'select session from unpublished')
  return row === undefined ? null : Number(row[0])
}

/** Writes what rows that are committed have left to be published, within the caller's transaction; nothing where none have. */
export async function publishKept(client: Queryable): Promise<void> {
  const [kept] = await rowsOf(client, 'delete from unpublished returning publication')
  if (kept !== undefined) await publish(client, JSON.parse(String(kept[0])) as Publication)
}

import type { Client } from 'pg'
import type { Coverage } from '../../../domain/coverage.ts'
import type { Batch } from '../../../model/batch.ts'
import { type Change, changesOf } from '../../changes.ts'
import { coverageStatements, type WrittenCoverage, writtenCoverage } from '../../write/write-coverage.ts'
import { type Queryable, queryRows } from '../connection/query-rows.ts'
import { writeChanges } from '../write-changes.ts'
import { settle, type WaitOptions } from './cluster.ts'

/** The part of a commit that makes its rows visible. */
type Publication = WrittenCoverage & { changes: Change[] | null }

/** The publication of a commit. `before` is the store's coverage before the commit. */
export function publicationOf(batch: Batch, before: Coverage | null, after: Coverage): Publication {
  return { ...writtenCoverage(before, after), changes: changesOf(batch) }
}

/** Writes a publication at the end of the caller's transaction, and commits it, all sent at once. */
export async function publishAndCommit(client: Queryable, publication: Publication): Promise<void> {
  // If an earlier statement has failed, the server rolls the transaction back.
  await Promise.all([writePublication(client, publication), client.query('commit')])
}

async function writePublication(client: Queryable, publication: Publication): Promise<void> {
  await Promise.all([
    ...coverageStatements(publication).map(({ text, values }) => queryRows(client, text, values)),
    writeChanges(client, publication.changes),
  ])
}

/** Stores a publication together with its rows, for the time until these are committed. */
export async function keepUnpublished(client: Queryable, publication: Publication): Promise<void> {
  await queryRows(
    client,
    `insert into unpublished (id, publication) values (1, $1)
      on conflict (id) do update set publication = excluded.publication, session = pg_backend_pid()`,
    [JSON.stringify(publication, (_, value) => (typeof value === 'bigint' ? String(value) : value))],
  )
}

/**
 * Publishes rows that an earlier writer or connection has committed but not published, once they are visible everywhere.
 */
export async function publishOthers(client: Client, waiting: WaitOptions = {}): Promise<void> {
  const [row] = await queryRows(client, 'select session from unpublished')
  if (row === undefined) return
  await settle(client, Number(row[0]), waiting)
  await publishWaiting(client)
}

/** Publishes rows that are committed and visible everywhere, if there are any. */
export async function publishWaiting(client: Client): Promise<void> {
  await client.query('begin')
  const [waiting] = await queryRows(client, 'delete from unpublished returning publication')
  if (waiting !== undefined) await writePublication(client, parsePublication(String(waiting[0])))
  await client.query('commit')
}

function parsePublication(json: string): Publication {
  const publication = JSON.parse(json) as Publication
  // Version 0.2.0 had another name for these ranges: they are published before the upgrade drops their table.
  const { resourceGaps, ...named } = publication.ranges
  return {
    ...publication,
    ranges: resourceGaps === undefined ? named : { ...named, kept_from: resourceGaps },
  }
}

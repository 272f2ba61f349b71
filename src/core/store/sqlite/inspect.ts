import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { realPathOf } from '../../concurrency/real-path.ts'
import { StoreError } from '../errors.ts'
import type { DatabaseCheck, StoreFacts } from '../inspection.ts'
import { newestVersion, stepsFrom } from '../schema-version.ts'
import type { Connection } from './connection.ts'
import { withSqliteErrors } from './errors.ts'
import { schemaVersionIn } from './migrate.ts'
import { openForReading } from './open-connection.ts'
import { SQLITE_SCHEMA } from './schema.ts'
import { shortenWal } from './shorten-wal.ts'
import { ifThere } from './store-file.ts'
import { isLocked, readWriter } from './writer-lock.ts'

/** The file, its WAL, and the WAL's index. */
const FILE_ENDINGS = ['', '-wal', '-shm']

/** Reads the facts of a store in a file. */
export function inspectSqlite(path: string): StoreFacts {
  const schemaVersion = ifThere(
    path,
    () => withSqliteErrors(path, () => schemaVersionIn(path)),
    () => {
      throw new StoreError(`${path}: no such file`)
    },
  )
  if (schemaVersion === 0) throw new StoreError(`${path}: the file contains no store`)
  const hasWriter = isLocked(path)
  return {
    kind: 'sqlite',
    bytes: sizeOf(path),
    schemaVersion,
    programSchemaVersion: newestVersion(SQLITE_SCHEMA),
    hasWriter,
    writer: hasWriter ? readWriter(path) : null,
  }
}

function sizeOf(path: string): number {
  const file = realPathOf(path)
  return FILE_ENDINGS.reduce(
    (sum, ending) => sum + (statSync(`${file}${ending}`, { throwIfNoEntry: false })?.size ?? 0),
    0,
  )
}

type SchemaObject = { type: string; name: string; sql: string | null }

/** Lets SQLite check the file, and compares its schema with the one that this program creates. */
export function checkSqlite(path: string): DatabaseCheck {
  const problems: string[] = []
  const notes: string[] = []
  const connection = openForReading(path)
  try {
    for (const [line] of connection.rows('pragma integrity_check')) {
      if (line !== 'ok') problems.push(`the file: ${line}`)
    }
    problems.push(...schemaProblems(connection, notes), ...storeFileProblems(connection))
  } catch (error) {
    const { errcode, message } = error as Error & { errcode?: number }
    if (errcode === undefined) throw error
    problems.push(`the file: ${message}`)
  } finally {
    connection.close()
    shortenWal(path)
  }
  return { problems, notes }
}

/** Differences from this program's schema. Tables of others, such as those of a program that copies the file, are notes. */
function schemaProblems(connection: Connection, notes: string[]): string[] {
  const READ = `
    select type, name, sql from sqlite_schema where name not like 'sqlite\\_%' escape '\\' order by type, name`
  const stored = connection.rows(READ).map(([type, name, sql]) => ({ type, name, sql })) as SchemaObject[]
  using fresh = new DatabaseSync(':memory:')
  for (const step of stepsFrom(SQLITE_SCHEMA, 0)) fresh.exec(step)
  const expected = fresh.prepare(READ).all() as SchemaObject[]
  const problems: string[] = []
  for (const { type, name, sql } of expected) {
    const object = stored.find((other) => other.name === name)
    if (object === undefined) problems.push(`the schema: ${type} ${name} is missing`)
    else if (withoutLayout(object.sql) !== withoutLayout(sql))
      problems.push(`the schema: ${type} ${name} differs from this version's`)
  }
  for (const { type, name } of stored) {
    // An index that someone has added changes no row.
    if (type === 'index' || expected.some((other) => other.name === name)) continue
    if (type === 'table') notes.push(`the schema: table ${name} does not belong to Lyra`)
    else problems.push(`the schema: ${type} ${name} does not belong to Lyra; it may change stored rows`)
  }
  return problems
}

/** A definition without comments and layout. The layout differs if `alter table` has added a column. */
function withoutLayout(sql: string | null): string | undefined {
  return sql
    ?.replaceAll(/--.*$/gm, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([(),]) ?/g, '$1')
}

/** Checks the row that ties the file to its WAL (wal-check.ts). */
function storeFileProblems(connection: Connection): string[] {
  const rows = connection.rows('select store_id, commits, upkeep_commits, log_from from store_file')
  const [storeId, commits, upkeepCommits, walFrom] = (rows[0] ?? []) as [string, number, number, number]
  if (rows.length !== 1) return [`store_file: ${rows.length} rows instead of one`]
  const problems: string[] = []
  if (!/^[0-9a-f]{32}$/.test(storeId)) problems.push(`store_file: "${storeId}" is not the id of a store`)
  if (walFrom < 0 || upkeepCommits < 0 || walFrom > commits || upkeepCommits > commits) {
    problems.push(
      `store_file: ${commits} commits, ${upkeepCommits} of them upkeep's, the WAL from ${walFrom} on`,
    )
  }
  return problems
}

import { StoreError } from '../store.ts'
import type { PostgresAddress } from './address.ts'

/** Refuses: a database is copied by its own tools. The error names the exact command. */
export function backupPostgres({ name, schema }: PostgresAddress, file: string): never {
  const url = new URL(name)
  // The schema is ours to read, not libpq's.
  url.searchParams.delete('schema')
  throw new StoreError(
    `${name}: back a PostgreSQL store up with its own tools: ` +
      `pg_dump --format=custom --schema=${schema} --file=${shellWord(file)} ${shellWord(url.toString())}`,
  )
}

/** A text as one word of a POSIX shell. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

import { type TableReader, tableReader } from '../table-reader.ts'
import type { PostgresAddress } from './address.ts'
import { connect } from './connection/connection.ts'
import { queryRows } from './connection/query-rows.ts'
import { BEGIN_SNAPSHOT, writerConfig } from './connection/session.ts'
import { withPostgresErrors } from './errors.ts'

/** Reads the tables of a store in one snapshot, which lasts until it is closed. */
export async function openPostgresTableReader(address: PostgresAddress): Promise<TableReader> {
  const { name } = address
  const client = await withPostgresErrors(name, () => connect(writerConfig(address)))
  await client.query(BEGIN_SNAPSHOT)
  return tableReader(
    ({ text, values }) => withPostgresErrors(name, () => queryRows(client, text, values)),
    () => client.end(),
  )
}

import { type Change, changeStatements } from '../changes.ts'
import { type Queryable, queryRows } from './connection/query-rows.ts'

/** Writes a transaction's changes, after its other statements: other transactions that get there wait for its end. */
export async function writeChanges(client: Queryable, changes: readonly Change[] | null): Promise<void> {
  await Promise.all([
    client.query('lock table changes in exclusive mode'),
    ...changeStatements(changes).map(({ text, values }) => queryRows(client, text, values)),
  ])
}

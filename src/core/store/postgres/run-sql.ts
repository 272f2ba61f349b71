import type { Row } from '../../model/resource.ts'
import type { Query } from '../queries-protocol.ts'
import { type GainedRows, gain, type Mutation, valueLists, type Write } from '../queries-protocol.ts'
import { type Queryable, queryRows } from './connection.ts'
import { writeRows } from './write-rows.ts'

/** Number of statements sent before the first is answered: waiting for each would take longer than the work. */
const SENT_AHEAD = 500

/**
 * Number of rows sent before the server has taken the first of them. Those of a large block would not fit in memory
 * together.
 */
const MAX_ROWS_AHEAD = 40_000

/**
 * Runs a mutation within the caller's transaction, with one statement for each table. It does not wait for a write without
 * an answer before it sends the next one: round trips took longer than the work.
 *
 * @param isDistributed whether the tables are distributed over a cluster (cluster.ts)
 * @param gained counts rows; complete once the promises are fulfilled
 * @param sent receives the promises to await before the transaction can be trusted; without it they are all awaited here
 */
export async function runPostgresMutation<Result>(
  client: Queryable,
  mutation: Mutation<Result>,
  isDistributed = false,
  gained: GainedRows = new Map(),
  sent?: Promise<unknown>[],
): Promise<Result> {
  const waiting = sent ?? []
  let rowsAhead = 0
  let step = mutation.next()
  while (!step.done) {
    const answer = runWrite(client, step.value, isDistributed, gained)
    // If several statements fail, the first error counts: after it the server refuses everything.
    rowsAhead += 'text' in step.value ? 0 : step.value.rows.length
    if (isAnswered(step.value) || rowsAhead >= MAX_ROWS_AHEAD) {
      step = mutation.next((await Promise.all([answer, ...waiting.splice(0)]))[0])
      rowsAhead = 0
    } else {
      answer.catch(() => {})
      waiting.push(answer)
      step = mutation.next([])
    }
  }
  if (sent === undefined) await Promise.all(waiting)
  return step.value
}

const isAnswered = (write: Write) => 'text' in write || write.countNewBy !== undefined

/** Runs one write of a mutation; returns its rows for each list of values, none for rows that are not counted. */
async function runWrite(
  client: Queryable,
  write: Write,
  isDistributed: boolean,
  gained: GainedRows,
): Promise<Row[][]> {
  if (!('text' in write)) return writeRows(client, write, isDistributed, gained)
  const results: Row[][] = []
  const all = valueLists(write)
  for (let at = 0; at < all.length; at += SENT_AHEAD) {
    const lists = all.slice(at, at + SENT_AHEAD)
    results.push(...(await Promise.all(lists.map((values) => queryRows(client, write.text, values)))))
  }
  if (write.deletesFrom !== undefined) gain(gained, write.deletesFrom, -results.flat().length)
  return results
}

/** Runs a query's statements one after another, within the caller's transaction if it has one. */
export async function runPostgresQuery<T>(client: Queryable, query: Query<T>): Promise<T> {
  let step = query.next()
  while (!step.done) {
    const { text } = step.value
    const sent = valueLists(step.value).map((values) => queryRows(client, text, values))
    step = query.next((await Promise.all(sent)).flat())
  }
  return step.value
}

import type { Row } from '../../model/resource.ts'
import {
  type GainedRows,
  gain,
  type Mutation,
  type Query,
  type StatementWrite,
  valueLists,
  type Write,
} from '../queries-protocol.ts'
import { type Queryable, queryRows } from './connection/query-rows.ts'
import { RowWriter } from './rows/write-rows.ts'

/** Number of statements sent before the first is answered: waiting for each would take longer than the work. */
const SENT_AHEAD = 500

/**
 * Number of rows sent before the server has taken the first of them. Those of a large block would not fit in memory
 * together.
 */
const MAX_ROWS_AHEAD = 40_000

type SendingOptions = {
  /** Whether the tables are distributed over a cluster (cluster/cluster.ts). */
  isDistributed: boolean
  /** Receives the numbers of new and deleted rows; complete once everything sent is answered. */
  gained: GainedRows
  /** Receives the promises to await before the transaction can be trusted. Those in it are awaited together with others. */
  unanswered: Promise<unknown>[]
}

/**
 * Runs a mutation within the caller's transaction, and waits until everything is answered.
 *
 * @param isDistributed whether the tables are distributed over a cluster (cluster/cluster.ts)
 */
export async function runPostgresMutation<Result>(
  client: Queryable,
  mutation: Mutation<Result>,
  isDistributed = false,
): Promise<Result> {
  const unanswered: Promise<unknown>[] = []
  const gained: GainedRows = new Map()
  const result = await sendPostgresMutation(client, mutation, { isDistributed, gained, unanswered })
  await Promise.all(unanswered)
  return result
}

/**
 * Sends a mutation within the caller's transaction, with one statement for each table. It does not wait for a write without
 * an answer before it sends the next one: round trips took longer than the work.
 */
export async function sendPostgresMutation<Result>(
  client: Queryable,
  mutation: Mutation<Result>,
  { isDistributed, gained, unanswered }: SendingOptions,
): Promise<Result> {
  const rowWriter = new RowWriter(client, isDistributed, gained)
  let rowsAhead = 0
  let step = mutation.next()
  while (!step.done) {
    const write = step.value
    const answer = 'text' in write ? runStatement(client, write, gained) : rowWriter.write(write)
    // If several statements fail, the first error counts: after it the server refuses everything.
    rowsAhead += 'text' in write ? 0 : write.rows.length
    if (isAnswered(write) || rowsAhead >= MAX_ROWS_AHEAD) {
      step = mutation.next((await Promise.all([answer, ...unanswered.splice(0)]))[0])
      rowsAhead = 0
    } else {
      answer.catch(() => {})
      unanswered.push(answer)
      step = mutation.next([])
    }
  }
  return step.value
}

/** Whether a mutation waits for the answer of a write. */
const isAnswered = (write: Write) => 'text' in write || write.countNewBy !== undefined

/** Runs a statement of a mutation; returns its rows for each list of values. */
async function runStatement(
  client: Queryable,
  statement: StatementWrite,
  gained: GainedRows,
): Promise<Row[][]> {
  const results: Row[][] = []
  const all = valueLists(statement)
  for (let at = 0; at < all.length; at += SENT_AHEAD) {
    const lists = all.slice(at, at + SENT_AHEAD)
    results.push(...(await Promise.all(lists.map((values) => queryRows(client, statement.text, values)))))
  }
  if (statement.deletesFrom !== undefined) gain(gained, statement.deletesFrom, -results.flat().length)
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

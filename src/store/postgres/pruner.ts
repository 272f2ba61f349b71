import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { EVERY_CHANGE } from '../changes.ts'
import type { Statement } from '../page-statement.ts'
import {
  deleteCheckpoints,
  IS_EMPTY_SPAN,
  nextPoints,
  noteBound,
  oldCheckpoints,
  oldPoints,
  SET_SPAN_EDGES,
} from '../prune-statements.ts'
import type { PruneBound, Pruner } from '../pruner.ts'
import type { PostgresAddress } from './address.ts'
import { connect, rowsOf, writeChanges, writerConfig } from './connection.ts'
import { explainPostgresError, isConnectionLost, isPassing } from './errors.ts'

/** How long a transaction waits for rows that a writer holds before it lets go of its own, in milliseconds. */
const LOCK_WAIT_MS = 200

/** Times that a chunk is tried, and the wait between. */
const ATTEMPTS = 20
const RETRY_MS = 250

/** SQLSTATE of a lock that was not given in time. */
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Held from before rows of a period go until its span is right: a writer that adds points to the period changes
 * the span last, and waits there.
 */
const LOCK_SPANS = `
  select seq from funding_period_spans where market = $1 and seq = any ($2::bigint[]) order by seq for update`

const UPDATE_SPANS = `
  update funding_period_spans as span set points = span.points - gone.points, ${SET_SPAN_EDGES}
  from unnest($2::bigint[], $3::bigint[]) as gone (seq, points)
  where span.market = $1 and span.seq = gone.seq`

const DELETE_EMPTY_SPANS = `
  delete from funding_period_spans as span
  where market = $1 and seq = any ($2::bigint[]) and ${IS_EMPTY_SPAN}`

/** Opens a pruner on a connection of its own, beside the one that holds the writer's lock. */
export async function openPostgresPruner(address: PostgresAddress): Promise<Pruner> {
  let client: Client | null = null

  async function connected(): Promise<Client> {
    if (client !== null) return client
    client = await connect(writerConfig(address))
    await client.query(`set lock_timeout = ${LOCK_WAIT_MS}`)
    return client
  }

  /** Does work, again where it was in a writer's way, or the server was away for a moment. */
  async function persist<T>(work: (client: Client) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work(await connected())
      } catch (error) {
        await client?.query('rollback').catch(() => {})
        if (client !== null && isConnectionLost(error)) {
          await client.end().catch(() => {})
          client = null
        }
        const passes = isPassing(error) || (error as { code?: string }).code === LOCK_NOT_AVAILABLE
        if (!passes || attempt === ATTEMPTS) throw explainPostgresError(address.name, error)
        await sleep(RETRY_MS)
      }
    }
  }

  /** One transaction that takes rows out; returns how many. */
  function takeOut(bound: PruneBound, work: (client: Client) => Promise<number>): Promise<number> {
    return persist(async (locked) => {
      await locked.query('begin')
      const rows = await work(locked)
      if (rows > 0) {
        await run(locked, noteBound(bound))
        await writeChanges(locked, EVERY_CHANGE)
      }
      await locked.query('commit')
      return rows
    })
  }

  try {
    await connected()
  } catch (error) {
    throw explainPostgresError(address.name, error)
  }

  return {
    markets: () =>
      persist(async (asked) =>
        (await rowsOf(asked, 'select market from markets order by market')).map(([market]) =>
          BigInt(market!),
        ),
      ),

    checkpoints: async (bound, after, limit) => {
      const found = await persist((asked) => run(asked, oldCheckpoints(bound, after, limit)))
      const [atBlock, hash] = (found.at(-1) ?? []) as string[]
      if (atBlock === undefined) return { rows: 0, last: null }
      const last = { atBlock: BigInt(atBlock), hash: hash! }
      const statement = deleteCheckpoints(bound, after, last)
      const deleted = await takeOut(
        bound,
        async (locked) => (await run(locked, statement, ' returning at_block')).length,
      )
      return { rows: deleted, last: found.length < limit ? null : last }
    },

    dataPoints: async (bound, pointRun, after, limit) => {
      const found = await persist((asked) => run(asked, nextPoints(bound, pointRun, after, limit)))
      const [timestamp, seq] = (found.at(-1) ?? []) as string[]
      if (timestamp === undefined) return { rows: 0, last: null }
      const last = { timestamp: BigInt(timestamp), seq: BigInt(seq!) }
      const next = found.length < limit ? null : last
      const seqs = [...new Set(found.filter(([, , old]) => old === 1).map(([, of]) => of as string))]
      if (seqs.length === 0) return { rows: 0, last: next }
      const { market } = pointRun
      const { text, values } = oldPoints(bound, pointRun, after, last)
      const deleted = await takeOut(bound, async (locked) => {
        await rowsOf(locked, LOCK_SPANS, [market, seqs])
        const gone = await rowsOf(
          locked,
          `delete ${text} and seq = any ($${values.length + 1}::bigint[]) returning cast(seq as text)`,
          [...values, seqs],
        )
        const bySeq = Map.groupBy(gone, ([of]) => of as string)
        const counts = [...bySeq.values()].map((rows) => String(rows.length))
        await rowsOf(locked, UPDATE_SPANS, [market, [...bySeq.keys()], counts])
        await rowsOf(locked, DELETE_EMPTY_SPANS, [market, [...bySeq.keys()]])
        return gone.length
      })
      return { rows: deleted, last: next }
    },

    close: async () => {
      await client?.end().catch(() => {})
    },
  }
}

function run(client: Client, { text, values }: Statement, suffix = '') {
  return rowsOf(client, `${text}${suffix}`, values)
}

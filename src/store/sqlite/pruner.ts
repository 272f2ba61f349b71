import type { KeyValue } from '../../resources/resource.ts'
import { EVERY_CHANGE, noteChanges } from '../changes.ts'
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
import type { PointRun, PruneBound, Pruner } from '../pruner.ts'
import { Connection, explained } from './connection.ts'
import { logBytes } from './log-check.ts'

const UPDATE_SPAN = `
  update funding_period_spans as span set points = span.points - $3, ${SET_SPAN_EDGES}
  where market = $1 and seq = $2`

const DELETE_EMPTY_SPAN = `
  delete from funding_period_spans as span where market = $1 and seq = $2 and ${IS_EMPTY_SPAN}`

/** A log that is empty now begins with this commit: the file holds all commits before (log-check.ts). */
const COUNT_COMMIT = `
  update store_file set
    log_from = case when $1 = 0 then commits else log_from end,
    commits = commits + 1,
    upkeep_commits = upkeep_commits + 1`

/** The log is copied to the file once it holds this many bytes. */
const MAX_LOG_BYTES = 4 * 1024 * 1024

/** Opens a pruner on a connection of its own. */
export function openSqlitePruner(path: string): Pruner {
  const connection = Connection.openForWriting(path)

  function run({ text, values }: Statement, prefix = ''): number {
    return connection.run(`${prefix}${text}`, values)
  }

  function rows({ text, values }: Statement, prefix = '', suffix = ''): (string | number | null)[][] {
    return connection.rows(`${prefix}${text}${suffix}`, values)
  }

  /** One transaction that takes rows out; returns how many. */
  function takeOut(bound: PruneBound, work: () => number): number {
    return explained(path, () => {
      // Where a reader of an older snapshot is in the way, the log is copied another time.
      if (logBytes(path) > MAX_LOG_BYTES) connection.truncateLog()
      return connection.transaction('immediate', () => {
        connection.run(COUNT_COMMIT, [BigInt(logBytes(path))])
        run(noteBound(bound))
        connection.runAll(noteChanges(EVERY_CHANGE))
        return work()
      })
    })
  }

  function shrinkSpan({ market }: PointRun, seq: KeyValue, points: KeyValue): void {
    connection.run(UPDATE_SPAN, [market, seq, points])
    connection.run(DELETE_EMPTY_SPAN, [market, seq])
  }

  return {
    markets: async () =>
      explained(path, () => connection.rows('select market from markets order by market')).map(([market]) =>
        BigInt(market!),
      ),

    checkpoints: async (bound, after, limit) => {
      const found = explained(path, () => rows(oldCheckpoints(bound, after, limit)))
      const [atBlock, hash] = (found.at(-1) ?? []) as string[]
      if (atBlock === undefined) return { rows: 0, last: null }
      const last = { atBlock: BigInt(atBlock), hash: hash! }
      const deleted = takeOut(bound, () => run(deleteCheckpoints(bound, after, last)))
      return { rows: deleted, last: found.length < limit ? null : last }
    },

    dataPoints: async (bound, pointRun, after, limit) => {
      const found = explained(path, () => rows(nextPoints(bound, pointRun, after, limit)))
      const [timestamp, seq] = (found.at(-1) ?? []) as string[]
      if (timestamp === undefined) return { rows: 0, last: null }
      const last = { timestamp: BigInt(timestamp), seq: BigInt(seq!) }
      const next = found.length < limit ? null : last
      if (found.every(([, , old]) => old === 0)) return { rows: 0, last: next }
      const old = oldPoints(bound, pointRun, after, last)
      const deleted = takeOut(bound, () => {
        const bySeq = rows(old, 'select cast(seq as text), count(*) ', ' group by seq')
        run(old, 'delete ')
        let total = 0
        for (const [of, points] of bySeq) {
          shrinkSpan(pointRun, BigInt(of!), BigInt(points!))
          total += Number(points)
        }
        return total
      })
      return { rows: deleted, last: next }
    },

    close: async () => {
      try {
        if (connection.isInPlace) connection.truncateLog()
      } catch {
        // The log stays, and is copied another time.
      }
      connection.close()
    },
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { describeCluster } from '#core/store/inspection'
import type { Reader } from '#core/store/store'
import type { Metrics } from '../metrics.ts'
import { throttled } from './throttled.ts'

/** Milliseconds that an answer waits for the cluster's machines. After that it repeats their last report. */
const WAIT_MS = 500

/**
 * Checks the store's cluster for faults when the returned function is called, and adds their count to the metrics. The lines
 * that it resolves with are public; only the log names machines.
 */
export function watchCluster(reader: Reader, logger: Logger, metrics: Metrics): () => Promise<string[]> {
  let shown: string[] = []
  let logged = ''
  const say = (faults: string[], toOperator: string) => {
    shown = faults
    if (toOperator !== logged && toOperator !== '') logger.error(`cluster: ${toOperator}`)
    logged = toOperator
  }
  const ask = throttled(async () => {
    try {
      const faults = (await reader.clusterFaults?.()) ?? { localTables: [], workersDown: [] }
      const all = describeCluster(faults, { withAddresses: true })
      say(describeCluster(faults, { withAddresses: false }), all.join('; '))
    } catch (error) {
      say(['the machines of the cluster do not respond; see the log'], (error as Error).message)
    }
  })
  const faults = async () => {
    if (reader.clusterFaults === undefined) return []
    await Promise.race([ask(), sleep(WAIT_MS, undefined, { ref: false })])
    return shown
  }
  metrics.gauge('lyra_cluster_faults', 'Faults of the database cluster; 0 without one.', [], async (count) =>
    count.set((await faults()).length),
  )
  return faults
}

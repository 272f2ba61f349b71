import type { StoreFacts } from '#core/store/inspection'
import { readStoreContents } from '#core/store/queries/contents/store-contents'
import { readStore } from '#core/store/read-store'
import type { StoreAdmin } from '#core/store/store'
import type { StateReport } from '#service/health/readiness'
import { type CoverageBody, coverageBody } from '#service/questions/coverage-body'

/** The state of a service, apart from its rows. */
export type ServiceStatus = {
  ready: boolean
  /** Why it is not ready. */
  reasons: { reason: string; message: string }[]
  /** Null if the service does not listen for a core. */
  live:
    | (Omit<NonNullable<StateReport['live']>, 'connectionFaults'> & {
        /** Connections that the service has closed since its start, by reason. */
        connectionFaults: Record<string, number>
      })
    | null
  /** The protocol upgrade in progress; null if there is none. */
  upgrade: NonNullable<StateReport['protocolUpgrade']> | null
  /** The state of forwarding; null if the service does not forward. */
  forward: StateReport['forward'] | null
  /** Faults of the cluster over which the store is distributed. */
  cluster: string[]
}

/** The state of a store, as reported by the store itself or by a service. 64-bit integers are text. */
export type StatusReport = {
  /** The store's name, or the address of the service. */
  of: string
  lastBlock: { height: string; timestamp: string; ageSeconds: number } | null
  /** Null if no block is stored, or the schema is not this program's. */
  coverage: CoverageBody['coverage'] | null
  /** Null for a service. */
  store: StoreFacts | null
  /** Null for a store. */
  service: ServiceStatus | null
}

/**
 * Reads the state of a store, and changes nothing.
 *
 * @throws {StoreError} if there is no store, or it cannot be read.
 */
export async function statusOfStore(store: StoreAdmin): Promise<StatusReport> {
  const facts = await store.inspect()
  const report: StatusReport = {
    of: store.name,
    lastBlock: null,
    coverage: null,
    store: facts,
    service: null,
  }
  // Opening the store would upgrade it, which this command must not do.
  if (facts.schemaVersion !== facts.programSchemaVersion) return report
  // These queries need all machines.
  if (facts.cluster !== undefined && facts.cluster.workersDown.length > 0) return report
  const contents = await readStore(store, readStoreContents)
  if (contents === null) return report
  const { coverage } = coverageBody(contents)
  return {
    ...report,
    coverage,
    lastBlock: lastBlock(contents.coverage.height.toString(), coverage.blocks.lastTimestamp),
  }
}

/** The last block, with its age. */
export function lastBlock(height: string, timestamp: string): StatusReport['lastBlock'] {
  const ageMs = Date.now() - Number(BigInt(timestamp) / 1_000_000n)
  return { height, timestamp, ageSeconds: Math.max(0, Math.round(ageMs / 1000)) }
}

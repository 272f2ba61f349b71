import { describeDuration } from '#core/domain/duration'
import { describeUpgradeWait, type UpgradeState } from '#core/log/files/receiver-file'
import { StoreDamagedError, StoreOutdatedError } from '#core/store/errors'
import type { StoreHead } from '#core/store/pages/page'
import type { Reader } from '#core/store/store'
import type { ForwardState } from '../live/forward/forward-state.ts'
import { LONG_UPGRADE_WAIT_MS } from '../live/receive/protocol-upgrade.ts'
import type { LiveState } from '../live/state/live-state.ts'
import type { Metrics } from '../metrics.ts'

/** Every kind of reason for which a service is not ready. */
const UNREADY_REASONS = [
  'empty store',
  'intake stopped',
  'store unreachable',
  'store damaged',
  'behind',
  'thread stopped',
  'starting',
  'receiver silent',
] as const

/**
 * How long a protocol upgrade explains that no block arrives, milliseconds: until the core should have been answered, and then
 * until the network should have resumed.
 */
const ANSWER_MS = 60_000
const UPGRADE_MS = 600_000

/** Why the service does not serve current data. */
export type UnreadyReason = { reason: (typeof UNREADY_REASONS)[number]; message: string }

/** The state of the ingestion beside the service. */
export type IngestionState = {
  /** What stopped it before its end; null while it runs, has ended, or there is none. */
  failure: string | null
  /** The state of live ingestion; null if there is none. */
  live: LiveState | null
  /** Maximum age of the last block, seconds; null: any. */
  maxBehindSeconds: number | null
  /** Whether all threads of the service run. */
  threadsRun(): boolean
  /** Whether they all have run; until then the service starts. */
  hasStarted?(): boolean
}

/** What answers, streams and exports have found out about the store's state. */
export type StoreHealth = {
  /** Whether one has failed at damage since the service was started. */
  isDamaged: boolean
}

/** Why a service is not ready. */
type Unreadiness = {
  /** None if it is ready. */
  reasons: UnreadyReason[]
  /** Fault that prevents reading the store, for the log only, since it names the database; null if there is none. */
  storeFault: string | null
}

/** Finds out whether the service serves current data. */
export async function unreadiness(
  reader: Reader,
  ingestion: IngestionState,
  health: StoreHealth,
): Promise<Unreadiness> {
  const reasons: UnreadyReason[] = []
  for (const failure of [ingestion.failure, ...(ingestion.live?.failures ?? [])]) {
    if (failure !== null) reasons.push({ reason: 'intake stopped', message: failure })
  }
  const silence = ingestion.live?.silence ?? null
  if (silence !== null) reasons.push({ reason: 'receiver silent', message: silence })
  if (!ingestion.threadsRun()) {
    reasons.push(
      (ingestion.hasStarted?.() ?? true)
        ? { reason: 'thread stopped', message: 'a thread has ended; see the log' }
        : { reason: 'starting', message: 'the service starts' },
    )
  }
  if (health.isDamaged) {
    reasons.push({
      reason: 'store damaged',
      message:
        'the store is damaged: some answers cannot be given. See the log, restore a backup and restart Lyra',
    })
  }
  let storeHead: StoreHead | null
  try {
    storeHead = (await reader.freshness(null)).storeHead
    const table = (await reader.deniedTable?.()) ?? null
    if (table !== null) {
      reasons.push({
        reason: 'store unreachable',
        message: `permission denied for table ${table}; grant select on all tables of the schema`,
      })
    }
  } catch (error) {
    const { cause, message } = error as Error
    if (cause instanceof StoreDamagedError) health.isDamaged = true
    const fault = cause instanceof StoreOutdatedError ? cause.fault : 'the store cannot be read; see the log'
    reasons.push({ reason: 'store unreachable', message: fault })
    return { reasons, storeFault: message }
  }
  if (storeHead === null) {
    reasons.push({ reason: 'empty store', message: 'the store has no block yet' })
    return { reasons, storeFault: null }
  }
  const behind = behindSeconds(storeHead)
  const isExplained = isUpgradeGoingWell(ingestion.live?.upgrade ?? null)
  if (ingestion.maxBehindSeconds !== null && behind > ingestion.maxBehindSeconds && !isExplained) {
    reasons.push({ reason: 'behind', message: `behind by ${describeDuration(behind)}` })
  }
  return { reasons, storeFault: null }
}

/** Adds the reasons as metrics. */
export function addReadinessMetrics(
  { gauge }: Metrics,
  reader: Reader,
  ingestion: IngestionState,
  health: StoreHealth,
): void {
  gauge(
    'lyra_unready',
    'Whether the service is not ready for this reason; all 0 while it is ready.',
    ['reason'],
    async (unready) => {
      const { reasons } = await unreadiness(reader, ingestion, health)
      for (const kind of UNREADY_REASONS) {
        unready.set({ reason: kind }, Number(reasons.some(({ reason }) => reason === kind)))
      }
    },
  )
}

/** The state of the ingestion in `/ready`: each part only if it applies. */
export type StateReport = LiveReport & StandbyReport & UpgradeReport & ForwardReport

/** The parts of the report that apply to an ingestion. */
export function stateReport(ingestion: IngestionState): StateReport {
  return {
    ...liveReport(ingestion),
    ...standbyReport(ingestion),
    ...upgradeReport(ingestion),
    ...forwardReport(ingestion),
  }
}

/** The state of live ingestion in `/ready`. */
type LiveReport = {
  live?: {
    coreConnected: boolean
    /** Since the start of the service. */
    eventsReceived: number
    /** Bytes of events in the event log that are not in the store. */
    bufferBytes: number
    /** Whether a fault prevents it from committing. */
    stopped: boolean
    /** Connections closed by the service since its start, by reason. */
    connectionFaults: { reason: string; count: number }[]
  }
}

/** Nothing if the service waits for no core. */
function liveReport({ live }: IngestionState): LiveReport {
  if (live === null) return {}
  const { coreConnected, received, bytesLeft, failures, faults } = live
  return {
    live: {
      coreConnected,
      eventsReceived: received,
      bufferBytes: bytesLeft,
      stopped: failures.length > 0,
      connectionFaults: Object.entries(faults).map(([reason, count]) => ({ reason, count })),
    },
  }
}

/** The state of forwarding in `/ready`. It never makes the service unready. */
type ForwardReport = { forward?: Omit<ForwardState, 'messages' | 'missingCount'> }

/** Nothing if nothing is forwarded. */
function forwardReport({ live }: IngestionState): ForwardReport {
  if (live === null || live.forward === null) return {}
  const { messages: _, missingCount: __, ...forward } = live.forward
  return { forward }
}

/** That another process is the store's writer, in `/ready`: a standby is ready. */
type StandbyReport = { standby?: { message: string; seconds: number } }

/** Nothing while this process, or none, is the writer. */
function standbyReport({ live }: IngestionState): StandbyReport {
  const since = live?.otherWriterSince ?? null
  if (since === null) return {}
  const seconds = Math.max(0, Math.round((Date.now() - since) / 1000))
  return { standby: { message: 'another process is the writer', seconds } }
}

/** The protocol upgrade in `/ready`. It does not make the service unready. */
type UpgradeReport = {
  protocolUpgrade?: {
    /** The last block before the upgrade. */
    height: string
    /** Whether the core has been answered that all blocks up to it are safe. */
    answered: boolean
    /** Whom the core waits for, if it has waited for 10 s. */
    waitingFor: string | null
  }
}

/** Nothing while the core is in no upgrade. */
function upgradeReport({ live }: IngestionState): UpgradeReport {
  const upgrade = live?.upgrade ?? null
  if (upgrade === null) return {}
  const { height, since, waitsFor } = upgrade
  const isLong = waitsFor !== null && Date.now() - since >= LONG_UPGRADE_WAIT_MS
  return {
    protocolUpgrade: {
      height,
      answered: waitsFor === null,
      waitingFor: isLong ? describeUpgradeWait(upgrade) : null,
    },
  }
}

/** Whether a protocol upgrade explains that the last block gets older. */
function isUpgradeGoingWell(upgrade: UpgradeState | null): boolean {
  if (upgrade === null) return false
  return Date.now() - upgrade.since < (upgrade.waitsFor === null ? UPGRADE_MS : ANSWER_MS)
}

/** The age of a block's time, in seconds. */
function behindSeconds({ timestamp }: StoreHead): number {
  return (Date.now() - Number(BigInt(timestamp) / 1_000_000n)) / 1000
}

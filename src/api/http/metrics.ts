import { statfs } from 'node:fs/promises'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { LEFT_OUT_REASONS } from '../../events/left-out.ts'
import type { ForwardState } from '../../ingest/forward/forward-state.ts'
import type { LiveState } from '../../ingest/live/live-ingestion.ts'
import { CONNECTION_FAULTS } from '../../ingest/live/pair-socket.ts'
import { sharedRuns } from '../../shared-runs.ts'
import { readPosition } from '../../store/readings/coverage.ts'
import { readLastTimes } from '../../store/readings/last-times.ts'
import type { Reader, ReplicaState } from '../../store/store.ts'
import { type IngestionState, UNREADY_REASONS, unreadiness } from './readiness.ts'

/** The service's figures, in Prometheus' terms. */
export type Metrics = {
  registry: Registry
  /** Counts a call of gRPC, and its seconds. */
  grpcCall(method: string, code: string, seconds: number): void
  /** Counts an answer, and its seconds. */
  answered(route: string, method: string, status: number, seconds: number): void
  /** Counts an answer from memory. */
  answeredFromMemory(): void
  eventsLeftOut: Counter<'reason'>
  recordsIngested: Counter
  standby: Gauge
  pruneFailed: Gauge
  /** Shows the state of the live ingestion. */
  showLive(state: LiveState): void
}

/** The buckets of what takes a request's time. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** Writes the figures of a service that is more than one process. */
export type MetricsText = () => Promise<string>

/** Markets whose last data points are reported, at most: each is two figures. */
const MOST_MARKETS = 500

/** What the two sources of data points are called in figures, by number. */
const SOURCE_LABELS = { 1: 'external', 2: 'internal' } as const

/** Folders whose disks are watched, by what lies there. */
export type WatchedDisks = Readonly<Record<string, string>>

export function createMetrics(
  reader: Reader,
  ingestion: IngestionState,
  clusterFaults: () => Promise<string[]>,
  disks: WatchedDisks = {},
): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const gauge = (name: string, help: string) => new Gauge({ name, help, aggregator: 'max', registers })
  // prom-client's own figure is left out where several processes answer.
  gauge('lyra_start_timestamp_seconds', 'Time of the last start of a process that answers.').set(
    Math.round(Date.now() / 1000 - process.uptime()),
  )
  new Gauge({
    name: 'lyra_block_height',
    aggregator: 'max',
    help: 'Height of the last block committed; 0 in an empty store.',
    registers,
    async collect() {
      this.set(Number((await positionOrNull(reader))?.height ?? 0))
    },
  })
  new Gauge({
    name: 'lyra_block_timestamp_seconds',
    aggregator: 'max',
    help: 'Time of the last block committed; 0 in an empty store.',
    registers,
    async collect() {
      this.set(Number((await positionOrNull(reader))?.timestamp ?? 0) / 1e9)
    },
  })
  new Gauge({
    name: 'lyra_unready',
    aggregator: 'max',
    help: 'Reasons why the service is not ready, by kind; 0 of each while it is ready.',
    labelNames: ['reason'],
    registers,
    async collect() {
      const { reasons, gaps } = await unreadiness(reader, ingestion)
      for (const kind of UNREADY_REASONS) {
        const count = kind === 'gap' ? gaps : reasons.filter(({ reason }) => reason === kind).length
        this.set({ reason: kind }, count)
      }
    },
  })
  new Gauge({
    name: 'lyra_cluster_faults',
    aggregator: 'max',
    help: 'Faults of the cluster that the store is spread over; 0 without one.',
    registers,
    async collect() {
      this.set((await clusterFaults()).length)
    },
  })
  const { log } = reader
  if (log !== undefined) {
    new Gauge({
      name: 'lyra_store_log_bytes',
      aggregator: 'max',
      help: "Size of the log beside the store's file.",
      registers,
      collect() {
        this.set(log.bytes())
      },
    })
  }
  lastTimeMetrics(registers, reader)
  diskMetrics(registers, disks)
  if (reader.replicas !== undefined) replicaMetrics(registers, reader.replicas)
  const live = liveMetrics(registers, gauge)
  const observeRequest = observerOf(
    new Histogram({
      name: 'lyra_http_request_duration_seconds',
      help: 'Time from a request to its answer.',
      labelNames: ['route', 'method', 'status'],
      buckets: SECONDS,
      registers,
    }),
  )
  const observeCall = observerOf(
    new Histogram({
      name: 'lyra_grpc_call_duration_seconds',
      help: 'Time from a gRPC call to its status.',
      labelNames: ['method', 'code'],
      buckets: SECONDS,
      registers,
    }),
  )
  const answersFromMemory = new Counter({
    name: 'lyra_pages_from_memory_total',
    help: 'Pages answered from memory, because nothing that they show had changed.',
    registers,
  })
  const eventsLeftOut = new Counter({
    name: 'lyra_events_left_out_total',
    aggregator: 'max',
    help: 'Invalid events and list elements that were left out, by reason.',
    labelNames: ['reason'],
    registers,
  })
  for (const reason of LEFT_OUT_REASONS) eventsLeftOut.inc({ reason }, 0)
  return {
    registry,
    showLive: live,
    answered: (route, method, status, seconds) => {
      observeRequest(
        `${status} ${method} ${route}`,
        () => ({ route, method, status: String(status) }),
        seconds,
      )
    },
    answeredFromMemory: () => answersFromMemory.inc(),
    grpcCall: (method, code, seconds) => {
      observeCall(`${code} ${method}`, () => ({ method, code }), seconds)
    },
    eventsLeftOut,
    standby: gauge('lyra_standby', 'Whether ingestion waits for another writer of the store to go.'),
    pruneFailed: gauge('lyra_prune_failed', 'Whether the last deletion of old rows (--keep) has failed.'),
    recordsIngested: new Counter({
      name: 'lyra_records_total',
      aggregator: 'max',
      help: 'Records read by ingestion.',
      registers,
    }),
  }
}

/** Observes by labels, which a key stands for: finding those of a histogram anew takes longer than to count. */
function observerOf<Label extends string>(
  histogram: Histogram<Label>,
): (key: string, labels: () => Partial<Record<Label, string>>, seconds: number) => void {
  const children = new Map<string, Histogram.Internal<Label>>()
  return (key, labels, seconds) => {
    let child = children.get(key)
    if (child === undefined) {
      child = histogram.labels(labels())
      children.set(key, child)
    }
    child.observe(seconds)
  }
}

/** When the last checkpoint and data points came: a service that is current may still get none of a market. */
function lastTimeMetrics(registers: Registry[], reader: Reader): void {
  const times = sharedRuns(() => reader.read(() => readLastTimes(MOST_MARKETS)).catch(() => null))
  new Gauge({
    name: 'lyra_market_point_timestamp_seconds',
    aggregator: 'max',
    help: 'Time of the last data point of a market that has not ended, by market and source.',
    labelNames: ['market', 'source'],
    registers,
    async collect() {
      const points = (await times.current())?.points ?? []
      this.reset()
      for (const { marketId, source, timestamp } of points) {
        this.set({ market: marketId, source: SOURCE_LABELS[source] }, Number(timestamp) / 1e9)
      }
    },
  })
  new Gauge({
    name: 'lyra_checkpoint_timestamp_seconds',
    aggregator: 'max',
    help: 'Time of the block of the last checkpoint; 0 where there is none.',
    registers,
    async collect() {
      this.set(Number((await times.current())?.checkpoint ?? 0) / 1e9)
    },
  })
}

function diskMetrics(registers: Registry[], disks: WatchedDisks): void {
  const figures = [
    ['lyra_disk_size_bytes', 'Size of the disk that something lies on.', 'blocks'],
    ['lyra_disk_free_bytes', 'Bytes of that disk that the service may still write.', 'bavail'],
  ] as const
  for (const [name, help, count] of figures) {
    new Gauge({
      name,
      aggregator: 'max',
      help,
      labelNames: ['of'],
      registers,
      async collect() {
        for (const [of, folder] of Object.entries(disks)) {
          const disk = await statfs(folder).catch(() => null)
          if (disk !== null) this.set({ of }, disk[count] * disk.bsize)
        }
      },
    })
  }
}

function replicaMetrics(registers: Registry[], replicas: () => ReplicaState[]): void {
  new Gauge({
    name: 'lyra_replica_block_height',
    aggregator: 'max',
    help: 'Height of the last block that a replica has reported; 0 before the first.',
    labelNames: ['replica'],
    registers,
    collect() {
      for (const { name, height } of replicas()) this.set({ replica: name }, Number(height ?? 0))
    },
  })
  new Gauge({
    name: 'lyra_replica_in_use',
    aggregator: 'max',
    help: 'Whether a replica is read from.',
    labelNames: ['replica'],
    registers,
    collect() {
      for (const { name, fault } of replicas()) this.set({ replica: name }, fault === null ? 1 : 0)
    },
  })
}

function liveMetrics(
  registers: Registry[],
  gauge: (name: string, help: string) => Gauge,
): (state: LiveState) => void {
  const enabled = gauge('lyra_live_enabled', 'Whether the service waits for a core that dials in.')
  const connected = gauge('lyra_live_core_connected', 'Whether a core is connected.')
  const received = gauge('lyra_live_events_received', 'Events received from the core since the start.')
  const buffered = gauge('lyra_live_buffer_bytes', 'Bytes of events in the buffer that are not committed.')
  const stopped = gauge('lyra_live_stopped', 'Whether a fault keeps live ingestion from committing.')
  const forwardEnabled = gauge('lyra_forward_enabled', 'Whether events of the core are forwarded.')
  const forwardConnected = gauge(
    'lyra_forward_connected',
    'Whether the receiver of forwarded events is connected.',
  )
  const forwardStopped = gauge('lyra_forward_stopped', 'Whether a fault keeps events from being forwarded.')
  const forwardMessages = gauge('lyra_forward_messages', 'Messages passed on since the start.')
  const forwardHeight = gauge(
    'lyra_forward_block_height',
    'Height of the last block passed on; 0 before the first.',
  )
  const forwardLagBytes = gauge('lyra_forward_lag_bytes', 'Bytes of events that are still to be passed on.')
  const forwardLagBlocks = gauge('lyra_forward_lag_blocks', 'Blocks that are still to be passed on.')
  const forwardLagSeconds = gauge(
    'lyra_forward_lag_seconds',
    "Seconds of the chain's time between the last block passed on and the newest one.",
  )
  const forwardDropped = gauge(
    'lyra_forward_dropped_bytes',
    'Bytes of events that were deleted before they could be passed on, since the start.',
  )
  const forwardMissing = gauge(
    'lyra_forward_missing_blocks',
    'Blocks that the receiver of forwarded events needs from elsewhere.',
  )
  const showForward = (state: ForwardState) => {
    forwardEnabled.set(1)
    forwardConnected.set(state.connected ? 1 : 0)
    forwardStopped.set(state.failure === null ? 0 : 1)
    forwardMessages.set(state.messages)
    forwardHeight.set(Number(state.height ?? 0))
    forwardLagBytes.set(state.lagBytes)
    forwardLagBlocks.set(state.lagBlocks)
    forwardLagSeconds.set(state.lagSeconds)
    forwardDropped.set(state.droppedBytes)
    const { missingBlocks } = state
    forwardMissing.set(
      missingBlocks === null ? 0 : Number(BigInt(missingBlocks.to) - BigInt(missingBlocks.from)) + 1,
    )
  }
  const faults = new Gauge({
    name: 'lyra_live_connection_faults',
    aggregator: 'max',
    help: 'Connections closed by the service since the start, by reason.',
    labelNames: ['reason'],
    registers,
  })
  for (const reason of CONNECTION_FAULTS) faults.set({ reason }, 0)
  return (state) => {
    enabled.set(1)
    connected.set(state.peer === null ? 0 : 1)
    received.set(state.received)
    buffered.set(state.bufferedBytes)
    stopped.set(state.failure === null ? 0 : 1)
    for (const [reason, count] of Object.entries(state.faults)) faults.set({ reason }, count)
    if (state.forward !== null) showForward(state.forward)
  }
}

async function positionOrNull(reader: Reader) {
  try {
    return await reader.read(readPosition)
  } catch {
    return null
  }
}

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { LiveState } from '../../ingest/live/live-ingestion.ts'
import type { Reader, ReplicaState } from '../../store/store.ts'
import { type IngestionState, UNREADY_REASONS, unreadiness } from './readiness.ts'

/** The service's figures, in Prometheus' terms. */
export type Metrics = {
  registry: Registry
  requestSeconds: Histogram<'route' | 'method' | 'status'>
  grpcSeconds: Histogram<'method' | 'code'>
  /** Counts a page that was answered from memory, and its seconds. */
  pageFromMemory(route: string, status: number, seconds: number): void
  eventsLeftOut: Counter<'reason'>
  recordsIngested: Counter
  /** Shows the state of the live ingestion. */
  showLive(state: LiveState): void
}

/** The buckets of what takes a request's time. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** Writes the figures of a service that is more than one process. */
export type MetricsText = () => Promise<string>

export function createMetrics(reader: Reader, ingestion: IngestionState): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
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
    help: 'Reasons for which the service is not ready, by kind; 0 of each where it is.',
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
  if (reader.replicas !== undefined) replicaMetrics(registers, reader.replicas)
  const live = liveMetrics(registers)
  const requestSeconds = new Histogram({
    name: 'lyra_http_request_duration_seconds',
    help: 'Time from a request to its answer.',
    labelNames: ['route', 'method', 'status'],
    buckets: SECONDS,
    registers,
  })
  const grpcSeconds = new Histogram({
    name: 'lyra_grpc_call_duration_seconds',
    help: 'Time from a call of gRPC to its status.',
    labelNames: ['method', 'code'],
    buckets: SECONDS,
    registers,
  })
  const pagesFromMemory = new Counter({
    name: 'lyra_pages_from_memory_total',
    help: 'Pages that were answered without reading rows: nothing that they show had changed.',
    registers,
  })
  const getAnswers = new Map<string, Histogram.Internal<'route' | 'method' | 'status'>>()
  return {
    registry,
    showLive: live,
    requestSeconds,
    grpcSeconds,
    pageFromMemory: (route, status, seconds) => {
      pagesFromMemory.inc()
      const labels = `${status} ${route}`
      let answers = getAnswers.get(labels)
      if (answers === undefined) {
        answers = requestSeconds.labels({ route, method: 'GET', status: String(status) })
        getAnswers.set(labels, answers)
      }
      answers.observe(seconds)
    },
    eventsLeftOut: new Counter({
      name: 'lyra_events_left_out_total',
      aggregator: 'max',
      help: 'Events and list elements that were not as they should be, by reason.',
      labelNames: ['reason'],
      registers,
    }),
    recordsIngested: new Counter({
      name: 'lyra_records_total',
      aggregator: 'max',
      help: 'Records read by the ingestion.',
      registers,
    }),
  }
}

function replicaMetrics(registers: Registry[], replicas: () => ReplicaState[]): void {
  new Gauge({
    name: 'lyra_replica_block_height',
    aggregator: 'max',
    help: 'Height of the last block that a replica has named; 0 where none.',
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

function liveMetrics(registers: Registry[]): (state: LiveState) => void {
  const gauge = (name: string, help: string) => new Gauge({ name, help, aggregator: 'max', registers })
  const enabled = gauge('lyra_live_enabled', 'Whether the service waits for a core that dials in.')
  const connected = gauge('lyra_live_core_connected', 'Whether a core is connected.')
  const received = gauge('lyra_live_events_received', 'Events received from the core since the start.')
  const buffered = gauge('lyra_live_buffer_bytes', 'Bytes of events in the buffer.')
  const stopped = gauge('lyra_live_stopped', 'Whether something keeps the live ingestion from committing.')
  const faults = new Gauge({
    name: 'lyra_live_connection_faults',
    aggregator: 'max',
    help: 'Connections closed by this side since the start, by reason.',
    labelNames: ['reason'],
    registers,
  })
  return (state) => {
    enabled.set(1)
    connected.set(state.peer === null ? 0 : 1)
    received.set(state.received)
    buffered.set(state.bufferedBytes)
    stopped.set(state.failure === null ? 0 : 1)
    for (const [reason, count] of Object.entries(state.faults)) faults.set({ reason }, count)
  }
}

async function positionOrNull(reader: Reader) {
  try {
    return await reader.position()
  } catch {
    return null
  }
}

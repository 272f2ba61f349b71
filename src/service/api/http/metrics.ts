import { statfs } from 'node:fs/promises'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { LEFT_OUT_REASONS } from '#core/events/left-out'
import { sharedRuns } from '#core/shared-runs'
import { readMissingBlocks, readPosition } from '#core/store/readings/coverage'
import { readLastTimes } from '#core/store/readings/last-times'
import type { Reader } from '#core/store/store'
import type { ForwardState } from '../../live/forward/forward-state.ts'
import type { LiveState } from '../../live/live-ingestion.ts'
import { CONNECTION_FAULTS } from '../../live/pair-socket.ts'
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

/** The buckets of request durations. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** Markets whose last data points are reported, at most: each is two figures. */
const MOST_MARKETS = 500

/** Labels of the two sources of data points, by number. */
const SOURCE_LABELS = { 1: 'external', 2: 'internal' } as const

/** Folders whose disks are watched, by their content. */
export type WatchedDisks = Readonly<Record<string, string>>

/** Adds a gauge; `collect` sets it when figures are asked for. */
type AddGauge = <Label extends string = string>(
  name: string,
  help: string,
  labelNames?: Label[],
  collect?: (gauge: Gauge<Label>) => void | Promise<void>,
) => Gauge<Label>

export function createMetrics(
  reader: Reader,
  ingestion: IngestionState,
  clusterFaults: () => Promise<string[]>,
  disks: WatchedDisks = {},
): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const addGauge: AddGauge = (name, help, labelNames = [], collect = undefined) =>
    new Gauge({
      ...{ name, help, labelNames, registers },
      ...(collect === undefined
        ? {}
        : {
            collect() {
              return collect(this)
            },
          }),
    })
  storeMetrics(addGauge, reader, ingestion)
  addGauge('lyra_cluster_faults', 'Faults of the database cluster; 0 without one.', [], async (gauge) =>
    gauge.set((await clusterFaults()).length),
  )
  lastTimeMetrics(addGauge, reader)
  diskMetrics(addGauge, disks)
  const observeRequest = observerOf(
    new Histogram({
      name: 'lyra_http_request_duration_seconds',
      help: 'Time from a request to its response.',
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
    help: 'Pages answered from memory because their rows had not changed.',
    registers,
  })
  const eventsLeftOut = new Counter({
    name: 'lyra_events_left_out_total',
    help: 'Invalid events and list elements that were skipped, by reason.',
    labelNames: ['reason'],
    registers,
  })
  for (const reason of LEFT_OUT_REASONS) eventsLeftOut.inc({ reason }, 0)
  return {
    registry,
    showLive: liveMetrics(addGauge),
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
    standby: addGauge('lyra_standby', 'Whether ingestion waits for another writer to release the store.'),
    pruneFailed: addGauge('lyra_prune_failed', 'Whether the last deletion of old rows (--keep) has failed.'),
    recordsIngested: new Counter({
      name: 'lyra_records_total',
      help: 'Records read by ingestion.',
      registers,
    }),
  }
}

function storeMetrics(addGauge: AddGauge, reader: Reader, ingestion: IngestionState): void {
  const position = () => reader.read(readPosition).catch(() => null)
  addGauge(
    'lyra_block_height',
    'Height of the last block committed; 0 in an empty store.',
    [],
    async (gauge) => gauge.set(Number((await position())?.height ?? 0)),
  )
  addGauge(
    'lyra_block_timestamp_seconds',
    'Time of the last block committed; 0 if the store is empty.',
    [],
    async (gauge) => gauge.set(Number((await position())?.timestamp ?? 0) / 1e9),
  )
  addGauge(
    'lyra_unready',
    'Whether the service is not ready for this reason; all 0 while it is ready.',
    ['reason'],
    async (gauge) => {
      const { reasons } = await unreadiness(reader, ingestion)
      for (const kind of UNREADY_REASONS) {
        gauge.set({ reason: kind }, reasons.filter(({ reason }) => reason === kind).length)
      }
    },
  )
  addGauge(
    'lyra_missing_blocks',
    'Blocks that are missing or incomplete, above the first one ever stored.',
    [],
    async (gauge) => {
      const missing = await reader.read(readMissingBlocks).catch(() => null)
      if (missing !== null) gauge.set(missing)
    },
  )
  const { log } = reader
  if (log !== undefined) {
    addGauge('lyra_store_log_bytes', 'Size of the write-ahead log of the SQLite file.', [], (gauge) =>
      gauge.set(log.bytes()),
    )
  }
}

/** Observes by labels, cached by key: looking them up in a histogram takes longer than counting. */
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
function lastTimeMetrics(addGauge: AddGauge, reader: Reader): void {
  const times = sharedRuns(() => reader.read(() => readLastTimes(MOST_MARKETS)).catch(() => null))
  addGauge(
    'lyra_market_point_timestamp_seconds',
    'Time of the last data point of a market that is not closed, by market and source.',
    ['market', 'source'],
    async (gauge) => {
      const points = (await times.current())?.points ?? []
      gauge.reset()
      for (const { marketId, source, timestamp } of points) {
        gauge.set({ market: marketId, source: SOURCE_LABELS[source] }, Number(timestamp) / 1e9)
      }
    },
  )
  addGauge(
    'lyra_checkpoint_timestamp_seconds',
    'Time of the block of the last checkpoint; 0 if there is none.',
    [],
    async (gauge) => gauge.set(Number((await times.current())?.checkpoint ?? 0) / 1e9),
  )
}

function diskMetrics(addGauge: AddGauge, disks: WatchedDisks): void {
  const figures = [
    ['lyra_disk_size_bytes', 'Size of the disk of a file or folder.', 'blocks'],
    ['lyra_disk_free_bytes', 'Bytes of that disk available to the service.', 'bavail'],
  ] as const
  for (const [name, help, count] of figures) {
    addGauge(name, help, ['of'], async (gauge) => {
      for (const [of, folder] of Object.entries(disks)) {
        const disk = await statfs(folder).catch(() => null)
        if (disk !== null) gauge.set({ of }, disk[count] * disk.bsize)
      }
    })
  }
}

/** A metric of a state: its name without `lyra_`, its help text, and its value. */
type Figure<State> = [name: string, help: string, measure: (state: State) => number]

const LIVE_FIGURES: readonly Figure<LiveState>[] = [
  ['live_enabled', 'Whether the service waits for a core to connect.', () => 1],
  ['live_core_connected', 'Whether a core is connected.', ({ peer }) => Number(peer !== null)],
  ['live_events_received', 'Events received from the core since the start.', ({ received }) => received],
  ['live_buffer_bytes', 'Bytes of buffered events not yet committed.', ({ bufferedBytes }) => bufferedBytes],
  [
    'live_stopped',
    'Whether a fault prevents live ingestion from committing.',
    ({ failure }) => Number(failure !== null),
  ],
]

const FORWARD_FIGURES: readonly Figure<ForwardState>[] = [
  ['forward_enabled', 'Whether events of the core are forwarded.', () => 1],
  [
    'forward_connected',
    'Whether the receiver of forwarded events is connected.',
    ({ connected }) => Number(connected),
  ],
  ['forward_stopped', 'Whether a fault prevents forwarding.', ({ failure }) => Number(failure !== null)],
  ['forward_messages', 'Messages forwarded since the start.', ({ messages }) => messages],
  [
    'forward_block_height',
    'Height of the last block forwarded; 0 before the first.',
    ({ height }) => Number(height ?? 0),
  ],
  ['forward_lag_bytes', 'Bytes of events not yet forwarded.', ({ lagBytes }) => lagBytes],
  ['forward_lag_blocks', 'Blocks not yet forwarded.', ({ lagBlocks }) => lagBlocks],
  [
    'forward_lag_seconds',
    'Seconds of block time between the last block forwarded and the newest one.',
    ({ lagSeconds }) => lagSeconds,
  ],
  [
    'forward_dropped_bytes',
    'Bytes of events deleted before they could be forwarded, since the start.',
    ({ droppedBytes }) => droppedBytes,
  ],
  [
    'forward_missing_blocks',
    'Blocks that the receiver of forwarded events must get from another source.',
    ({ missingBlocks: missing }) =>
      missing === null ? 0 : Number(BigInt(missing.to) - BigInt(missing.from)) + 1,
  ],
]

function liveMetrics(addGauge: AddGauge): (state: LiveState) => void {
  const addFigures = <State>(figures: readonly Figure<State>[]) => {
    const gauges = figures.map(([name, help]) => addGauge(`lyra_${name}`, help))
    return (state: State) => {
      for (const [index, [, , measure]] of figures.entries()) gauges[index]!.set(measure(state))
    }
  }
  const showLive = addFigures(LIVE_FIGURES)
  const showForward = addFigures(FORWARD_FIGURES)
  const faults = addGauge(
    'lyra_live_connection_faults',
    'Connections closed by the service since the start, by reason.',
    ['reason'],
  )
  for (const reason of CONNECTION_FAULTS) faults.set({ reason }, 0)
  return (state) => {
    showLive(state)
    for (const [reason, count] of Object.entries(state.faults)) faults.set({ reason }, count)
    if (state.forward !== null) showForward(state.forward)
  }
}

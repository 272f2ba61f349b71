import { type Figure, type Metrics, rising, stateCounters, stateGauges } from '../metrics.ts'
import { FORWARD_COUNTERS, FORWARD_FIGURES } from './forward/forward-figures.ts'
import type { LiveState } from './live-ingestion.ts'
import { CONNECTION_FAULTS } from './pair-socket.ts'

const LIVE_FIGURES: readonly Figure<LiveState>[] = [
  ['live_enabled', 'Whether the service waits for a core to connect.', () => 1],
  ['live_core_connected', 'Whether a core is connected.', ({ peer }) => Number(peer !== null)],
  ['live_events_received', 'Events received from the core since the start.', ({ received }) => received],
  ['live_buffer_bytes', 'Bytes of buffered events not yet committed.', ({ bufferedBytes }) => bufferedBytes],
  [
    'live_core_queue_seconds',
    "While the buffer cannot be written, seconds until the core's queue is full and the core ends; otherwise +Inf.",
    ({ queueSeconds }) => queueSeconds ?? Infinity,
  ],
  [
    'live_upgrade_height',
    'Last block before the protocol upgrade that the core is in; 0 without one.',
    ({ upgrade }) => Number(upgrade?.height ?? 0),
  ],
  [
    'live_upgrade_wait_seconds',
    'How long the core has waited to be answered before a protocol upgrade; 0 while it does not wait.',
    ({ upgrade }) => (upgrade?.waitsFor == null ? 0 : (Date.now() - upgrade.since) / 1000),
  ],
  [
    'live_stopped',
    'Whether a fault prevents live ingestion from committing.',
    ({ failures }) => Number(failures.length > 0),
  ],
]

const LIVE_COUNTERS: readonly Figure<LiveState>[] = [
  ['live_events_received', 'Events received from the core.', ({ received }) => received],
  [
    'live_events_outside_blocks',
    'Events outside blocks, as a restarted core sends them, which were passed over.',
    ({ outsideBlocks }) => outsideBlocks,
  ],
]

const FAULTS_HELP = 'Connections closed by the service, by reason.'

/** Adds the figures of live ingestion; the function returned shows its state. */
export function addLiveMetrics(metrics: Metrics): (state: LiveState) => void {
  // Gauges of counters are there for dashboards of version 0.2.
  const shows = [stateGauges(metrics, LIVE_FIGURES), stateCounters(metrics, LIVE_COUNTERS)]
  const forwardShows = [stateGauges(metrics, FORWARD_FIGURES), stateCounters(metrics, FORWARD_COUNTERS)]
  const faults = metrics.gauge(
    'lyra_live_connection_faults',
    'Connections closed by the service since the start, by reason.',
    ['reason'],
  )
  const faultsTotal = metrics.counter('lyra_live_connection_faults_total', FAULTS_HELP, ['reason'])
  const showFaults = new Map<string, (count: number) => void>()
  for (const reason of CONNECTION_FAULTS) {
    faults.set({ reason }, 0)
    faultsTotal.inc({ reason }, 0)
    showFaults.set(
      reason,
      rising((by) => faultsTotal.inc({ reason }, by)),
    )
  }
  return (state) => {
    for (const show of shows) show(state)
    for (const [reason, count] of Object.entries(state.faults)) {
      faults.set({ reason }, count)
      showFaults.get(reason)!(count)
    }
    if (state.forward !== null) for (const show of forwardShows) show(state.forward)
  }
}

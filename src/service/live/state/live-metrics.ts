// The state of live ingestion and of event logs as metrics.
import { type Figure, type Metrics, rising, stateCounters, stateGauges } from '../../metrics.ts'
import { FORWARD_COUNTERS, FORWARD_FIGURES } from '../forward/forward-figures.ts'
import { CONNECTION_FAULTS } from '../receive/connection-faults.ts'
import type { LiveState } from './live-state.ts'
import type { LogsState } from './logs-state.ts'

/** Figures of event logs and their receivers. */
const LOG_FIGURES: readonly Figure<LogsState>[] = [
  ['live_core_connected', 'Whether a core is connected.', ({ coreConnected }) => Number(coreConnected)],
  // The gauge of a counter in LOG_COUNTERS, for dashboards of version 0.2.
  ['live_events_received', 'Events received from the core since the start.', ({ received }) => received],
  [
    'live_core_queue_seconds',
    "While the event log cannot be written, seconds until the core's queue is full and the core ends; otherwise +Inf.",
    ({ queueSeconds }) => queueSeconds ?? Infinity,
  ],
  ['event_log_bytes', 'Size of the event logs.', ({ logBytes }) => logBytes],
  [
    'event_log_first_height',
    'First block in the event logs; 0 while they have none.',
    ({ logFirstHeight }) => Number(logFirstHeight ?? 0),
  ],
  [
    'event_log_oldest_reader_seconds',
    'Seconds of block time between the last block of the slowest store that reads an event log and that of the log.',
    ({ oldestReaderSeconds }) => oldestReaderSeconds,
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
]

const LOG_COUNTERS: readonly Figure<LogsState>[] = [
  ['live_events_received', 'Events received from the core.', ({ received }) => received],
  [
    'live_events_outside_blocks',
    'Events outside blocks, as a restarted core sends them, which were passed over.',
    ({ outsideBlocks }) => outsideBlocks,
  ],
]

const LIVE_FIGURES: readonly Figure<LiveState>[] = [
  ['live_enabled', 'Whether the service reads event logs.', () => 1],
  [
    'live_buffer_bytes',
    'Bytes of events in the event log that are not in the store.',
    ({ bytesLeft }) => bytesLeft,
  ],
  [
    'live_stopped',
    'Whether a fault prevents live ingestion from committing.',
    ({ failures }) => Number(failures.length > 0),
  ],
]

const FAULTS_HELP = 'Connections closed by the service, by reason.'

/** Adds the figures of event logs and their receivers; the function returned shows their state. */
export function addLogMetrics(metrics: Metrics): (state: LogsState) => void {
  const shows = [stateGauges(metrics, LOG_FIGURES), stateCounters(metrics, LOG_COUNTERS)]
  // The gauge of the counter below, for dashboards of version 0.2.
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
      // A receiver of another version may have others.
      if (!showFaults.has(reason)) continue
      faults.set({ reason }, count)
      showFaults.get(reason)!(count)
    }
  }
}

/** Adds the figures of live ingestion; the function returned shows its state. */
export function addLiveMetrics(metrics: Metrics): (state: LiveState) => void {
  const showLogs = addLogMetrics(metrics)
  const showLive = stateGauges(metrics, LIVE_FIGURES)
  const forwardShows = [stateGauges(metrics, FORWARD_FIGURES), stateCounters(metrics, FORWARD_COUNTERS)]
  return (state) => {
    showLogs(state)
    showLive(state)
    if (state.forward !== null) for (const show of forwardShows) show(state.forward)
  }
}

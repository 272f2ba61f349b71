import { LEFT_OUT_REASONS } from '#core/events/left-out'
import { addLiveMetrics } from '../live/state/live-metrics.ts'
import type { Metrics } from '../metrics.ts'
import type { IngestionMessage } from './ingestion.ts'

/** Adds the metrics of the ingestion. The function returned updates them from a report. */
export function addIngestionMetrics(metrics: Metrics): (report: IngestionMessage) => void {
  const records = metrics.counter('lyra_records_total', 'Records read by ingestion.')
  const leftOut = metrics.counter(
    'lyra_events_left_out_total',
    'Invalid events and list elements that were skipped, by reason.',
    ['reason'],
  )
  for (const reason of LEFT_OUT_REASONS) leftOut.inc({ reason }, 0)
  const standby = metrics.gauge(
    'lyra_standby',
    'Whether ingestion waits for another writer to release the store.',
  )
  const pruneFailed = metrics.gauge(
    'lyra_prune_failed',
    'Whether the last deletion of old rows (--keep) has failed.',
  )
  const showLive = addLiveMetrics(metrics)
  return (report) => {
    if (report.type === 'read') {
      records.inc(report.records)
      for (const [reason, count] of Object.entries(report.leftOut)) leftOut.inc({ reason }, count)
    } else if (report.type === 'live') showLive(report.state)
    else if (report.type === 'standby') standby.set(Number(report.isStandby))
    else if (report.type === 'pruned') pruneFailed.set(Number(report.hasFailed))
  }
}

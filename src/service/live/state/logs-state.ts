// What the receivers of several event logs say of themselves, as one state.
import { describeDuration } from '#core/domain/duration'
import { NODE_DISK } from '#core/log/files/log-disk'
import { readReaders } from '#core/log/files/reader-files'
import { isSilent, type ReceiverFile, type UpgradeState } from '#core/log/files/receiver-file'
import type { FollowedLog } from '#core/log/read/followed-log'
import type { LogReader } from '#core/log/read/log-reader'

/** The state of several event logs and their receivers, together. */
export type LogsState = {
  /** Whether a core is connected to a receiver. */
  coreConnected: boolean
  /** Events received since the start of the receivers, and those of them outside blocks, which are passed over. */
  received: number
  outsideBlocks: number
  /** Connections closed by the receivers since their start, by reason. */
  faults: Record<string, number>
  /** Faults of the logs' disks and of the core's events. */
  failures: string[]
  /** While a log cannot be written, seconds until its core's queue is full (null: unlimited); otherwise absent. */
  queueSeconds?: number | null
  /** The protocol upgrade that a core is in; null without one. */
  upgrade: UpgradeState | null
  /** The size of the logs, and their first block; null while they have none, or one has not answered yet. */
  logBytes: number
  logFirstHeight: bigint | null
  /** Chain time between the last block of the slowest store that reads a log and that of the log, in seconds. */
  oldestReaderSeconds: number
}

/**
 * The state of the logs that a reader reads, as their receivers have last written it. Sums are over all, failures of those that
 * run.
 */
export function stateOfLogs(reader: LogReader): LogsState {
  const receivers = reader.logs.flatMap((log) => log.receiver() ?? [])
  // What one said before it ended is not so any more.
  const running = receivers.filter((state) => !isSilent(state))
  const queues = running.flatMap(({ queueSeconds }) => (queueSeconds === undefined ? [] : [queueSeconds]))
  return {
    coreConnected: receivers.some(isHeard),
    received: sumOf(receivers, ({ events }) => events),
    outsideBlocks: sumOf(receivers, ({ outsideBlocks }) => outsideBlocks),
    faults: sumOfFaults(receivers),
    failures: running.flatMap(({ failures }) => failures),
    ...(queues.length > 0 && { queueSeconds: leastOf(queues) }),
    upgrade: running.find(({ upgrade }) => upgrade !== null)?.upgrade ?? null,
    logBytes: sumOf(reader.logs, ({ segments }) => sumOf(segments, ({ bytes }) => bytes)),
    logFirstHeight: reader.segments.lowest(),
    oldestReaderSeconds: Math.max(0, ...reader.logs.map(oldestReaderSeconds)),
  }
}

/** Why nothing is heard of the receiver of a log, the first being 1; null while it runs. The message is public. */
export function whyUnheard(log: FollowedLog, number: number): string | null {
  if (log.fault !== null) return `log ${number} cannot be read: ${log.fault}`
  if (log.isAwaited) return `log ${number} has not answered yet`
  const state = log.receiver()
  if (state === null) return `log ${number} has no receiver yet`
  const seconds = (Date.now() - state.writtenAtMs) / 1000
  return isSilent(state)
    ? `the receiver of log ${number} has been silent for ${describeDuration(seconds)}`
    : null
}

/** Whether a core is connected to a receiver that runs. */
export function isHeard(state: ReceiverFile | null): boolean {
  return state?.coreConnected === true && !isSilent(state)
}

function sumOf<T>(all: readonly T[], numberOf: (one: T) => number): number {
  return all.reduce((sum, one) => sum + numberOf(one), 0)
}

function sumOfFaults(receivers: readonly ReceiverFile[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { faults } of receivers)
    for (const [reason, count] of Object.entries(faults)) sums[reason] = (sums[reason] ?? 0) + count
  return sums
}

/** The least of several times, of which null is unlimited. */
function leastOf(seconds: readonly (number | null)[]): number | null {
  const limited = seconds.filter((some) => some !== null)
  return limited.length === 0 ? null : Math.min(...limited)
}

function oldestReaderSeconds({ folder, head }: FollowedLog): number {
  if (folder === null) return 0
  let times: number[]
  try {
    times = readReaders(NODE_DISK, folder).flatMap(({ isRequired, time }) =>
      isRequired && time !== null ? Number(time) : [],
    )
  } catch {
    // Only the receiver must be able to read them.
    return 0
  }
  if (head?.time == null || times.length === 0) return 0
  return Math.max(0, (Number(head.time) - Math.min(...times)) / 1e9)
}

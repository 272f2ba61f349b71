import { readFileSync } from 'node:fs'
import { type LogDisk, replaceFile } from './log-disk.ts'

const NAME = 'receiver.json'

/** A receiver that has not written its state for so long is taken to have ended, in milliseconds. */
export const SILENT_MS = 10_000

/** What the receiver of a log says of itself each second. It contains no addresses: it may be published. */
export type ReceiverState = {
  coreConnected: boolean
  /** Events received since its start, and those of them outside blocks, which are passed over. */
  events: number
  outsideBlocks: number
  /** When the last event came, Unix milliseconds; null before the first. */
  lastEventAtMs: number | null
  /** Connections that it has closed, by reason. */
  faults: Record<string, number>
  /** Faults of the disk and of the core's events. */
  failures: string[]
  /** While the log cannot be written, seconds until the core's queue is full; otherwise null. */
  queueSeconds: number | null
  /** Whom a core waits for in a protocol upgrade; null without one. */
  upgrade: UpgradeState | null
  /** Whether a disk has failed since its start: what the system counts as written may not be on it. */
  hasDiskFault: boolean
  /** Whether a store has ever read the log. */
  hadRequiredReader: boolean
}

/** A protocol upgrade after whose last block no other block has come yet. */
export type UpgradeState = {
  /** The last block before the upgrade. */
  height: string
  /** When the core announced it, Unix milliseconds. */
  since: number
  /** The readers whose answers the core waits for; null once it has been answered. */
  waitsFor: string[] | null
}

/** A receiver's state, and when it was written by the clock of the reader. */
export type ReceiverFile = ReceiverState & { boot: string | null; writtenAtMs: number }

/** Replaces the state. It is not flushed but before a log is written to: what counts is the boot that it names. */
export async function writeReceiverFile(
  disk: LogDisk,
  folder: string,
  state: ReceiverState,
  { isFlushed }: { isFlushed: boolean },
): Promise<void> {
  await replaceFile(disk, folder, NAME, JSON.stringify({ ...state, boot: bootId() }), { isFlushed })
}

/** The state that a receiver has written last; null if there is none, or it cannot be read. */
export function readReceiverFile(disk: LogDisk, folder: string): ReceiverFile | null {
  const text = disk.readText(`${folder}/${NAME}`)
  const changedAt = disk.stat(`${folder}/${NAME}`)?.changedAt
  if (text === null || changedAt === undefined) return null
  try {
    const value = Object(JSON.parse(text)) as Partial<ReceiverFile>
    return {
      coreConnected: value.coreConnected === true,
      events: Number(value.events) || 0,
      outsideBlocks: Number(value.outsideBlocks) || 0,
      lastEventAtMs: typeof value.lastEventAtMs === 'number' ? value.lastEventAtMs : null,
      faults: Object(value.faults ?? {}),
      failures: Array.isArray(value.failures) ? value.failures.map(String) : [],
      queueSeconds: typeof value.queueSeconds === 'number' ? value.queueSeconds : null,
      upgrade: value.upgrade ?? null,
      hasDiskFault: value.hasDiskFault !== false,
      hadRequiredReader: value.hadRequiredReader === true,
      boot: typeof value.boot === 'string' ? value.boot : null,
      writtenAtMs: changedAt,
    }
  } catch {
    return null
  }
}

/** Whether a receiver's state is so old that it must have ended, or hangs. */
export function isSilent({ writtenAtMs }: ReceiverFile): boolean {
  return Date.now() - writtenAtMs >= SILENT_MS
}

/** Whether everything that the receiver of a state has written is still there: it ran since the system's last start. */
export function isIntact(state: ReceiverFile | null): boolean {
  return state !== null && !state.hasDiskFault && state.boot !== null && state.boot === bootId()
}

/** The id of the system's present start; null if it has none. */
function bootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return null
  }
}

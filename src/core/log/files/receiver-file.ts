import {
  isCount,
  isFlag,
  isHeight,
  isListOf,
  isMapOf,
  isNumber,
  isObject,
  isText,
  orNone,
  orNull,
  parseJson,
} from '../../domain/shapes.ts'
import { type LogDisk, NODE_DISK } from './log-disk.ts'

export const RECEIVER_NAME = 'receiver.json'

/** The file takes a multiple of so many bytes, and is overwritten in place: that needs no space on a full disk. */
const PAGE_BYTES = 4096

/** A receiver that has not written its state for so long is taken to have ended, in milliseconds. */
const SILENT_MS = 10_000

/** What the receiver of a log says of itself, at each change and each second. Public: it contains no addresses. */
export type ReceiverState = {
  coreConnected: boolean
  /** Events received since its start, and those of them outside blocks, which are passed over. */
  events: number
  outsideBlocks: number
  /** When the last event came, Unix milliseconds; null before the first. */
  lastEventAtMs: number | null
  /** Connections that it has closed since its start, by reason. */
  faults: Record<string, number>
  /** Faults of the log's disk and of the core's events. */
  failures: string[]
  /** While the log cannot be written, seconds until the core's queue is full (null: unlimited); otherwise absent. */
  queueSeconds?: number | null
  /** The protocol upgrade that the core is in; null without one. */
  upgrade: UpgradeState | null
  /** Present if the core's announcement of an upgrade may be lost with a process that was killed. */
  mayHaveLostUpgrade?: true
  /** Whether a disk has failed since its start: what the system counts as written may not be on it. */
  hasDiskFault: boolean
  /** Whether a store has ever read the log. */
  hadRequiredReader: boolean
}

/** A protocol upgrade: no block has followed its last one yet. */
export type UpgradeState = {
  /** The last block before the upgrade. */
  height: string
  /** When the core announced it, Unix milliseconds. */
  since: number
  /**
   * What the core waits for: that last block to be in the log, or the receivers of forwarded events to answer; null once the
   * core has been answered.
   */
  waitsFor: 'block' | 'receiver' | null
}

/** A receiver's state as its file has it, and when that was written, by this machine's clock. */
export type ReceiverFile = ReceiverState & { boot: string | null; writtenAtMs: number }

/** What is in the file. A receiver of another version may write more. */
export type WrittenState = Omit<ReceiverFile, 'writtenAtMs'> & {
  /** The time by the receiver's clock, Unix milliseconds: it changes each second, even if nothing else does. */
  clock: number
}

/** Overwrites the state. It need not be flushed: after a start of the system it counts for nothing. */
export function writeReceiverFile(disk: LogDisk, folder: string, state: ReceiverState): void {
  const path = `${folder}/${RECEIVER_NAME}`
  const bytesBefore = disk.stat(path)?.bytes ?? 0
  const written: WrittenState = { ...state, boot: bootId(), clock: Date.now() }
  const text = Buffer.from(JSON.stringify(written))
  const bytes = Math.max(bytesBefore, Math.ceil(text.length / PAGE_BYTES) * PAGE_BYTES)
  const file = bytesBefore === 0 ? disk.create(path) : disk.open(path)
  try {
    file.write(Buffer.concat([text, Buffer.alloc(bytes - text.length, ' ')]), 0)
  } finally {
    file.close()
  }
}

/** The state that a receiver has written last; null if there is none, it is just being written, or it is damaged. */
export function readReceiverFile(disk: LogDisk, folder: string): ReceiverFile | null {
  const text = disk.readText(`${folder}/${RECEIVER_NAME}`)
  const writtenAtMs = text === null ? undefined : disk.stat(`${folder}/${RECEIVER_NAME}`)?.changedAt
  if (text === null || writtenAtMs === undefined) return null
  const written = parseReceiver(text)
  return written === null ? null : { ...written, writtenAtMs }
}

/** The state in a receiver's file; null if it is just being written, or is damaged. */
export function parseReceiver(text: string): WrittenState | null {
  const value = parseJson(text)
  return isWritten(value) ? (value as WrittenState) : null
}

const WAITS_FOR: readonly unknown[] = [null, 'block', 'receiver']

const isUpgradeState = isObject({
  height: isHeight,
  since: isCount,
  waitsFor: (value) => WAITS_FOR.includes(value),
})

const isWritten = isObject({
  coreConnected: isFlag,
  events: isCount,
  outsideBlocks: isCount,
  lastEventAtMs: orNull(isCount),
  faults: isMapOf(isCount),
  failures: isListOf(isText),
  queueSeconds: orNone((value) => isNumber(value) && (value as number) >= 0),
  upgrade: orNull(isUpgradeState),
  mayHaveLostUpgrade: orNone((value) => value === true),
  hasDiskFault: isFlag,
  hadRequiredReader: isFlag,
  boot: orNull(isText),
  clock: isCount,
})

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
  return NODE_DISK.readText('/proc/sys/kernel/random/boot_id')?.trim() ?? null
}

/** Says for whom the core waits. */
export function describeUpgradeWait({ height, waitsFor }: UpgradeState): string {
  const who =
    waitsFor === 'receiver'
      ? 'the receiver of forwarded events, which has not answered'
      : `block ${height}, which is not in the event log with all its events`
  return `protocol upgrade after block ${height}: the core waits for ${who}`
}

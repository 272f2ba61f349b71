import { NODE_DISK } from '#core/log/files/log-disk'
import type { LogHead } from '#core/log/files/log-head'
import { type ReaderFile, readReaders } from '#core/log/files/reader-files'
import { describeUpgradeWait, isSilent, type ReceiverFile } from '#core/log/files/receiver-file'
import { FolderSource } from '#core/log/read/folder/folder-source'
import { FollowedLog } from '#core/log/read/followed-log'
import { isLogUrl } from '#core/log/read/url/log-url'
import { explainPathError } from '#core/records/event-paths'
import { ServiceError } from './ask-service.ts'

/** The state of an event log. 64-bit integers are text. */
export type EventLogStatus = {
  /** Its folder. */
  of: string
  /** Null until it has a whole block. */
  chainId: string | null
  bytes: number
  /** The ranges of blocks that it has, whole, ascending. */
  ranges: { from: string; to: string }[]
  /** The receiver as it last wrote its state; null if none has been there. `seconds`: how long ago. */
  receiver: { isSilent: boolean; seconds: number; coreConnected: boolean; failures: string[] } | null
  /**
   * The protocol upgrade that the core is in; null if there is none. `waitingFor`: for whom the core waits; null once it is answered.
   */
  upgrade: { height: string; waitingFor: string | null } | null
  readers: EventLogReader[]
}

/** A reader of an event log: a store, which blocks stay for, or a forwarder. */
export type EventLogReader = {
  name: string
  kind: 'store' | 'forwarder'
  /** The last block that it has; null if none. */
  height: string | null
  /** Chain time from that block to the log's last one; null if not known. */
  behindSeconds: number | null
}

/**
 * Reads the state of an event log, and changes nothing.
 *
 * @throws {ServiceError} for a folder that is none, and for a URL.
 */
export function statusOfEventLog(folder: string): EventLogStatus {
  if (isLogUrl(folder)) {
    throw new ServiceError(
      `${folder}: name the folder of an event log; of one that a service follows by its URL, that tells: lyra status --url`,
    )
  }
  const log = new FollowedLog(new FolderSource(folder))
  log.refresh()
  const { head, segments } = log
  if (log.fault !== null) throw new ServiceError(`${folder}: cannot be read (${log.fault})`)
  if (head === null && segments.length === 0) throw new ServiceError(`${folder}: not an event log`)
  const receiver = log.receiver()
  return {
    of: folder,
    chainId: head?.chainId ?? null,
    bytes: segments.reduce((sum, { bytes }) => sum + bytes, 0),
    ranges: rangesOf(segments.filter(({ kind }) => kind !== 'incomplete')),
    receiver: receiver && {
      isSilent: isSilent(receiver),
      seconds: Math.max(0, (Date.now() - receiver.writtenAtMs) / 1000),
      coreConnected: receiver.coreConnected,
      failures: receiver.failures,
    },
    upgrade: upgradeIn(head, receiver),
    readers: readersOf(folder).map(({ name, height, time, isRequired }) => ({
      name,
      kind: isRequired ? 'store' : 'forwarder',
      height: height === null ? null : `${height}`,
      behindSeconds: head?.time == null || time === null ? null : Math.max(0, Number(head.time - time) / 1e9),
    })),
  }
}

/** The receiver knows for whom the core waits; the head names the upgrade, whether one runs or not. */
function upgradeIn(head: LogHead | null, receiver: ReceiverFile | null): EventLogStatus['upgrade'] {
  if (head === null || head.upgrade === null) return null
  const height = `${head.upgrade.height}`
  const state = receiver === null || isSilent(receiver) ? null : receiver.upgrade
  if (state === null) {
    const waitingFor = `protocol upgrade after block ${height}: the core waits for a receiver, and none runs`
    return { height, waitingFor }
  }
  return { height, waitingFor: state.waitsFor === null ? null : describeUpgradeWait(state) }
}

/** Ranges of blocks, joined where they touch or overlap. */
function rangesOf(segments: readonly { first: bigint; last: bigint }[]): EventLogStatus['ranges'] {
  const joined: { from: bigint; to: bigint }[] = []
  for (const { first, last } of [...segments].sort((a, b) => (a.first < b.first ? -1 : 1))) {
    const before = joined.at(-1)
    if (before === undefined || first > before.to + 1n) joined.push({ from: first, to: last })
    else if (last > before.to) before.to = last
  }
  return joined.map(({ from, to }) => ({ from: `${from}`, to: `${to}` }))
}

/** @throws {EventPathError} if they cannot be read. */
function readersOf(folder: string): ReaderFile[] {
  try {
    return readReaders(NODE_DISK, folder)
  } catch (error) {
    throw explainPathError(folder, error)
  }
}

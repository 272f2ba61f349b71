import type { LogDisk } from './files/log-disk.ts'
import { type ReaderFile, readersFolder, readReaders } from './files/reader-files.ts'
import { segmentName, segmentsIn } from './files/segment-name.ts'

/** How much of a log is kept although no reader needs it. */
export type LogRetention = { bytes: number } | { milliseconds: number } | 'all'

/** A disk with less free space than this part of it, or than so many bytes, is nearly full. */
const NEARLY_FULL_PART = 0.05
const NEARLY_FULL_BYTES = 1024 ** 3

type RetentionOptions = {
  disk: LogDisk
  folder: string
  keep: LogRetention
  /**
   * Whether the setting was given, or a store has read the log: else the log waits for its first service, unless the disk is nearly
   * full.
   */
  mayDelete: boolean
  /** Readers whose files are lost: they need what they have not read by what they last said. */
  lost?: readonly ReaderFile[]
  nowMs: number
}

/**
 * Deletes the oldest sealed segments that every required reader has read, as long as the newer ones are enough, or the disk
 * is nearly full. Returns their names; none while the readers' folder is not there.
 *
 * @param isDiskFull whether the disk has just refused a write: then one segment is deleted, whatever is to be kept
 */
export function deleteUnneeded(
  { disk, folder, keep, mayDelete, lost = [], nowMs }: RetentionOptions,
  isDiskFull = false,
): string[] {
  const required = [...readReaders(disk, folder), ...lost].filter(({ isRequired }) => isRequired)
  // It was deleted, perhaps a moment ago: nobody knows what they need.
  if (disk.stat(readersFolder(folder)) === null) return []
  const sealed = segmentsIn(disk.list(folder)).flatMap((segment) => {
    if (segment.kind === 'open') return []
    const name = segmentName(segment)
    const stat = disk.stat(`${folder}/${name}`)
    return stat === null ? [] : [{ name, last: segment.last, ...stat }]
  })
  const isNearlyFull = () => {
    if (isDiskFull) return true
    const { freeBytes, totalBytes } = disk.space(folder)
    return freeBytes < Math.min(NEARLY_FULL_PART * totalBytes, NEARLY_FULL_BYTES)
  }
  const deleted: string[] = []
  let newerBytes = sealed.reduce((sum, { bytes }) => sum + bytes, 0)
  for (const { name, last, bytes, changedAt } of sealed) {
    newerBytes -= bytes
    const isRead = required.every(({ height }) => height !== null && height >= last)
    if (!isRead) break
    const isEnough =
      keep !== 'all' && ('bytes' in keep ? newerBytes >= keep.bytes : nowMs - changedAt >= keep.milliseconds)
    if (!(mayDelete && isEnough) && !isNearlyFull()) break
    disk.remove(`${folder}/${name}`)
    deleted.push(name)
    if (isDiskFull) break
  }
  return deleted
}

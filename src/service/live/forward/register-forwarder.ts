// A forwarder among the readers of event logs: its name, and its file when it is new.
import { NODE_DISK } from '#core/log/files/log-disk'
import { type ReaderFile, readReader, writeReader } from '#core/log/files/reader-files'
import type { LogReader } from '#core/log/read/log-reader'
import { repeatFrom } from './repeat-from.ts'

/** The name of a forwarder among the readers of a log. */
export function forwarderName({ host, port }: { host: string; port: number }): string {
  return `forward-${host.replaceAll(/[^A-Za-z0-9.-]/g, '_')}-${port}`
}

/**
 * What the logs know of a forwarder; a new one is made known to them. It begins with the first block that arrives, or with the
 * last ones that are there, of at most `repeatBytes`, or of one segment. From then on a core that announces a protocol upgrade
 * waits for it.
 */
export function registerForwarder(reader: LogReader, name: string, repeatBytes: number): ReaderFile {
  // A forwarder follows folders only.
  const folders = reader.logs.flatMap(({ folder }) => folder ?? [])
  const noted = furthestOf(folders.flatMap((folder) => readReader(NODE_DISK, folder, name) ?? []))
  if (noted !== null) return { ...noted, isRequired: false }
  const highest = reader.segments.highest()
  const height = highest === null ? null : repeatFrom(reader.segments, highest, repeatBytes) - 1n
  const file: ReaderFile = { name, height, time: null, isRequired: false, isClean: true, upgrade: null }
  for (const folder of folders) noteIn(folder, file)
  return file
}

/** Notes in a log how far a forwarder is. A file that cannot be written says less than is true: more is sent again. */
export function noteIn(folder: string, file: ReaderFile): void {
  try {
    writeReader(NODE_DISK, folder, file)
  } catch {
    // It is noted again each second.
  }
}

/** Of the files of a reader in several logs, the one that says most: one of them may be new, or damaged. */
function furthestOf(files: readonly ReaderFile[]): ReaderFile | null {
  return files.reduce<ReaderFile | null>((furthest, file) => {
    if (furthest === null) return file
    return (file.height ?? -1n) > (furthest.height ?? -1n) ? file : furthest
  }, null)
}

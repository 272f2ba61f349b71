import { statSync } from 'node:fs'
import { createEnvelope, readEnvelope } from '../events/bus-event.ts'
import { readEventFile } from './event-file.ts'
import { type EventPath, presentPathOf } from './event-paths.ts'
import { RECORD_HEADER_BYTES, RecordFramer } from './record-framer.ts'

/** Bytes read at a time to find a file's first event. */
const HEAD_BYTES = 16 * 1024

/** The beginning of a file: height and index of its first event, and the sequence number of its first record. */
type FileStart = [height: bigint, index: bigint, sequence: bigint]

/** A file whose first event is unreadable comes last, so that the others are ingested before its fault is reported. */
const UNKNOWN_START: FileStart = [1n << 64n, 0n, 0n]

/**
 * Sorts event files by content (docs/events.md, event files): by the id of the first event, then by the sequence number of
 * the first record, then by path. Inputs that cannot be read twice (standard input, pipes) stay where they are; the files
 * between two of them are sorted among themselves.
 */
export async function orderEventFiles(
  files: readonly EventPath[],
  signal?: AbortSignal,
): Promise<EventPath[]> {
  if (files.length < 2) return [...files]
  const ordered: EventPath[] = []
  let sortable: { file: EventPath; start: FileStart }[] = []
  const sortAndAdd = () => {
    sortable.sort((a, b) => compareStarts(a.start, b.start) || (a.file.path < b.file.path ? -1 : 1))
    // Not as arguments of one call: there may be more files than it takes.
    for (const { file } of sortable) ordered.push(file)
    sortable = []
  }
  for (const file of files) {
    const path = presentPathOf(file)
    if (isReadOnce(path)) {
      sortAndAdd()
      ordered.push(file)
    } else sortable.push({ file, start: await readStart(path, signal) })
  }
  sortAndAdd()
  return ordered
}

function compareStarts(a: FileStart, b: FileStart): number {
  const at = a.findIndex((value, index) => value !== b[index])
  return at < 0 ? 0 : a[at]! < b[at]! ? -1 : 1
}

function isReadOnce(path: string): boolean {
  return path === '-' || !statSync(path, { throwIfNoEntry: false })?.isFile()
}

/** Reads the first record of a file. */
async function readStart(path: string, signal: AbortSignal | undefined): Promise<FileStart> {
  const envelope = createEnvelope()
  let start: FileStart | null = null
  const framer = new RecordFramer(path, (bytes, from, to) => {
    if (start !== null) return
    readEnvelope(bytes, from, to, envelope)
    const id = bytes.toString('latin1', envelope.idStart, Math.min(envelope.idEnd, envelope.idStart + 40))
    const [, height, index] = /^(\d+)-(\d+)$/.exec(id) ?? []
    const sequence = bytes.readBigUInt64BE(from - RECORD_HEADER_BYTES + 4)
    start = height === undefined ? UNKNOWN_START : [BigInt(height), BigInt(index!), sequence]
  })
  try {
    for await (const chunk of readEventFile(path, { bytesRead: 0 }, signal, HEAD_BYTES)) {
      framer.push(chunk)
      if (start !== null) return start
    }
  } catch {
    // The first record may be complete although later ones are damaged.
  }
  return start ?? UNKNOWN_START
}

import { join } from 'node:path'
import {
  type EventInput,
  type EventPath,
  type FolderContents,
  findEventFiles,
} from '../records/event-paths.ts'
import { isDraft, NODE_DISK } from './files/log-disk.ts'
import { LOCK_NAME } from './files/log-folder.ts'
import { HEAD_NAME, readHead } from './files/log-head.ts'
import { INDEX_NAME } from './files/log-index.ts'
import { READERS_NAME } from './files/reader-files.ts'
import { RECEIVER_NAME } from './files/receiver-file.ts'
import { presentSegments, type SegmentName, segmentName, segmentsIn } from './files/segment-name.ts'

/** Names in the folder of an event log besides those of its segments. */
const OWN_NAMES = [HEAD_NAME, INDEX_NAME, RECEIVER_NAME, READERS_NAME, LOCK_NAME]

/**
 * Resolves paths of event files as {@link findEventFiles}. Of an event log this also finds the segments that are not sealed, as
 * far as they may be read, so that its folder has all blocks that are committed.
 *
 * @throws {EventPathError} for a path that is missing or cannot be read, and a directory without event files.
 * @throws {NewerLogError} for a log of a later version.
 */
export function findEventInput(paths: readonly string[]): EventInput {
  return findEventFiles(paths, contentsOfLog)
}

/** What an event log has besides sealed segments; null for a folder that is none. */
function contentsOfLog(folder: string, names: readonly string[]): FolderContents | null {
  const segments = segmentsIn(names)
  const head = segments.length > 0 && names.includes(HEAD_NAME) ? readHead(NODE_DISK, folder) : null
  if (head === null) return null
  const open = segments.filter(({ kind }) => kind === 'open')
  const files = open.flatMap((segment): EventPath[] => {
    // A head of a later segment says that this one was whole on disk; its new name was lost, or came since the names were read.
    if (segment.number < head.number) {
      const path = presentPath(folder, segment)
      return [{ path, bytes: NODE_DISK.stat(path)?.bytes ?? null }]
    }
    if (segment.number !== head.number || head.bytes === 0) return []
    const growing = { presentPath: () => presentPath(folder, segment) }
    return [{ path: join(folder, segmentName(segment)), bytes: head.bytes, growing }]
  })
  const openNames = open.map(segmentName)
  const own = [...OWN_NAMES, ...openNames]
  return { files, isOwn: (name) => own.includes(name) || isDraft(name) }
}

/** The file of a segment that was open when the names were read: it gets another name when it is sealed. */
function presentPath(folder: string, { number, first }: SegmentName): string {
  const path = join(folder, segmentName({ kind: 'open', number, first }))
  if (NODE_DISK.stat(path) !== null) return path
  const sealed = presentSegments(NODE_DISK.list(folder)).find(
    (segment) => segment.number === number && segment.first === first,
  )
  return sealed === undefined ? path : join(folder, segmentName(sealed))
}

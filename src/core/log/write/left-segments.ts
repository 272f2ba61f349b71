import { RECORD_HEADER_BYTES } from '../../records/record-framer.ts'
import { isDamage } from '../../records/record-position.ts'
import { type EventCheck, type LoggedBlock, RefusedEventError } from '../event-check.ts'
import { isDraft, type LogDisk } from '../files/log-disk.ts'
import type { LogHead } from '../files/log-head.ts'
import { type OpenName, segmentName, segmentsIn } from '../files/segment-name.ts'
import { PIECE_BYTES, SegmentFrames } from '../segment-frames.ts'
import { OpenSegment, type SegmentLength } from './open-segment.ts'

type LeftLog = {
  disk: LogDisk
  folder: string
  /** Null if there is none, or it is damaged. */
  head: LogHead | null
  /** As in the options of the writer. */
  isIntact: boolean
  /** Afterwards it knows the block that is open. */
  check: EventCheck
}

/** The segments that earlier processes have not sealed. */
type LeftSegments = {
  /** In their order; all but the last one have ended. */
  segments: OpenSegment[]
  /** The block with which the last one ends, if events of it are missing: it was to be set apart. */
  incomplete: LoggedBlock | null
}

/** Opens the segments that earlier processes have not sealed, and deletes files that they have not named yet. */
export async function openLeftSegments(left: LeftLog): Promise<LeftSegments> {
  const { disk, folder } = left
  const names = disk.list(folder)
  for (const name of names) if (isDraft(name)) disk.remove(`${folder}/${name}`)
  const open = segmentsIn(names).filter((name) => name.kind === 'open')
  const segments: OpenSegment[] = []
  let incomplete: LoggedBlock | null = null
  for (const name of open) {
    const opened = await openLeftSegment(left, name, name === open.at(-1))
    segments.push(opened.segment)
    incomplete = opened.incomplete
  }
  await disk.flushFolder(folder)
  return { segments, incomplete }
}

/**
 * Opens one segment. What is read of it depends on the head:
 *
 * | the head | is read | on disk is |
 * |---|---|---|
 * | names a later segment | all: it was whole on disk, and only its last name was lost | all |
 * | names this one | if everything written is intact, all; otherwise the committed length | the committed length |
 * | names an earlier one | if everything written is intact, all; otherwise nothing | nothing |
 * | is missing or damaged | all: nobody knows how much was committed | unknown |
 *
 * And what is done with it depends on what can be read:
 *
 * | readable | segment | then |
 * |---|---|---|
 * | less than is committed, or the head is missing | any | ended; all its bytes stay as they are, since readers may have them |
 * | all that is committed | not the newest | ended; written again, and sealed up to its last whole block |
 * | all that is committed | the newest | goes on; written again, and cut after its last event |
 *
 * What is known to be on disk is not written again.
 */
async function openLeftSegment(
  { disk, folder, head, isIntact, check }: LeftLog,
  name: OpenName,
  isNewest: boolean,
): Promise<{ segment: OpenSegment; incomplete: LoggedBlock | null }> {
  const path = `${folder}/${segmentName(name)}`
  const { bytes: size } = disk.stat(path)!
  const isPassed = head !== null && head.number > name.number
  const committedBytes = head?.number === name.number ? head.bytes : 0
  const isAllRead = isIntact || isPassed || head === null
  const content = await readContent(disk, path, isAllRead ? size : Math.min(size, committedBytes), check)
  const segment = OpenSegment.reopen({ disk, folder, ...name, ...content })
  if (head === null || content.ended.bytes < committedBytes) {
    segment.endWriting('damaged')
    // If none of its blocks can be read, the name says which they were.
    if (committedBytes > 0 || size > 0) segment.setFinalHeight(head?.last ?? name.first)
    check.dropOpenBlock()
    return { segment, incomplete: null }
  }
  segment.wasFlushed(isPassed ? content.ended.bytes : committedBytes)
  // A process that was killed as a flush failed could not note it.
  segment.writeAgain()
  if (!isNewest) {
    segment.endWriting('uncommitted')
    check.dropOpenBlock()
    return { segment, incomplete: null }
  }
  segment.cutRest()
  const { incomplete } = content
  const isLast = incomplete !== null && incomplete.end === content.written.bytes
  return { segment, incomplete: isLast ? incomplete.block : null }
}

/** What the file of a segment contains, up to the first event that cannot be read. */
type SegmentContent = {
  /** The end of the last event. */
  written: SegmentLength
  /** The end of the last block that is whole, and that block; null if none is. */
  ended: SegmentLength
  last: LoggedBlock | null
  /** A block after it that has ended with events missing, and its end; null if there is none. */
  incomplete: { block: LoggedBlock; end: number } | null
  /** The hashes of the parts of block 1. */
  blockOne: Set<string>
}

/** @param bytes how much of the file to read */
async function readContent(
  disk: LogDisk,
  path: string,
  bytes: number,
  check: EventCheck,
): Promise<SegmentContent> {
  const nothing = { bytes: 0, records: 0 }
  const content: SegmentContent = {
    written: nothing,
    ended: nothing,
    last: null,
    incomplete: null,
    blockOne: new Set(),
  }
  const readPiece = async (offset: number) => {
    const piece = await disk.read(path, offset, Math.min(PIECE_BYTES, bytes - offset))
    const isMore = piece.length > 0 && offset + piece.length < bytes
    // A killed process has left a part of an event: that is no damage.
    return { bytes: piece, following: isMore ? ('more' as const) : ('later' as const) }
  }
  const frames = new SegmentFrames(path, readPiece, (record, start, end, position) => {
    // Each event may be of another connection.
    check.forgetConnectionChain()
    const { role, block } = check.check(record, start, end)
    content.written = { bytes: position.offset + RECORD_HEADER_BYTES + end - start, records: position.record }
    if (role !== 'end') return
    if (!block!.isWhole) {
      content.incomplete = { block: block!, end: content.written.bytes }
      return
    }
    content.ended = content.written
    content.last = block
    content.incomplete = null
    if (block!.height === 1n) content.blockOne.add(block!.hash)
  })
  check.dropOpenBlock()
  try {
    await frames.readAll()
  } catch (error) {
    if (!isDamage(error) && !(error instanceof RefusedEventError)) throw error
    check.dropOpenBlock()
  }
  return content
}

// The events that a version before 0.3 has left in its buffer, to be moved to the event log.
import { existsSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { RefusedEventError } from '#core/log/event-check'
import { NODE_DISK } from '#core/log/files/log-disk'
import { readReader, writeReader } from '#core/log/files/reader-files'
import { type Following, PIECE_BYTES, SegmentFrames, type SegmentPiece } from '#core/log/segment-frames'
import type { LogWriter } from '#core/log/write/log-writer'
import { isDamage } from '#core/records/record-position'

const FILE_NAME = /^lyra-buffer-(\d{16})\.bevt$/

/**
 * Moves the events that a version before 0.3 has received, and not stored or forwarded yet, from its buffer to the event log.
 * A file is deleted once its blocks are in the log; what cannot be read of one stays beside it, as `.damaged`. If the process
 * ends meanwhile, the next one goes on.
 */
export async function convertBuffer(
  folder: string,
  writer: LogWriter,
  eventLog: string,
  logger: Logger,
): Promise<void> {
  if (!existsSync(folder)) return
  const files = oldFiles(folder)
  if (files.length > 0) logger.info(`moving the events in ${folder} to the event log ${eventLog}`)
  let moved: MovedFile[] = []
  for (const file of files) {
    const isWhole = await feed(file.path, writer, logger, file === files.at(-1))
    moved.push({ ...file, isDamaged: !isWhole })
    // A block may go on in the next file.
    if (writer.isBlockOpen) continue
    await writer.settled()
    deleteMoved(moved)
    moved = []
  }
  const upgradePath = join(folder, 'protocol-upgrade.json')
  announceUpgrade(upgradePath, writer)
  await writer.settled()
  rmSync(upgradePath, { force: true })
  deleteMoved(moved)
  removeIfEmpty(join(folder, 'forward'))
}

/** Whether a folder has events that a version before 0.3 has left. */
export function hasOldEvents(folder: string): boolean {
  return oldFiles(folder).length > 0 || existsSync(join(folder, 'protocol-upgrade.json'))
}

/** A file of the buffer. It may have another name in the folder of events to be forwarded. */
type OldFile = { number: number; path: string; otherPath: string | null }

/** A file whose events are in the log, but for those that cannot be read, if it is damaged. */
type MovedFile = OldFile & { isDamaged: boolean }

/** The files of both folders, each once, in their order. */
function oldFiles(folder: string): OldFile[] {
  const byNumber = new Map<number, OldFile>()
  for (const each of [folder, join(folder, 'forward')]) {
    for (const name of existsSync(each) ? readdirSync(each) : []) {
      const digits = FILE_NAME.exec(name)?.[1]
      if (digits === undefined) continue
      const number = Number(digits)
      const path = join(each, name)
      const first = byNumber.get(number)
      if (first === undefined) byNumber.set(number, { number, path, otherPath: null })
      else first.otherPath = path
    }
  }
  return [...byNumber.values()].sort((a, b) => a.number - b.number)
}

/**
 * Writes a file's events to the log; false if not all of them can be read.
 *
 * @param isLast whether it is the file that was written to last: a killed process has left part of an event at its end
 */
async function feed(path: string, writer: LogWriter, logger: Logger, isLast: boolean): Promise<boolean> {
  writer.connected()
  const readPiece = async (offset: number): Promise<SegmentPiece> => {
    const bytes = await NODE_DISK.read(path, offset, PIECE_BYTES)
    return { bytes, following: bytes.length > 0 ? 'more' : 'later' }
  }
  const frames = new SegmentFrames(path, readPiece, (bytes, start, end) => {
    writer.take(Buffer.from(bytes.subarray(start, end)))
  })
  try {
    for (let following: Following = 'more'; following === 'more'; ) {
      following = await frames.readOn()
      await writer.write()
    }
    const isCut = frames.cutBytes > 0
    if (isCut && !isLast) {
      logger.warn(
        `${path}: it ends within an event; those before it are moved to the event log, the file is kept as .damaged`,
      )
    }
    return !isCut || isLast
  } catch (error) {
    if (!isDamage(error) && !(error instanceof RefusedEventError)) throw error
    logger.warn(
      `${path}: ${error.message}; the events before it are moved to the event log, the file is kept as .damaged`,
    )
    writer.dropOpenBlock()
    return false
  }
}

/** Deletes files under both names, once their events are on disk in the log; one that is damaged stays, under another name. */
function deleteMoved(files: readonly MovedFile[]): void {
  for (const { path, otherPath, isDamaged } of files) {
    if (isDamaged) renameSync(path, `${path}.damaged`)
    else rmSync(path, { force: true })
    if (otherPath !== null) rmSync(otherPath, { force: true })
  }
}

/** The core announces an upgrade once. */
function announceUpgrade(path: string, writer: LogWriter): void {
  if (!existsSync(path)) return
  try {
    const { event } = JSON.parse(readFileSync(path, 'utf8')) as { event: string }
    writer.take(Buffer.from(event, 'base64'))
  } catch {
    // It cannot be read, or is of another chain: an operator restarts the core.
  }
}

/** Tells the log how far a version before 0.3 had forwarded at its orderly end. `name` is the forwarder's among the readers. */
export function takePosition(folder: string, eventLog: string, name: string): void {
  const path = join(folder, 'forward', 'position.json')
  const text = NODE_DISK.readText(path)
  if (text === null || readReader(NODE_DISK, eventLog, name) !== null) return
  try {
    const { block } = JSON.parse(text) as { block: { height: string; timestamp: string } }
    const [height, time] = [BigInt(block.height), BigInt(block.timestamp)]
    writeReader(NODE_DISK, eventLog, {
      name,
      height,
      time,
      isRequired: false,
      isClean: true,
      upgrade: null,
    })
  } catch {
    // Without it, more is forwarded again.
  }
  rmSync(path, { force: true })
}

function removeIfEmpty(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder)
}

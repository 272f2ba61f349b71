import { type FSWatcher, watch } from 'node:fs'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { EventStreamError } from '../records/record-position.ts'
import { type LogDisk, NODE_DISK } from './log-disk.ts'
import { isHeadUnreadable, type LogHead, readHead } from './log-head.ts'
import { type ReceiverFile, readReceiverFile } from './receiver-file.ts'
import { segmentName, segmentsIn } from './segment-name.ts'

const inflate = promisify(gunzip)

/** More than a segment and a block take: what a gzipped one inflates to at most. */
const MAX_INFLATED_BYTES = 256 * 1024 * 1024

/** How often the names in the folder are read again, although the head has not changed, in milliseconds. */
const LIST_MS = 60_000

/** A segment as far as it may be read. */
export type ReadableSegment = {
  number: number
  first: bigint
  last: bigint
  /** `part`: one block, of which events are missing. */
  kind: 'sealed' | 'part' | 'active'
  /** Name of its file. */
  name: string
  /** Of the active one, the committed length; of others, the size of their file. */
  bytes: number
}

/** An event log as its readers see it. */
export type LogSource = {
  /** What the log is called in messages: its folder. */
  name: string
  /** The head as last read; null if there is none yet. */
  head: LogHead | null
  /** The segments as last read, by number. */
  segments: readonly ReadableSegment[]
  /** Why the folder or its head cannot be read: the code of the error, or what it is; null while they can be. */
  readonly fault: string | null
  /** The state of the receiver that writes it, as last written; null if there is none. */
  receiver(): ReceiverFile | null
  /** Reads head and names again; returns whether they have changed. */
  refresh(): boolean
  /**
   * Reads bytes of a segment, which are there; of a gzipped one, of what it inflates to.
   *
   * @throws {EventStreamError} for a gzipped one that is damaged.
   */
  read(segment: ReadableSegment, offset: number, length: number): Promise<Buffer>
  /** Calls back when the log may have grown, until the returned function is called. */
  watch(onChange: () => void): () => void
}

/**
 * The event log in a folder.
 *
 * @throws {NewerLogError} when its head is of a later version.
 */
export class LocalLog implements LogSource {
  readonly name: string
  head: LogHead | null = null
  segments: readonly ReadableSegment[] = []
  fault: string | null = null
  readonly #disk: LogDisk
  #listedAtMs = Number.NEGATIVE_INFINITY
  #headText: string | null = null
  #receiver: ReceiverFile | null = null
  #inflated: { name: string; bytes: Buffer } | null = null

  constructor(folder: string, disk: LogDisk = NODE_DISK) {
    this.name = folder
    this.#disk = disk
  }

  refresh(): boolean {
    const before = this.#headText
    this.head = readHead(this.#disk, this.name)
    const { head } = this
    this.#headText = head === null ? null : `${head.number} ${head.bytes} ${head.upgrade?.height ?? ''}`
    const isListed = performance.now() - this.#listedAtMs < LIST_MS
    if (this.#headText === before && isListed) return false
    if (isListed && head !== null && this.#extendActive(head)) return true
    return this.#list() || this.#headText !== before
  }

  receiver(): ReceiverFile | null {
    // While it is being written, it was there a moment ago.
    this.#receiver = readReceiverFile(this.#disk, this.name) ?? this.#receiver
    return this.#receiver
  }

  async read(segment: ReadableSegment, offset: number, length: number): Promise<Buffer> {
    if (segment.name.endsWith('.gz'))
      return (await this.#inflate(segment.name)).subarray(offset, offset + length)
    try {
      return await this.#disk.read(`${this.name}/${segment.name}`, offset, length)
    } catch (error) {
      // It has another name now: sealed, gzipped or, once nobody needs it, gone.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      this.#list()
      const renamed = this.segments.find(
        ({ number, first }) => number === segment.number && first === segment.first,
      )
      if (renamed === undefined || renamed.name === segment.name) throw error
      return this.read(renamed, offset, length)
    }
  }

  watch(onChange: () => void): () => void {
    let watcher: FSWatcher | null = null
    try {
      // The folder, not the head: each head is another file.
      watcher = watch(this.name, { persistent: false }, (_, name) => {
        if (name === null || name === 'head.json') onChange()
      })
      watcher.on('error', () => {})
    } catch {
      // Whoever waits looks each second, too.
    }
    return () => watcher?.close()
  }

  /** Extends the segment that is being written; false if the head is of another one. A log may have thousands of others. */
  #extendActive({ number, last, bytes }: LogHead): boolean {
    const active = this.segments.at(-1)
    if (active === undefined || active.kind !== 'active' || active.number !== number || last === null)
      return false
    this.segments = [...this.segments.slice(0, -1), { ...active, last, bytes }]
    return true
  }

  /** Reads the names again; returns whether they have changed. What was listed before stays while that is impossible. */
  #list(): boolean {
    const before = this.segments
    try {
      this.segments = this.#listed()
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      this.fault = code ?? message
      return false
    }
    this.fault =
      this.head === null && isHeadUnreadable(this.#disk, this.name) ? 'its head.json may not be read' : null
    this.#listedAtMs = performance.now()
    return (
      before.length !== this.segments.length ||
      before.some(({ name, bytes }, index) => {
        const now = this.segments[index]!
        return now.name !== name || now.bytes !== bytes
      })
    )
  }

  #listed(): ReadableSegment[] {
    const { head } = this
    const sizes = new Map(
      this.segments.flatMap(({ kind, name, bytes }) => (kind === 'active' ? [] : [[name, bytes]])),
    )
    return segmentsIn(this.#disk.list(this.name)).flatMap((segment): ReadableSegment[] => {
      const { number, first } = segment
      const name = segmentName(segment)
      if (segment.kind !== 'open') {
        // It never changes again under this name.
        const bytes = sizes.get(name) ?? this.#disk.stat(`${this.name}/${name}`)?.bytes ?? 0
        return [{ number, first, last: segment.last, kind: segment.kind, name, bytes }]
      }
      // Of others nothing may be read yet.
      if (head?.number !== number || head.last === null) return []
      return [{ number, first, last: head.last, kind: 'active', name, bytes: head.bytes }]
    })
  }

  async #inflate(name: string): Promise<Buffer> {
    if (this.#inflated?.name !== name) {
      const path = `${this.name}/${name}`
      const packed = await this.#disk.read(path, 0, this.#disk.stat(path)?.bytes ?? 0)
      const bytes = await inflate(packed, { maxOutputLength: MAX_INFLATED_BYTES }).catch((error: Error) => {
        const position = { source: name, record: 1, offset: 0 }
        throw new EventStreamError(`it cannot be inflated: ${error.message}`, position, { cause: error })
      })
      this.#inflated = { name, bytes }
    }
    return this.#inflated.bytes
  }
}

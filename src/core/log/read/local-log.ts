import { type FSWatcher, watch } from 'node:fs'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { EventStreamError } from '../../records/record-position.ts'
import { type LogDisk, NODE_DISK } from '../log-disk.ts'
import { HEAD_NAME, isHeadUnreadable, type LogHead, readHead } from '../log-head.ts'
import { type ReceiverFile, readReceiverFile } from '../receiver-file.ts'
import { type SealedName, type SegmentName, segmentName, segmentsIn } from '../segment-name.ts'
import { isSameSegment, type LogSegment, type LogSource } from './log-source.ts'

const inflate = promisify(gunzip)

/** More than a segment and a block take: what a gzipped one inflates to at most. */
const MAX_INFLATED_BYTES = 256 * 1024 * 1024

/** How often the names in the folder are read again, although the head has not changed, in milliseconds. */
const LIST_MS = 60_000

/**
 * The event log in a folder.
 *
 * @throws {NewerLogError} when its head is of a later version.
 */
export class LocalLog implements LogSource {
  readonly name: string
  head: LogHead | null = null
  sealed: readonly LogSegment[] = []
  active: LogSegment | null = null
  fault: string | null = null
  readonly #disk: LogDisk
  #sealedByNumber = new Map<number, LogSegment>()
  #listedAtMs = Number.NEGATIVE_INFINITY
  #headText: string | null = null
  #receiver: ReceiverFile | null = null
  #inflated: { name: string; bytes: Buffer } | null = null

  constructor(folder: string, disk: LogDisk = NODE_DISK) {
    this.name = folder
    this.#disk = disk
  }

  get segments(): readonly LogSegment[] {
    return this.active === null ? this.sealed : [...this.sealed, this.active]
  }

  current(segment: LogSegment): LogSegment | null {
    const { active } = this
    if (active !== null && isSameSegment(active, segment)) return active
    const sealed = this.#sealedByNumber.get(segment.number)
    return sealed !== undefined && isSameSegment(sealed, segment) ? sealed : null
  }

  refresh(): void {
    const before = this.#headText
    this.head = readHead(this.#disk, this.name)
    const { head } = this
    this.#headText = head === null ? null : `${head.number} ${head.bytes} ${head.upgrade?.height ?? ''}`
    if (performance.now() - this.#listedAtMs < LIST_MS) {
      if (this.#headText === before) return
      if (head !== null && this.#extendActive(head)) return
    }
    this.#list()
  }

  receiver(): ReceiverFile | null {
    // While it is being written, it was there a moment ago.
    this.#receiver = readReceiverFile(this.#disk, this.name) ?? this.#receiver
    return this.#receiver
  }

  async read(segment: LogSegment, offset: number, length: number): Promise<Buffer> {
    if (segment.name.endsWith('.gz'))
      return (await this.#inflate(segment.name)).subarray(offset, offset + length)
    try {
      return await this.#disk.read(`${this.name}/${segment.name}`, offset, length)
    } catch (error) {
      // It has another name now: sealed, gzipped or, once nobody needs it, gone.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      this.#list()
      const renamed = this.current(segment)
      if (renamed === null || renamed.name === segment.name) throw error
      return this.read(renamed, offset, length)
    }
  }

  watch(onChange: () => void): () => void {
    let watcher: FSWatcher | null = null
    try {
      // The folder, not the head: each head is another file.
      watcher = watch(this.name, { persistent: false }, (_, name) => {
        if (name === null || name === HEAD_NAME) onChange()
      })
      watcher.on('error', () => {})
    } catch {
      // Whoever waits looks each second, too.
    }
    return () => watcher?.close()
  }

  /** Extends the segment that is being written; false if the head is of another one. A log may have thousands of others. */
  #extendActive({ number, first, last, bytes }: LogHead): boolean {
    const { active } = this
    if (active === null || last === null) return false
    // A log that was deleted begins again with the first number, at another block.
    if (active.number !== number || active.first !== first) return false
    this.active = { ...active, last, bytes }
    return true
  }

  /** Reads the names again. What was listed before stays while that is impossible. */
  #list(): void {
    try {
      this.#takeNames(this.#disk.list(this.name))
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      this.fault = code ?? message
      return
    }
    this.fault =
      this.head === null && isHeadUnreadable(this.#disk, this.name)
        ? `its ${HEAD_NAME} may not be read`
        : null
    this.#listedAtMs = performance.now()
  }

  #takeNames(names: readonly string[]): void {
    const segments = segmentsIn(names)
    const sealed = segments.flatMap((segment) => (segment.kind === 'open' ? [] : this.#sealedOf(segment)))
    if (!areSame(this.sealed, sealed)) {
      this.sealed = sealed
      this.#sealedByNumber = new Map(sealed.map((segment) => [segment.number, segment]))
    }
    const open = segments.filter(({ kind }) => kind === 'open')
    this.active = open.map((segment) => this.#activeOf(segment)).find((segment) => segment !== null) ?? null
  }

  #sealedOf(segment: SealedName): LogSegment {
    const { kind, number, first, last } = segment
    const name = segmentName(segment)
    const listed = this.#sealedByNumber.get(number)
    // It never changes again under this name.
    const bytes = listed?.name === name ? listed.bytes : (this.#disk.stat(`${this.name}/${name}`)?.bytes ?? 0)
    return { log: this, number, first, last, kind, name, bytes }
  }

  /** The segment of the head; of others nothing may be read yet. */
  #activeOf(segment: SegmentName): LogSegment | null {
    const { head } = this
    if (head === null || head.number !== segment.number || head.last === null) return null
    const { number, first } = segment
    const { last, bytes } = head
    return { log: this, number, first, last, kind: 'active', name: segmentName(segment), bytes }
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

/** Whether two lists are of the same files of the same size. */
function areSame(some: readonly LogSegment[], others: readonly LogSegment[]): boolean {
  if (some.length !== others.length) return false
  return some.every(
    ({ name, bytes }, index) => name === others[index]!.name && bytes === others[index]!.bytes,
  )
}

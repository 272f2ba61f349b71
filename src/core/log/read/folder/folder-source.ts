import { type LogDisk, NODE_DISK } from '../../files/log-disk.ts'
import { describeHeadFault, isEarlierHead, type LogHead, readHead } from '../../files/log-head.ts'
import { type ReceiverFile, readReceiverFile } from '../../files/receiver-file.ts'
import { presentSegments, segmentName } from '../../files/segment-name.ts'
import type { LogContents, LogSource, SegmentFile } from '../log-source.ts'
import { FolderWatch } from './folder-watch.ts'

/** How often the names in the folder are read again, although the head has not changed, in milliseconds. */
const LIST_MS = 60_000

/** An event log in a folder of this machine. */
export class FolderSource implements LogSource {
  readonly name: string
  readonly isAwaited = false
  readonly #disk: LogDisk
  #contents: LogContents = { head: null, files: [], fault: null }
  #listedAtMs = Number.NEGATIVE_INFINITY
  /** The file of the segment that the head named when the names were read; null if it named none that was there. */
  #listedOpen: string | null = null
  #receiver: ReceiverFile | null = null
  #watching: FolderWatch | null = null

  constructor(folder: string, disk: LogDisk = NODE_DISK) {
    this.name = folder
    this.#disk = disk
  }

  get folder(): string {
    return this.name
  }

  /** @throws {NewerLogError} when the head is of a later version. */
  look(): LogContents {
    this.#watching?.begin()
    const before = this.#contents
    const head = readHead(this.#disk, this.name)
    const isSame = printOf(head) === printOf(before.head)
    // A log that was restored from a copy has other files under its names.
    const isRestored = head !== null && before.head !== null && isEarlierHead(head, before.head)
    if (isRestored) this.#contents = { ...before, files: [] }
    if (!isSame) this.#contents = { ...this.#contents, head }
    const isListDue = isRestored || before.fault !== null || performance.now() - this.#listedAtMs >= LIST_MS
    const open = openNameIn(head)
    // Often only the length of a segment has changed, and a log may have thousands of others.
    const isOnlyLonger = open !== null && open === this.#listedOpen
    if (isListDue || !(isSame || isOnlyLonger)) this.#list()
    return this.#contents
  }

  async listAgain(): Promise<void> {
    this.#list()
  }

  receiver(): ReceiverFile | null {
    // While it is being written, it was there a moment ago.
    this.#receiver = readReceiverFile(this.#disk, this.name) ?? this.#receiver
    return this.#receiver
  }

  read(name: string, offset: number, length: number): Promise<Buffer> {
    return this.#disk.read(`${this.name}/${name}`, offset, length)
  }

  watch(onChange: () => void): () => void {
    this.#watching = new FolderWatch(this.name, onChange)
    return () => this.#watching?.stop()
  }

  /** Reads the names again. What is in the contents stays while that is impossible. */
  #list(): void {
    const { head, files } = this.#contents
    try {
      const listed = this.#filesIn(this.#disk.list(this.name))
      const fault = head === null ? describeHeadFault(this.#disk, this.name) : null
      this.#contents = { head, files: listed, fault }
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      this.#contents = { head, files, fault: code ?? message }
      return
    }
    this.#listedAtMs = performance.now()
    const open = openNameIn(head)
    this.#listedOpen = this.#contents.files.some(({ name }) => name === open) ? open : null
  }

  #filesIn(names: readonly string[]): SegmentFile[] {
    const known = new Map(this.#contents.files.map(({ name, bytes }) => [name, bytes]))
    return presentSegments(names).map((segment) => {
      const name = segmentName(segment)
      // Of an open one, the head says how far it may be read.
      if (segment.kind === 'open') return { segment, name, bytes: 0 }
      // A sealed segment never changes again under its name, but a gzipped one may not have been whole.
      const size = segment.isGzipped ? undefined : known.get(name)
      return { segment, name, bytes: size ?? this.#disk.stat(`${this.name}/${name}`)?.bytes ?? 0 }
    })
  }
}

/** What changes of a head for its readers. */
function printOf(head: LogHead | null): string | null {
  return head === null ? null : `${head.number} ${head.first} ${head.bytes} ${head.upgrade?.height ?? ''}`
}

/** The file of the segment whose blocks a head names; null if it names none. */
function openNameIn(head: LogHead | null): string | null {
  if (head === null || head.first === null || head.last === null) return null
  return segmentName({ kind: 'open', number: head.number, first: head.first })
}

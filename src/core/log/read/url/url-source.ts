import { setTimeout as sleep } from 'node:timers/promises'
import { greatestOrNull } from '../../../domain/integers.ts'
import type { LogHead } from '../../files/log-head.ts'
import type { ReceiverFile } from '../../files/receiver-file.ts'
import { segmentName } from '../../files/segment-name.ts'
import { type LogContents, type LogSource, LogUnreachableError, type SegmentFile } from '../log-source.ts'
import { LastRefusal, type Refusal } from './last-refusal.ts'
import { LogServer } from './log-server.ts'
import { parseLogUrl } from './log-url.ts'
import {
  type PublishedReceiver,
  readPublishedHead,
  readPublishedIndex,
  readPublishedReceiver,
} from './published-files.ts'

/** How often the head is read, and the index although the head names the same segment, in milliseconds. */
const LOOK_MS = 1_000
const INDEX_MS = 60_000

/** An empty store waits so long for a first answer before it begins with the blocks of other logs, in milliseconds. */
const AWAIT_MS = 10_000

/** The sealed segments, as they were when the head named a segment. */
type ReadIndex = { headNumber: number; atMs: number; files: readonly SegmentFile[] }

/**
 * An event log that a web server publishes. It is looked at each second in the background: the head, the index if that may
 * have changed, and the receiver's state. Whatever is wrong with an answer is a fault, until the same request is answered
 * well. If head or index cannot be read, the log is as it was seen before.
 */
export class UrlSource implements LogSource {
  readonly name: string
  readonly folder = null
  readonly #server: LogServer
  readonly #lastRefusal: LastRefusal
  readonly #stopped = new AbortController()
  readonly #startedAt = performance.now()
  #onChange: () => void = () => {}
  #contents: LogContents = { head: null, files: [], fault: null }
  #hasAnswered = false
  #headText: string | null = null
  /** Null if it must be read again. */
  #index: ReadIndex | null = null
  #receiver: PublishedReceiver | null = null
  /** The greatest block that was seen, in the segment that was written to then. */
  #furthest: { number: number; height: bigint } | null = null
  /** Until the log has been looked at; null between two looks. */
  #looking: Promise<string | null> | null = null

  /** @param url as {@link parseLogUrl} accepts it */
  constructor(url: string) {
    const folder = parseLogUrl(url)
    this.name = folder.href
    this.#server = new LogServer(folder, this.#stopped.signal)
    this.#lastRefusal = new LastRefusal(this.#server)
  }

  get isAwaited(): boolean {
    return !this.#hasAnswered && performance.now() - this.#startedAt < AWAIT_MS
  }

  look(): LogContents {
    return this.#contents
  }

  receiver(): ReceiverFile | null {
    return this.#receiver?.file ?? null
  }

  /** @throws {LogUnreachableError} if the server does not answer, or the file is still listed, but not there. */
  async listAgain(missing: string): Promise<void> {
    // A segment has its last name a moment before the index and the head say so.
    for (const waitMs of [0, LOOK_MS]) {
      await sleep(waitMs, undefined, { signal: this.#stopped.signal })
      await this.#looking
      this.#index = null
      const fault = await this.#look()
      if (fault !== null) throw new LogUnreachableError(fault)
      if (!this.#isListed(missing)) return
    }
    const fault = `${missing} is in the index, but not there: check what the web server publishes`
    throw this.#refuse({ name: missing, offset: 0, length: 1, fault })
  }

  async read(name: string, offset: number, length: number): Promise<Buffer> {
    try {
      const bytes = await this.#server.readRange(name, { offset, length })
      this.#lastRefusal.noteGiven(name, offset)
      return bytes
    } catch (error) {
      if (!(error instanceof LogUnreachableError)) throw error
      throw this.#refuse({ name, offset, length, fault: error.message })
    }
  }

  watch(onChange: () => void): () => void {
    this.#onChange = onChange
    this.#keepLooking().catch(() => {})
    return () => this.#stopped.abort()
  }

  async #keepLooking(): Promise<void> {
    const { signal } = this.#stopped
    while (!signal.aborted) {
      await this.#look()
      await sleep(LOOK_MS, undefined, { signal })
    }
  }

  /** Looks at the log, once at a time. Returns why that has failed, which is a fault of the contents; otherwise null. */
  #look(): Promise<string | null> {
    this.#looking ??= this.#readAll()
      .then(
        () => null,
        ({ message }: Error) => {
          if (!this.#stopped.signal.aborted) this.#change({ ...this.#contents, fault: message })
          return message
        },
      )
      .finally(() => {
        this.#looking = null
      })
    return this.#looking
  }

  async #readAll(): Promise<void> {
    const { head, text } = await readPublishedHead(this.#server, this.name)
    // Read after the head: the index has all segments before the one that the head names, since it was written before.
    const index = await this.#readIndex(head)
    const receiverFault = await this.#readReceiver()
    await this.#lastRefusal.askAgain((name) => this.#isListed(name))
    const isSame = text === this.#headText && index === this.#index
    this.#headText = text
    this.#index = index
    this.#hasAnswered = true
    const fault = this.#lastRefusal.fault ?? receiverFault ?? this.#noteFurthest(head, index.files)
    if (isSame && fault === this.#contents.fault) return
    this.#change({ head, files: [...index.files, ...openFileOf(head, index.files)], fault })
  }

  async #readIndex({ number }: LogHead): Promise<ReadIndex> {
    const before = this.#index
    const isOld = before === null || performance.now() - before.atMs >= INDEX_MS
    if (!isOld && before.headNumber === number) return before
    const files = await readPublishedIndex(this.#server)
    return { headNumber: number, atMs: performance.now(), files }
  }

  /** Why the receiver's state cannot be read, although head and index can; null if it can, or is not there. */
  async #readReceiver(): Promise<string | null> {
    try {
      this.#receiver = await readPublishedReceiver(this.#server, this.#receiver)
      return null
    } catch (error) {
      if (error instanceof LogUnreachableError) return error.message
      throw error
    }
  }

  /** Notes how far the log is. Says that it is behind what was seen of it before; null unless it is. */
  #noteFurthest({ number, last }: LogHead, files: readonly SegmentFile[]): string | null {
    const lasts = files.flatMap(({ segment }) => (segment.kind === 'open' ? [] : segment.last))
    const height = greatestOrNull([last, ...lasts])
    if (height === null) return null
    const before = this.#furthest
    if (before === null || number > before.number || height >= before.height) {
      this.#furthest = { number, height }
      return null
    }
    return `its last block is ${height} and was ${before.height}: the server has an older state of the log. It is waited for until it has that block again; check that its receiver runs`
  }

  #isListed(name: string): boolean {
    return this.#contents.files.some((file) => file.name === name)
  }

  /** Bytes were refused: notes why, and returns the error to throw. */
  #refuse(refusal: Refusal): LogUnreachableError {
    this.#lastRefusal.set(refusal)
    if (refusal.fault !== this.#contents.fault) this.#change({ ...this.#contents, fault: refusal.fault })
    return new LogUnreachableError(refusal.fault)
  }

  #change(contents: LogContents): void {
    this.#contents = contents
    this.#onChange()
  }
}

/** The segment that is being written, unless it has its last name already; none while it has no whole block. */
function openFileOf({ number, first, last }: LogHead, sealed: readonly SegmentFile[]): SegmentFile[] {
  const isSealed = sealed.some(({ segment }) => segment.number === number)
  if (first === null || last === null || isSealed) return []
  const segment = { kind: 'open' as const, number, first }
  return [{ segment, name: segmentName(segment), bytes: 0 }]
}

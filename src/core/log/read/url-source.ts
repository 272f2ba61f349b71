import { setTimeout as sleep } from 'node:timers/promises'
import { greatestOrNull } from '../../domain/integers.ts'
import { HEAD_NAME, type LogHead, NewerLogError, parseHead } from '../log-head.ts'
import { INDEX_NAME, parseIndex } from '../log-index.ts'
import { parseReceiver, RECEIVER_NAME, type ReceiverFile, type WrittenState } from '../receiver-file.ts'
import { segmentName, segmentsIn } from '../segment-name.ts'
import { LogServer, LogServerError } from './log-server.ts'
import type { LogContents, LogSource, SegmentFile } from './log-source.ts'
import { parseLogUrl } from './log-url.ts'

/** How often the head is read, and the index although the head names the same segment, in milliseconds. */
const LOOK_MS = 1_000
const INDEX_MS = 60_000

/** An empty store waits so long for a first answer before it begins with the blocks of other logs, in milliseconds. */
const AWAIT_MS = 10_000

/** Sizes of texts at most, in bytes. */
const MAX_HEAD_BYTES = 4 * 1024
const MAX_INDEX_BYTES = 16 * 1024 * 1024
const MAX_RECEIVER_BYTES = 64 * 1024

/** A request for bytes that was refused, and why. */
type Refused = { name: string; offset: number; length: number; fault: string }

/** The sealed segments, as they were when the head named a segment. */
type ReadIndex = { headNumber: number; atMs: number; files: readonly SegmentFile[] }

/**
 * An event log that a web server publishes. It is looked at each second in the background; whatever is wrong with an answer is a fault,
 * until the same request is answered well.
 */
export class UrlSource implements LogSource {
  readonly name: string
  readonly folder = null
  readonly #server: LogServer
  readonly #stopped = new AbortController()
  readonly #startedAt = performance.now()
  #onChange: () => void = () => {}
  #contents: LogContents = { head: null, files: [], fault: null }
  #hasAnswered = false
  #headText: string | null = null
  /** Null if it must be read again. */
  #index: ReadIndex | null = null
  #receiver: { text: string; file: ReceiverFile } | null = null
  /** The greatest block that was seen, in the segment that was written to then. */
  #furthest: { number: number; height: bigint } | null = null
  #refused: Refused | null = null
  #looking: Promise<void> | null = null

  /** @param url as {@link parseLogUrl} accepts it */
  constructor(url: string) {
    const folder = parseLogUrl(url)
    this.name = folder.href
    this.#server = new LogServer(folder, this.#stopped.signal)
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

  /** @throws {LogServerError} if the file is still listed, but not there. */
  async listAgain(missing: string): Promise<void> {
    // A segment has its last name a moment before the index and the head say so.
    for (const waitMs of [0, LOOK_MS]) {
      await sleep(waitMs, undefined, { signal: this.#stopped.signal })
      await this.#looking
      this.#index = null
      await this.#look()
      if (!this.#isListed(missing)) return
    }
    const fault = `${missing} is in the index, but not there: check what the web server publishes`
    throw this.#refuse({ name: missing, offset: 0, length: 1, fault })
  }

  async read(name: string, offset: number, length: number): Promise<Buffer> {
    try {
      const bytes = await this.#server.readRange(name, { offset, length })
      if (this.#refused?.name === name && this.#refused.offset === offset) this.#refused = null
      return bytes
    } catch (error) {
      if (!(error instanceof LogServerError)) throw error
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

  /** Looks at the log, once at a time. Faults are in the contents. */
  #look(): Promise<void> {
    this.#looking ??= this.#readAll()
      .catch((error: Error) => {
        if (!this.#stopped.signal.aborted) this.#change({ ...this.#contents, fault: error.message })
      })
      .finally(() => {
        this.#looking = null
      })
    return this.#looking
  }

  async #readAll(): Promise<void> {
    const { head, text } = await this.#readHead()
    // The index has all that the head follows: it was written before.
    const index = await this.#readIndex(head)
    const receiverFault = await this.#readReceiver()
    await this.#askAgain()
    const isSame = text === this.#headText && index === this.#index
    this.#headText = text
    this.#index = index
    this.#hasAnswered = true
    const fault = this.#refused?.fault ?? receiverFault ?? this.#describeStepBack(head, index.files)
    if (isSame && fault === this.#contents.fault) return
    this.#change({ head, files: [...index.files, ...openFileOf(head, index.files)], fault })
  }

  async #readHead(): Promise<{ head: LogHead; text: string }> {
    const text = await this.#server.readText(HEAD_NAME, MAX_HEAD_BYTES)
    if (text === null)
      throw new LogServerError(
        `there is no ${HEAD_NAME}: check that --follow names the folder of an event log`,
      )
    try {
      const head = parseHead(text, this.name)
      if (head !== null) return { head, text }
    } catch (error) {
      if (!(error instanceof NewerLogError)) throw error
      throw new LogServerError('its head is of a later version: install the Lyra that writes it', {
        cause: error,
      })
    }
    throw notOfLyra(HEAD_NAME)
  }

  async #readIndex({ number }: LogHead): Promise<ReadIndex> {
    const before = this.#index
    const isOld = before === null || performance.now() - before.atMs >= INDEX_MS
    if (!isOld && before.headNumber === number) return before
    const text = await this.#server.readText(INDEX_NAME, MAX_INDEX_BYTES)
    const sizes = text === null ? null : parseIndex(text)
    if (sizes === null)
      throw text === null
        ? new LogServerError(
            `there is no ${INDEX_NAME}: restart the log's receiver with this version of Lyra`,
          )
        : notOfLyra(INDEX_NAME)
    const files = segmentsIn([...sizes.keys()]).map((segment): SegmentFile => {
      const name = segmentName(segment)
      return { segment, name, bytes: sizes.get(name)! }
    })
    return { headNumber: number, atMs: performance.now(), files }
  }

  /** Why it cannot be read, although head and index can; null if it can, or is not there. */
  async #readReceiver(): Promise<string | null> {
    try {
      const text = await this.#server.readText(RECEIVER_NAME, MAX_RECEIVER_BYTES)
      const before = this.#receiver
      if (text === null || text === before?.text) return null
      const state = parseReceiver(text)
      // It may be just being written.
      if (state === null && before === null) throw notOfLyra(RECEIVER_NAME)
      if (state !== null) this.#receiver = { text, file: byOwnClock(state) }
      return null
    } catch (error) {
      if (error instanceof LogServerError) return error.message
      throw error
    }
  }

  /** Asks again for what was refused, lest a reader that has other logs waits for it. */
  async #askAgain(): Promise<void> {
    const refused = this.#refused
    if (refused === null) return
    try {
      await this.#server.readRange(refused.name, refused)
      this.#refused = null
    } catch (error) {
      if (error instanceof LogServerError) this.#refused = { ...refused, fault: error.message }
      else if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      else if (!this.#isListed(refused.name)) this.#refused = null
    }
  }

  /** Says that the log is behind what was seen of it before; null unless it is. What was read then stays. */
  #describeStepBack({ number, last }: LogHead, files: readonly SegmentFile[]): string | null {
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

  #refuse(refused: Refused): LogServerError {
    this.#refused = refused
    this.#change({ ...this.#contents, fault: refused.fault })
    return new LogServerError(refused.fault)
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

/** A receiver's state with times by this machine's clock: that of the other one may be wrong. */
function byOwnClock({ clock, ...state }: WrittenState): ReceiverFile {
  const now = Date.now()
  const ahead = now - clock
  const { lastEventAtMs, upgrade } = state
  return {
    ...state,
    lastEventAtMs: lastEventAtMs === null ? null : Math.min(now, lastEventAtMs + ahead),
    upgrade: upgrade === null ? null : { ...upgrade, since: Math.min(now, upgrade.since + ahead) },
    writtenAtMs: now,
  }
}

function notOfLyra(name: string): LogServerError {
  return new LogServerError(
    `${name} is none of an event log: check that --follow names the folder of one, and what the web server sends`,
  )
}

// The receiver as a whole: opens the event log, listens for the core, and writes its own state.
import { existsSync } from 'node:fs'
import type { Logger } from 'pino'
import { greatestOrNull } from '#core/domain/integers'
import { diskWithMode, type LogDisk, NODE_DISK } from '#core/log/files/log-disk'
import { logFault, setLogMode, takeLogFolder } from '#core/log/files/log-folder'
import { NewerLogError } from '#core/log/files/log-head'
import { readersFolder } from '#core/log/files/reader-files'
import {
  isIntact,
  type ReceiverFile,
  type ReceiverState,
  readReceiverFile,
  writeReceiverFile,
} from '#core/log/files/receiver-file'
import { segmentsIn } from '#core/log/files/segment-name'
import { FolderSource } from '#core/log/read/folder/folder-source'
import { FollowedLog } from '#core/log/read/followed-log'
import { LogReader } from '#core/log/read/log-reader'
import type { LogRetention } from '#core/log/retention'
import { SEGMENT_BYTES } from '#core/log/segment-frames'
import { LogWriter, OtherLogChainError } from '#core/log/write/log-writer'
import { registerForwarder } from '../forward/register-forwarder.ts'
import { createAllowList } from './allow-list.ts'
import { convertBuffer, takePosition } from './convert-buffer.ts'
import { CoreQueue, describeQueue } from './core-queue.ts'
import { Intake, initialIntake } from './intake.ts'
import { LogShortener } from './log-shortener.ts'
import { hasUnansweredForwarder, ProtocolUpgrade } from './protocol-upgrade.ts'

/** What is to be kept has at least about so many segments: one that is read is deleted soon after it is not needed. */
const LEAST_SEGMENTS = 16

/** What is kept of the log, although all readers have it, unless a setting says otherwise. */
const DEFAULT_KEEP: LogRetention = { bytes: 1024 ** 3 }

const UPKEEP_MS = 1_000

/** How often the index is renewed although nothing was deleted here: an archive may have gzipped segments. */
const INDEX_MS = 60_000

/** A forwarder's name among the readers, and about how many bytes it sends again. */
type RegisteredForwarder = { name: string; repeatBytes: number }

/** What an operator can set of a receiver, but its log and its chain. */
export type ReceiverSettings = {
  host: string
  port: number
  /** Addresses and networks that may connect; none: all may. */
  from: readonly string[]
  /** Folder of events that a version before 0.3 has received; null for none. */
  buffer: string | null
  /** How much of the log is kept although no reader needs it; null: the default, once a store has read it. */
  keep: LogRetention | null
  /** The mode of the log's files; null: for this user only, whatever earlier ones have. */
  mode: number | null
}

export type ReceiverTask = ReceiverSettings & {
  /** Folder of the event log. */
  eventLog: string
  /** The service's forwarder; null without one. */
  forwarder: RegisteredForwarder | null
  /** The required chain of events, by a setting; null: that of the log. */
  chain: string | null
  /** The chain of the store that reads the log, which counts while the log has none; null: not known. */
  storeChain: string | null
}

/** A running receiver. */
export type Receiver = {
  port: number
  /** The store that reads the log has blocks: events must be of its chain, unless the log is of another one. */
  pinChain(id: string): void
  /** Ends, once all that the core had sent is in the log. */
  stop(): Promise<void>
}

type ReceiverListener = {
  /** The log's head or the receiver's state may have changed. */
  onChange(): void
  /** Nothing can be written any more: the process must start again. */
  onFailed(error: Error): void
}

/** The log's folder, which is locked for this process. */
type LockedLog = {
  unlock: () => void
  /** What the receiver before has written last; null if there was none. */
  earlier: ReceiverFile | null
  shortener: LogShortener
}

/** What a receiver consists of once its log is open. */
type Parts = { writer: LogWriter; upgrade: ProtocolUpgrade; intake: Intake }

/**
 * Receives from a core, and writes its events to an event log. It reads no store. Of readers it knows what they have noted in the
 * log: what may be deleted, and whether a protocol upgrade may go on. What it does is in the log's `receiver.json`.
 */
export class LogReceiver implements Receiver {
  port = 0
  readonly #task: ReceiverTask
  readonly #logger: Logger
  readonly #listener: ReceiverListener
  readonly #disk: LogDisk
  readonly #locked: LockedLog
  readonly #coreQueue = new CoreQueue()
  #hasDiskFault = false
  #indexedAtMs = 0
  /** Null until the log is open. */
  #writer: LogWriter | null = null
  /** Null until what an earlier version has left is in the log; meanwhile that may call back. */
  #parts: Parts | null = null
  #upkeep: NodeJS.Timeout | undefined

  /**
   * Opens the log and listens for the core.
   *
   * @throws the error of listening (EADDRINUSE, ...), and one of {@link logFault} for a log that cannot be written.
   */
  static async open(task: ReceiverTask, logger: Logger, listener: ReceiverListener): Promise<Receiver> {
    const { eventLog, keep } = task
    // Looked at before the log is taken, which makes the folder.
    const hadReadersFolder = existsSync(readersFolder(eventLog))
    const unlock = takeLogFolder(eventLog)
    const earlier = readReceiverFile(NODE_DISK, eventLog)
    // Who needs what of a log is not known if the folder that says so was deleted: it waits for a store, as a new log without
    // the setting does.
    const isForgotten = earlier !== null && !hadReadersFolder
    const shortener = new LogShortener({
      folder: eventLog,
      keep: keep ?? DEFAULT_KEEP,
      isKeepSet: !isForgotten && keep !== null,
      hadRequiredReader: !isForgotten && earlier?.hadRequiredReader === true,
      logger,
    })
    const receiver = new LogReceiver(task, logger, listener, { unlock, earlier, shortener })
    try {
      if (task.mode !== null) setLogMode(eventLog, task.mode)
      await receiver.#start()
      return receiver
    } catch (error) {
      await receiver.#writer?.close()
      unlock()
      throw error
    }
  }

  private constructor(task: ReceiverTask, logger: Logger, listener: ReceiverListener, locked: LockedLog) {
    this.#task = task
    this.#logger = logger
    this.#listener = listener
    this.#locked = locked
    this.#disk = task.mode === null ? NODE_DISK : diskWithMode(task.mode)
  }

  pinChain(id: string): void {
    this.#opened().writer.pinChain(id)
  }

  async stop(): Promise<void> {
    const { writer, intake } = this.#opened()
    if (writer.fault !== null) {
      this.#logger.warn(
        'the receiver ends once the event log can be written: killed before that, it loses events of the core',
      )
    }
    // What the socket still has is written before the writer ends; the next receiver begins once the state says so, too.
    await intake.close()
    await writer.close()
    clearInterval(this.#upkeep)
    this.#report()
    this.#locked.unlock()
  }

  async #start(): Promise<void> {
    const { eventLog, host, port, from } = this.#task
    const { earlier } = this.#locked
    const writer = await this.#openLog()
    const height = greatestHeight(eventLog, writer)
    const onChange = () => this.#report()
    const logger = this.#logger
    const intake = new Intake({ writer, height, logger })
    const upgrade = new ProtocolUpgrade(
      {
        hasUnanswered: (upgradeHeight) => hasUnansweredForwarder(eventLog, upgradeHeight),
        logger,
        writer,
        height,
        earlier: earlier?.upgrade ?? null,
        mayHaveLost: earlier?.coreConnected === true || earlier?.mayHaveLostUpgrade === true,
      },
      { send: (message) => intake.send(message), onChange },
    )
    this.#parts = { writer, upgrade, intake }
    this.#report()
    this.port = await intake.listen(
      { host, port, allowed: createAllowList(from) },
      {
        onChange,
        onConnected: () => upgrade.connected(),
        onBegun: (begun) => upgrade.begun(begun),
        onUpgrade: (last) => upgrade.announced(last),
      },
    )
    this.#upkeep = setInterval(() => this.#keepUp(), UPKEEP_MS)
  }

  /** Opens the log, and puts into it what must be there before the core's first event. */
  async #openLog(): Promise<LogWriter> {
    const { eventLog, storeChain, buffer, forwarder } = this.#task
    try {
      const writer = await this.#openWriter()
      this.#writer = writer
      if (storeChain !== null) writer.pinChain(storeChain)
      // A forwarder that the log does not know begins with its newest blocks: how far an earlier version was comes first.
      if (forwarder !== null && buffer !== null) takePosition(buffer, eventLog, forwarder.name)
      // A core that announces a protocol upgrade waits only for forwarders that are registered.
      if (forwarder !== null) register(forwarder, eventLog)
      if (buffer !== null) await convertBuffer(buffer, writer, eventLog, this.#logger)
      return writer
    } catch (error) {
      if (!(error instanceof OtherLogChainError || error instanceof NewerLogError)) throw error
      throw logFault(error.message, { cause: error })
    }
  }

  #openWriter(): Promise<LogWriter> {
    const { eventLog, chain, keep } = this.#task
    return LogWriter.open(
      {
        folder: eventLog,
        pinned: chain === null ? null : { id: chain, pinnedBy: '--chain is' },
        segmentBytes: segmentBytesOf(keep ?? DEFAULT_KEEP),
        isIntact: isIntact(this.#locked.earlier),
        logger: this.#logger,
        disk: this.#disk,
      },
      {
        onHead: (head) => {
          this.#parts?.intake.committed(head)
          this.#parts?.upgrade.committed(head)
          this.#listener.onChange()
        },
        onFault: (fault) => {
          this.#hasDiskFault ||= fault !== null
          this.#report()
        },
        onFailed: (error) => this.#listener.onFailed(error),
        makeRoom: () => this.#makeRoom(),
      },
    )
  }

  #keepUp(): void {
    const { writer, upgrade, intake } = this.#opened()
    intake.reportFaults()
    upgrade.upkeep()
    this.#coreQueue.sample(intake.state.events, writer.fault !== null)
    const hasDeleted = this.#locked.shortener.upkeep(writer.head.number)
    if (hasDeleted || performance.now() - this.#indexedAtMs >= INDEX_MS) this.#renewIndex(writer)
    this.#report()
  }

  /**
   * The parts of a receiver that {@link open} has returned.
   *
   * @throws if its log is not open yet.
   */
  #opened(): Parts {
    if (this.#parts === null) throw new Error('the event log is not open yet')
    return this.#parts
  }

  /** The disk is full: deletes a segment that no reader needs; false if there is none. */
  #makeRoom(): boolean {
    const hasDeleted = this.#locked.shortener.makeRoom()
    if (hasDeleted && this.#writer !== null) this.#renewIndex(this.#writer)
    return hasDeleted
  }

  #renewIndex(writer: LogWriter): void {
    this.#indexedAtMs = performance.now()
    writer.renewIndex()
  }

  #report(): void {
    try {
      writeReceiverFile(this.#disk, this.#task.eventLog, this.#state())
    } catch {
      // A full disk, and there was no file yet: readers take the receiver for silent.
    }
    this.#listener.onChange()
  }

  #state(): ReceiverState {
    const parts = this.#parts
    const { failure, ...received } = parts?.intake.state ?? initialIntake()
    const fault = this.#writer?.fault ?? null
    const { secondsLeft } = this.#coreQueue
    const writeFault = fault === null ? null : `${fault}; ${describeQueue(secondsLeft)}`
    return {
      ...received,
      failures: [writeFault, failure].filter((some) => some !== null),
      ...(fault !== null && { queueSeconds: Number.isFinite(secondsLeft) ? secondsLeft : null }),
      upgrade: parts?.upgrade.readState() ?? null,
      ...(parts?.upgrade.mayHaveLost === true && { mayHaveLostUpgrade: true }),
      hasDiskFault: this.#hasDiskFault,
      hadRequiredReader: this.#locked.shortener.hadRequiredReader,
    }
  }
}

function register({ name, repeatBytes }: RegisteredForwarder, eventLog: string): void {
  const reader = new LogReader([new FollowedLog(new FolderSource(eventLog))])
  registerForwarder(reader, name, repeatBytes)
  reader.close()
}

function segmentBytesOf(keep: LogRetention): number {
  return keep !== 'all' && 'bytes' in keep
    ? Math.min(SEGMENT_BYTES, keep.bytes / LEAST_SEGMENTS)
    : SEGMENT_BYTES
}

/** The greatest height of a whole block in a log; null if it has none. */
function greatestHeight(folder: string, { head }: LogWriter): bigint | null {
  const lasts = segmentsIn(NODE_DISK.list(folder)).flatMap((segment) =>
    segment.kind === 'sealed' ? segment.last : [],
  )
  return greatestOrNull([...lasts, head.last])
}

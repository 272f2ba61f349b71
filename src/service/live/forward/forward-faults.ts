// Why nothing is forwarded: in the forwarder's state for everybody, and in the log for the operator.
import type { Logger } from 'pino'
import type { FollowedLog } from '#core/log/read/followed-log'
import { SeveralChainsError } from '../one-chain.ts'
import type { ConnectionError } from './dial-pair.ts'
import { MissingBlockError } from './forward-progress.ts'

/** Public; the log says more. */
const READ_FAULT = 'the event log cannot be read; see the log'
const CONNECTION_FAULT = 'the receiver is unreachable or refuses the connection; see the log'
const MISSING_BLOCK = 'a block is missing in the event log; forwarding goes on after it'

/** The faults of a forwarder's connection and of the logs that it reads. The log names each once, until it is over. */
export class ForwardFaults {
  readonly #logger: Logger
  readonly #address: string
  #connectionFault: string | null = null
  #readFault: string | null = null
  /** While no log can be read. */
  #foldersFault: string | null = null
  /** The last lines about them in the log. */
  #connectionLine: string | null = null
  #readLine: string | null = null
  #foldersLine: string | null = null

  /** @param address the receiver's, for the log */
  constructor(logger: Logger, address: string) {
    this.#logger = logger
    this.#address = address
  }

  /** Why nothing is forwarded; null without a fault. It contains no address. */
  get failure(): string | null {
    return this.#connectionFault ?? this.#foldersFault ?? this.#readFault
  }

  /** The receiver is connected. */
  connected(): void {
    this.#connectionFault = this.#connectionLine = null
  }

  /** The receiver is not connected: the connection was closed, by whichever side, or could not be made. */
  disconnected(error: ConnectionError): void {
    const line = `${this.#address}: ${error.message}. Reconnecting; its events stay in the event log meanwhile`
    if (line !== this.#connectionLine) this.#logger.error(`forwarding: ${line}`)
    this.#connectionLine = line
    this.#connectionFault = error instanceof MissingBlockError ? MISSING_BLOCK : CONNECTION_FAULT
  }

  /** A block was read. */
  readBlock(): void {
    this.#noteReadFault(null, null)
  }

  /** The next block could not be read. */
  cannotRead(error: Error): void {
    const { code, message } = error as NodeJS.ErrnoException
    if (error instanceof SeveralChainsError) {
      this.#noteReadFault(message, error.withFolders)
      return
    }
    // A segment may be deleted while it is read: its blocks are missing then.
    this.#noteReadFault(READ_FAULT, code === 'ENOENT' ? null : `the event log cannot be read: ${message}`)
  }

  /** Names logs whose folders cannot be read. Unless that is all of them, forwarding goes on with the others. */
  nameUnreadable(logs: readonly Pick<FollowedLog, 'name' | 'fault'>[]): void {
    const unreadable = logs.filter(({ fault }) => fault !== null)
    this.#foldersFault = unreadable.length > 0 && unreadable.length === logs.length ? READ_FAULT : null
    const named = unreadable.map(({ name, fault }) => `${name}: the event log cannot be read (${fault})`)
    const remedy = 'let the user of this process read the folder and its files. Trying again'
    const line = named.length === 0 ? null : `${named.join('; ')}: ${remedy}`
    if (line !== null && line !== this.#foldersLine) this.#logger.error(`forwarding: ${line}`)
    this.#foldersLine = line
  }

  /**
   * @param fault why nothing is forwarded, for everybody; null if something is
   * @param line the same for the log, which has it once; null for nothing
   */
  #noteReadFault(fault: string | null, line: string | null): void {
    this.#readFault = fault
    if (line !== null && line !== this.#readLine) this.#logger.error(`forwarding: ${line}`)
    this.#readLine = line
  }
}

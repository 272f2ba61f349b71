// Why nothing is forwarded: in the forwarder's state for everybody, and to the logger, with addresses, for operators.
import type { Logger } from 'pino'
import { ReportedFault } from '#core/domain/reported-fault'
import type { FollowedLog } from '#core/log/read/followed-log'
import { SeveralChainsError } from '../one-chain.ts'
import type { ConnectionError } from './dial-pair.ts'
import { MissingBlockError } from './forward-progress.ts'

/** Public; operators are told more. */
const READ_FAULT = 'the event log cannot be read; see the log'
const CONNECTION_FAULT = 'the receiver is unreachable or refuses the connection; see the log'
const MISSING_BLOCK = 'a block is missing in the event log; forwarding goes on after it'

/** The faults of a forwarder's connection and of the logs that it reads. Operators are told of each once, until it is over. */
export class ForwardFaults {
  readonly #address: string
  readonly #connectionReport: ReportedFault
  readonly #blockReport: ReportedFault
  readonly #foldersReport: ReportedFault
  #connectionFault: string | null = null
  /** Why the next block cannot be read, although a log can be. */
  #blockFault: string | null = null
  /** While no log can be read. */
  #foldersFault: string | null = null

  /** @param address the receiver's, for operators */
  constructor(logger: Logger, address: string) {
    this.#address = address
    this.#connectionReport = new ReportedFault(logger)
    this.#blockReport = new ReportedFault(logger)
    this.#foldersReport = new ReportedFault(logger)
  }

  /** Why nothing is forwarded; null without a fault. It contains no address. */
  get failure(): string | null {
    return this.#connectionFault ?? this.#foldersFault ?? this.#blockFault
  }

  /** The receiver is connected. */
  connected(): void {
    this.#connectionFault = null
    this.#connectionReport.over()
  }

  /** The receiver is not connected: the connection was closed, by whichever side, or could not be made. */
  disconnected(error: ConnectionError): void {
    this.#connectionFault = error instanceof MissingBlockError ? MISSING_BLOCK : CONNECTION_FAULT
    this.#connectionReport.report(
      `forwarding: ${this.#address}: ${error.message}. Reconnecting; its events stay in the event log meanwhile`,
    )
  }

  /** A block was read, or can be looked for anew. */
  readBlock(): void {
    this.#blockFault = null
    this.#blockReport.over()
  }

  /** The next block could not be read. */
  cannotRead(error: Error): void {
    const { code, message } = error as NodeJS.ErrnoException
    if (error instanceof SeveralChainsError) {
      this.#blockFault = message
      this.#blockReport.report(`forwarding: ${error.withFolders}`)
      return
    }
    // A segment may be deleted while it is read. Nothing is wrong then: its blocks are looked for anew, or are missing.
    if (code === 'ENOENT') {
      this.readBlock()
      return
    }
    this.#blockFault = READ_FAULT
    this.#blockReport.report(`forwarding: the event log cannot be read: ${message}`)
  }

  /** Reports logs whose folders cannot be read. Forwarding continues with the others, if there are any. */
  nameUnreadable(logs: readonly Pick<FollowedLog, 'name' | 'fault'>[]): void {
    const unreadable = logs.filter(({ fault }) => fault !== null)
    this.#foldersFault = unreadable.length > 0 && unreadable.length === logs.length ? READ_FAULT : null
    if (unreadable.length === 0) {
      this.#foldersReport.over()
      return
    }
    const named = unreadable.map(({ name, fault }) => `${name}: the event log cannot be read (${fault})`)
    const remedy = 'let the user of this process read the folder and its files. Trying again'
    this.#foldersReport.report(`forwarding: ${named.join('; ')}: ${remedy}`)
  }
}

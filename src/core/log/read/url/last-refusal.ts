import { LogUnreachableError } from '../log-source.ts'
import type { LogServer } from './log-server.ts'

/** A request for bytes of a file that was refused, and why. */
export type Refusal = { name: string; offset: number; length: number; fault: string }

/** The last refusal of a log's server: a fault of the log until the same bytes are given, or are not needed any more. */
export class LastRefusal {
  readonly #server: LogServer
  #refused: Refusal | null = null

  constructor(server: LogServer) {
    this.#server = server
  }

  /** Why the bytes were refused; null if none are. */
  get fault(): string | null {
    return this.#refused?.fault ?? null
  }

  /** Another refusal may have come meanwhile. */
  #replace(before: Refusal, now: Refusal | null): void {
    if (this.#refused === before) this.#refused = now
  }

  set(refusal: Refusal): void {
    this.#refused = refusal
  }

  /** Notes that bytes from an offset of a file on were given. */
  noteGiven(name: string, offset: number): void {
    if (this.#refused?.name === name && this.#refused.offset === offset) this.#refused = null
  }

  /**
   * Asks again for the refused bytes, since a reader that has other logs does not. A file that is gone is no longer needed,
   * unless it is listed.
   */
  async askAgain(isListed: (name: string) => boolean): Promise<void> {
    const refused = this.#refused
    if (refused === null) return
    try {
      await this.#server.readRange(refused.name, refused)
      this.#replace(refused, null)
    } catch (error) {
      if (error instanceof LogUnreachableError) this.#replace(refused, { ...refused, fault: error.message })
      else if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      else if (!isListed(refused.name)) this.#replace(refused, null)
    }
  }
}

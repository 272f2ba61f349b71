import type { Envelope } from '../events/bus-event.ts'
import { copyBytes, equalBytes } from '../events/equal-bytes.ts'
import { chainIdOf, otherVersionOf } from '../events/event-origin.ts'
import { EventStreamError, type RecordPosition } from '../records/record-position.ts'
import { mostBytesOf } from '../resources/projections.ts'
import { ChainError } from './block.ts'

/**
 * Decides whether an event may enter a block at all: it has the version that this program reads, is of the same chain as the
 * store and all earlier events, and is not longer than events of its kind can be. Which block it is in, and at which index,
 * does not matter here.
 */
export class EventGuard {
  readonly #storedChain: string | null
  readonly #requiredChain: string | null
  #chainId: string | null
  /** The bytes of {@link EventGuard.chainId}, with which those of each event are compared. */
  #chainIdBytes: DataView

  /**
   * @param storedChain the chain of the store; null if it is empty
   * @param requiredChain the chain that events must have if it is empty; null: that of the first event
   */
  constructor(storedChain: string | null, requiredChain: string | null = null) {
    this.#storedChain = storedChain
    this.#requiredChain = requiredChain
    const chainId = storedChain ?? requiredChain
    this.#chainId = chainId
    this.#chainIdBytes = copyBytes(Buffer.from(chainId ?? ''))
  }

  /** The chain that events must have; null before the first event, if the store is empty. */
  get chainId(): string | null {
    return this.#chainId
  }

  /**
   * Checks the event that an envelope was read from.
   *
   * @param position of the event, for errors
   * @throws {ChainError} for an event of another chain.
   * @throws {EventStreamError} for another version, and an event that is too long.
   * @throws {MalformedMessageError} for an impossible chain id.
   */
  check(envelope: Envelope, position: RecordPosition): void {
    this.#checkVersion(envelope, position)
    this.#checkChain(envelope, position)
    this.#checkSize(envelope, position)
  }

  #checkVersion(envelope: Envelope, position: RecordPosition): void {
    const other = otherVersionOf(envelope)
    if (other !== null) throw new EventStreamError(other, position)
  }

  #checkChain(envelope: Envelope, position: RecordPosition): void {
    const { bytes, chainIdStart, chainIdEnd } = envelope
    if (this.#chainId !== null && equalBytes(this.#chainIdBytes, bytes, chainIdStart, chainIdEnd)) return
    const chainId = chainIdOf(envelope)
    if (this.#chainId !== null) {
      throw new ChainError(
        `an event of chain ${JSON.stringify(chainId)}, but ${this.#describeExpected()}`,
        position,
      )
    }
    this.#chainId = chainId
    this.#chainIdBytes = copyBytes(bytes, chainIdStart, chainIdEnd)
  }

  #describeExpected(): string {
    const expected = JSON.stringify(this.#chainId)
    if (this.#storedChain === null && this.#requiredChain !== null) return `${expected} is expected`
    const of = this.#storedChain === null ? 'the input began with' : 'the store contains'
    return `${of} chain ${expected}: use one store for each chain`
  }

  #checkSize({ kind, bodyStart, bodyEnd }: Envelope, position: RecordPosition): void {
    const most = mostBytesOf(kind)
    if (bodyEnd - bodyStart <= most) return
    throw new EventStreamError(
      `an event of kind ${kind} with ${bodyEnd - bodyStart} bytes, more than the ${most} allowed: the input is damaged here`,
      position,
    )
  }
}

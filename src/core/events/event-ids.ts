import { type Envelope, EVENT_KIND } from './bus-event.ts'
import { indexInBlock } from './event-origin.ts'
import { bytesOf, WireReader } from './wire-reader.ts'

/*
 * The ids of a block's events, "<height>-<index>", count up from 1. Every event takes one id, except that expired and
 * cancelled orders take one for each order (docs/events.md, event files; observed with a core of version 0.79, and for
 * expired orders with 0.71).
 */

/** The fields of the order ids. */
const EXPIRED_IDS = bytesOf(2)
const CANCELLED_IDS = bytesOf(3)

const body = new WireReader()

/**
 * The number of ids that an event takes: the index of the next event is higher by this. 0 for cancelled or expired orders
 * that name no order.
 *
 * @throws {MalformedMessageError} if the orders cannot be counted.
 */
export function countIds({ bytes, kind, bodyStart, bodyEnd }: Envelope): number {
  if (kind !== EVENT_KIND.expiredOrders && kind !== EVENT_KIND.cancelledOrders) return 1
  const orderId = kind === EVENT_KIND.expiredOrders ? EXPIRED_IDS : CANCELLED_IDS
  let count = 0
  body.reset(bytes, bodyStart, bodyEnd)
  while (body.at < bodyEnd) {
    const tag = body.tag()
    if (tag === orderId) count++
    body.skip(tag)
  }
  return count
}

/** Where an event is in a block: its index; or why it has none there, since it is of another block, or has come before. */
type PlaceInBlock = number | 'other' | 'repeated'

/** Follows the ids of a block's events in their order. */
export class BlockIds {
  /** What the ids begin with. */
  readonly #prefix: string
  #last = 0
  /** The lowest index that no event has taken. */
  #free = 1

  constructor(height: bigint) {
    this.#prefix = `${height}-`
  }

  /** Index of the last event; 0 before the first. */
  get last(): number {
    return this.#last
  }

  /** The index of the next event; a higher one means that events are missing. */
  get next(): number {
    // By the core's source, an event without orders takes no id: the next event has the same id, or the one after it.
    return Math.max(this.#free, this.#last + 1)
  }

  /**
   * Takes the ids of an event, and returns its place.
   *
   * @throws {MalformedMessageError} if its id has another form, or its ids cannot be counted.
   */
  take(envelope: Envelope): PlaceInBlock {
    const index = indexInBlock(envelope, this.#prefix)
    if (index === null) return 'other'
    if (index < this.#free) return 'repeated'
    this.#free = index + countIds(envelope)
    this.#last = index
    return index
  }
}

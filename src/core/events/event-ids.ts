import { type Envelope, EVENT_KIND } from './bus-event.ts'
import { bytesOf, WireReader } from './wire-reader.ts'

/*
 * The ids of a block's events, "<height>-<index>", count up from 1 by the number of things that an event carries: one for
 * every event, but expired and cancelled orders take an id for each of their orders (docs/events.md, event files; seen from
 * a core of version 0.79, whose 0.71 counted expired orders so, too).
 */

/** The fields of the order ids. */
const EXPIRED_IDS = bytesOf(2)
const CANCELLED_IDS = bytesOf(3)

const body = new WireReader()

/**
 * How many ids an event takes: the id after it is higher by this number. 0 for cancelled or expired orders without an order.
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

/** Follows the ids of a block's events in their order, from 1 on. */
export class IdSequence {
  /** Index of the last event; 0 before the first. */
  last = 0
  /** The lowest index that is not yet taken. */
  #free = 1

  /** The index that the next event must have, or may not exceed. */
  get next(): number {
    // By the core's source, an event without orders takes no id: the next one has the same id, or the one after it.
    return Math.max(this.#free, this.last + 1)
  }

  /** Whether an index is taken by an event before: the event is repeated. */
  isTaken(index: number): boolean {
    return index < this.#free
  }

  /** Takes the event with this index, which takes so many ids. */
  take(index: number, count: number): void {
    this.last = index
    this.#free = index + count
  }
}

import { ByteWriter } from './byte-writer.ts'
import { type Context, nextTransaction } from './context.ts'
import type { EventType } from './event-types.ts'
import type { Random } from './random.ts'

/** A kind that the service passes over: how often it comes among these kinds, and the size of its event in bytes. */
type OtherKind = EventType & { share: number; size: number }

/** As counted in a whole test network's stream: orders, accounts, ledger movements, delegations, votes, ... */
const OTHER_KINDS: readonly OtherKind[] = [
  { kind: 118, type: 19, share: 4553, size: 232 },
  { kind: 105, type: 6, share: 788, size: 459 },
  { kind: 129, type: 29, share: 661, size: 319 },
  { kind: 140, type: 41, share: 562, size: 269 },
  { kind: 131, type: 31, share: 561, size: 195 },
  { kind: 130, type: 30, share: 560, size: 294 },
  { kind: 108, type: 9, share: 318, size: 462 },
  { kind: 104, type: 5, share: 294, size: 501 },
  { kind: 145, type: 46, share: 282, size: 324 },
  { kind: 123, type: 24, share: 271, size: 208 },
  { kind: 152, type: 53, share: 253, size: 460 },
  { kind: 102, type: 3, share: 213, size: 1027 },
  { kind: 109, type: 10, share: 194, size: 495 },
  { kind: 137, type: 38, share: 128, size: 495 },
  { kind: 125, type: 26, share: 119, size: 1012 },
  { kind: 110, type: 11, share: 116, size: 332 },
  { kind: 153, type: 54, share: 106, size: 238 },
  { kind: 120, type: 21, share: 60, size: 400 },
  { kind: 106, type: 7, share: 42, size: 226 },
  { kind: 117, type: 18, share: 23, size: 284 },
  { kind: 2001, type: 201, share: 10, size: 468 },
]

/** What an event's size holds besides its body: id, two hashes, chain id, type, version. */
const ENVELOPE_BYTES = 165

const VARIANTS = [0.8, 1, 1.2]

/** Makes the choice among kinds one look into a table; the rarest kind still has a place in it. */
const TABLE_PLACES = 2048

/** Events that come for one transaction. */
const EVENTS_PER_TRANSACTION = 3

/** Sends events of kinds that are none of the service's. */
export type OtherKindsFeed = {
  /** Sends a block's share of them. */
  send(context: Context): void
}

/** Creates the feed: `events` a block on average, their bodies made once and sent again and again. */
export function createOtherKindsFeed(events: number, random: Random): OtherKindsFeed {
  const table = createTable(random)
  let due = 0

  function send(context: Context): void {
    for (due += events; due >= 1; due--) {
      const { event, bodies } = table[context.random.below(table.length)]!
      if (context.random.onceIn(EVENTS_PER_TRANSACTION)) nextTransaction(context)
      const template = bodies[context.random.below(bodies.length)]!
      context.out.begin(event, context.transaction, template.length)
      context.out.body.raw(template)
      context.out.end()
    }
  }

  return { send }
}

type Template = { event: EventType; bodies: Uint8Array[] }

function createTable(random: Random): Template[] {
  const all = OTHER_KINDS.reduce((sum, { share }) => sum + share, 0)
  return OTHER_KINDS.flatMap(({ kind, type, share, size }) => {
    const bodies = VARIANTS.map((factor) => createBody(Math.round((size - ENVELOPE_BYTES) * factor), random))
    const template = { event: { kind, type }, bodies }
    return Array<Template>(Math.max(1, Math.round((TABLE_PLACES * share) / all))).fill(template)
  })
}

/** A message of exactly `size` bytes: as many ids as it holds, then a text that fills it up. */
function createBody(size: number, random: Random): Uint8Array {
  const body = new ByteWriter(size)
  while (size - body.length >= 80) body.text(1, random.hex())
  body.text(2, '1'.repeat(size - body.length - 2))
  return body.take(0)
}

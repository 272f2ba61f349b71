import { encoded, type FieldValue } from '#core/events/byte-writer'
import { FIRST_SECOND } from './clock.ts'
import { type Context, nextTransaction } from './context.ts'
import type { EventType } from './event-types.ts'
import type { Random } from './random.ts'

/** A kind that the service skips, and its share among these kinds. */
type OtherKind = EventType & {
  share: number
  /** By the number of the field, from 1 on. */
  fields: readonly FieldContent[]
}

/** Content of a message field: a fixed value, or a generated one; null if it is omitted. */
type FieldContent = number | string | Make | null

type Make = (random: Random) => FieldValue

const id: Make = (random) => random.hex()
const amount: Make = (random) => String(random.between(1, 1_000_000_000))
const fraction: Make = (random) => random.fraction()
const timestamp: Make = (random) => BigInt(FIRST_SECOND + random.below(1_000_000)) * 1_000_000_000n

/**
 * Kinds without nested messages, each with all fields that a reader may require. The data node stops at an empty id, number
 * or epoch, at a second snapshot of one block, and at scores and rankings of an unannounced validator, so these kinds are
 * omitted. The shares are those in the whole stream of a test network.
 */
const OTHER_KINDS: readonly OtherKind[] = [
  // MarketTick: market, time.
  { kind: 118, type: 19, share: 4553, fields: [id, timestamp] },
  // Account: id, owner, balance, asset, market, type (general).
  { kind: 105, type: 6, share: 788, fields: [id, id, amount, id, id, 4] },
  // DelegationBalance: party, node, amount, epoch.
  { kind: 129, type: 29, share: 661, fields: [id, id, amount, '7'] },
  // MarginLevels: four levels, party, market, asset, time, margin of orders, mode (cross), factor.
  {
    kind: 108,
    type: 9,
    share: 318,
    fields: [amount, amount, amount, amount, id, id, id, timestamp, '0', 1, '0'],
  },
  // Order: id, market, party, side, price, size, remaining, time in force, type, created, status, reference, version.
  {
    kind: 104,
    type: 5,
    share: 294,
    fields: [id, id, id, 1, amount, 5, 5, 1, 1, timestamp, 1, null, 'generated', null, null, 1],
  },
  // PositionState: party, market, size, potential buys and sells, volume-weighted prices.
  { kind: 145, type: 46, share: 282, fields: [id, id, 10, 5, 5, amount, amount] },
  // NetworkParameter: key, value.
  { kind: 123, type: 24, share: 271, fields: ['market.fee.factors.makerFee', '0.0002'] },
  // StateVar: id, event, state.
  { kind: 137, type: 38, share: 128, fields: [id, id, 'consensus_reached'] },
  // Vote: party, value (yes), proposal, time, balance and weights.
  { kind: 110, type: 11, share: 116, fields: [id, 2, id, timestamp, amount, fraction, fraction] },
  // Deposit: id, status (finalised), party, asset, amount, transaction, credited, created.
  { kind: 120, type: 21, share: 60, fields: [id, 3, id, id, amount, id, timestamp, timestamp] },
  // Party: id.
  { kind: 106, type: 7, share: 42, fields: [id] },
  // TxErrorEvent: party, message.
  { kind: 2001, type: 201, share: 10, fields: [id, 'generated'] },
]

/** Number of different bodies of each kind, which take turns. */
const VARIANTS = 3

/** More than the size of any of these bodies. */
const MAX_BODY_BYTES = 1024

/** Size of the table from which a kind is chosen in one look; even the rarest kind has an entry. */
const TABLE_PLACES = 2048

/** Number of events of one transaction. */
const EVENTS_PER_TRANSACTION = 3

/**
 * Creates the function that sends a block's events of other kinds, `events` in each block on average. `afterEach` is called
 * after each of them.
 */
export function createOtherKindsFeed(
  events: number,
  random: Random,
  afterEach: (context: Context) => void,
): (context: Context) => void {
  const send = createOtherKinds(random)
  let due = 0

  return (context) => {
    for (due += events; due >= 1; due--) {
      send(context)
      afterEach(context)
    }
  }
}

/** Creates the function that sends one such event. The bodies are generated once, and sent repeatedly. */
export function createOtherKinds(random: Random): (context: Context) => void {
  const table = createTable(random)

  return (context) => {
    const { event, bodies } = table[context.random.below(table.length)]!
    if (context.random.onceIn(EVENTS_PER_TRANSACTION)) nextTransaction(context)
    const template = bodies[context.random.below(bodies.length)]!
    context.out.write(event, context.transaction, template)
  }
}

type Template = { event: EventType; bodies: Uint8Array[] }

function createTable(random: Random): Template[] {
  const all = OTHER_KINDS.reduce((sum, { share }) => sum + share, 0)
  return OTHER_KINDS.flatMap(({ kind, type, share, fields }) => {
    const bodies = Array.from({ length: VARIANTS }, () => createBody(fields, random))
    const template = { event: { kind, type }, bodies }
    return Array<Template>(Math.max(1, Math.round((TABLE_PLACES * share) / all))).fill(template)
  })
}

function createBody(fields: readonly FieldContent[], random: Random): Uint8Array {
  const body = fields.map((value, index) => [index + 1, typeof value === 'function' ? value(random) : value])
  return encoded(Object.fromEntries(body), MAX_BODY_BYTES)
}

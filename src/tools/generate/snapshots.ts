import { type Envelope, EVENT_KIND } from '#core/events/bus-event'
import { LENGTH_DELIMITED, WireReader } from '#core/events/wire-reader'
import { EVENT_TYPES } from './event-types.ts'
import { createRecordWriter } from './record-writer.ts'
import { type BlockIdentity, identityOf, readEvents, type SentBlock } from './sent-blocks.ts'

/** A core takes a snapshot at heights that are multiples of its setting; this is a small one. */
const SNAPSHOT_BLOCKS = 10

/** Network parameters that a core repeats, whatever it has sent before. */
const NETWORK_PARAMETERS = 209
const NETWORK_PARAMETER = { kind: 123, type: 24 }

/**
 * Kinds of events that a restarted core repeats, in the order in which one of version 0.79 does, with their numbers in
 * `BusEvent.type`: time, epoch, assets, accounts, parties, provisions and markets.
 */
const STATE_TYPES = new Map<number, number>([
  [EVENT_TYPES.timeUpdate.kind, EVENT_TYPES.timeUpdate.type],
  [EVENT_TYPES.epoch.kind, EVENT_TYPES.epoch.type],
  [EVENT_TYPES.asset.kind, EVENT_TYPES.asset.type],
  [105, 6],
  [106, 7],
  [EVENT_KIND.marketUpdated, EVENT_TYPES.marketUpdated.type],
  [EVENT_KIND.liquidityProvision, EVENT_TYPES.liquidityProvision.type],
  [EVENT_KIND.marketCreated, EVENT_TYPES.marketCreated.type],
])

type StateEvent = { kind: number; body: Buffer }

type Snapshot = BlockIdentity & { height: number; state: StateEvent[] }

/** What a restarted core sends first: events outside blocks with the height and hash of its snapshot, then the blocks since. */
type Restart = { height: number; outside: Buffer; blocks: readonly SentBlock[] }

/** The snapshots of a core that sends blocks, of which it keeps the latest. */
export class Snapshots {
  /** The latest event of each kind and id. */
  readonly #state = new Map<string, StateEvent>()
  readonly #body = new WireReader()
  #latest: Snapshot | null = null
  #blocksSince: SentBlock[] = []

  /** A block has been sent; the core takes a snapshot after the first one, at each tenth height, and if it must. */
  add(block: SentBlock, mustTake: boolean): void {
    readEvents(block.records, (event) => this.#keep(event))
    if (this.#latest !== null && block.height % SNAPSHOT_BLOCKS !== 0 && !mustTake) {
      this.#blocksSince.push(block)
      return
    }
    const state = [...STATE_TYPES.keys()].flatMap((kind) =>
      [...this.#state.values()].filter((event) => event.kind === kind),
    )
    this.#latest = { ...identityOf(block), height: block.height, state }
    this.#blocksSince = []
  }

  /** What the core sends when it starts again from its latest snapshot: there is one after the first block. */
  restart(): Restart {
    const { height, hash, chainId, state } = this.#latest!
    const out = createRecordWriter(chainId)
    out.beginBlock(height, hash)
    for (const { kind, body } of state) out.write({ kind, type: STATE_TYPES.get(kind)! }, null, body)
    for (let number = 1; number <= NETWORK_PARAMETERS; number++) {
      out.write(NETWORK_PARAMETER, null, { 1: `generated.parameter.${number}`, 2: String(number) })
    }
    return { height, outside: Buffer.concat(out.takeAll()), blocks: [...this.#blocksSince] }
  }

  #keep({ kind, bytes, bodyStart, bodyEnd }: Envelope): void {
    if (!STATE_TYPES.has(kind)) return
    const body = Buffer.from(bytes.subarray(bodyStart, bodyEnd))
    this.#state.set(`${kind} ${this.#idIn(body)}`, { kind, body })
  }

  /** The text that a body begins with, the id of what it describes; none if it is a time or an epoch. */
  #idIn(body: Buffer): string {
    this.#body.reset(body, 0, body.length)
    if (body.length === 0 || (this.#body.tag() & 7) !== LENGTH_DELIMITED) return ''
    return body.toString('latin1', this.#body.at, this.#body.fieldEnd())
  }
}

import { type Envelope, EVENT_KIND } from '#core/events/bus-event'
import { LENGTH_DELIMITED, WireReader } from '#core/events/wire-reader'
import { EVENT_TYPES } from './event-types.ts'
import { RecordWriter } from './record-writer.ts'
import { type BlockIdentity, identityOf, readEvents, type SentBlock } from './sent-blocks.ts'

/** A core takes a snapshot at multiples of this height, which is a setting; this one is small. */
const SNAPSHOT_BLOCKS = 10

/** Number of network parameters that a restarted core repeats, even if it had not sent them before. */
const NETWORK_PARAMETERS = 209
const NETWORK_PARAMETER = { kind: 123, type: 24 }

/**
 * Kinds of events that a restarted core repeats, with their numbers in `BusEvent.type`, in the order of version 0.79: time,
 * epoch, assets, accounts, parties, provisions and markets.
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

/**
 * The first messages of a restarted core: events outside blocks with the height and hash of its snapshot, then the blocks
 * since.
 */
type Restart = { height: number; outside: Buffer; blocks: readonly SentBlock[] }

/** The snapshots of a core that sends blocks; it has only the latest one. */
export class Snapshots {
  /** The latest event of each kind and id. */
  readonly #state = new Map<string, StateEvent>()
  readonly #body = new WireReader()
  #latest: Snapshot | null = null
  #blocksSince: SentBlock[] = []

  /**
   * Must be called for each block that was sent. The core takes a snapshot after the first one, at each tenth height, and
   * if `mustTake`.
   */
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

  /** The messages of a core that starts again from its latest snapshot. There is one after the first block. */
  restart(): Restart {
    const { height, hash, chainId, state } = this.#latest!
    const out = new RecordWriter(chainId)
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

  /** The text at the beginning of a body, which is the id of what it describes; empty for a time or an epoch. */
  #idIn(body: Buffer): string {
    this.#body.reset(body, 0, body.length)
    if (body.length === 0 || (this.#body.tag() & 7) !== LENGTH_DELIMITED) return ''
    return body.toString('latin1', this.#body.at, this.#body.fieldEnd())
  }
}

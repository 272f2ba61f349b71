import { type EventPosition, hasBlock } from '../../../domain/event-position.ts'
import type { Row } from '../../../model/resource.ts'
import type { RowOf } from '../../../model/table.ts'
import { LIVE_STATUSES, type provisionTable } from '../../../resources/liquidity-providers/table.ts'
import { positionOf } from '../../queries/unseen/positioned-rows.ts'
import type { Mutation } from '../../queries-protocol.ts'
import { latest, type Party, partyOf } from './provider-moves.ts'

/** A liquidity provision as of its latest event. */
export type Provision = { party: Party; isLive: boolean; position: EventPosition }

/** A provision with its id, as of its latest event, or as of an event to be written. */
export type ProvisionEvent = Provision & { id: string }

/** The event of a row to be written. */
export function provisionEvent(row: RowOf<typeof provisionTable>): ProvisionEvent {
  return {
    id: row.provision_id,
    party: partyOf(row.market_id, row.party_id),
    isLive: LIVE_STATUSES.includes(row.status),
    position: { height: row.height, index: row.event_index },
  }
}

/** The provisions of a party in a market that matter. It may have thousands, of which hardly any is live. */
type PartyProvisions = {
  byId: Map<string, Provision>
  /** How many of them show the party in the market's list. */
  shown: number
  /** The latest position of them all. */
  latest: EventPosition
}

/** Provisions by id, and those of each party. */
export class Provisions {
  readonly #byId = new Map<string, Provision>()
  readonly #byParty = new Map<string, PartyProvisions>()

  /** The provision with an id; undefined if it is unknown. */
  get(id: string): Provision | undefined {
    return this.#byId.get(id)
  }

  /** Adds a provision, or replaces the one with its id, whose event must not be later. */
  put(id: string, provision: Provision): void {
    const replaced = this.#byId.get(id)
    this.#byId.set(id, provision)
    const ofParty = this.#ofParty(provision)
    ofParty.byId.set(id, provision)
    ofParty.shown += Number(showsParty(provision))
    ofParty.latest = latest(ofParty.latest, provision.position)
    if (replaced !== undefined) this.#takeBack(id, replaced, ofParty)
  }

  /** The latest position of a party's provisions; undefined if it has none. */
  latestOf(party: Party): EventPosition | undefined {
    return this.#byParty.get(party.key)?.latest
  }

  /** Whether any provision shows a party. */
  show(party: Party): boolean {
    return (this.#byParty.get(party.key)?.shown ?? 0) > 0
  }

  /**
   * Takes back what a replaced provision has counted for its party. Rarely, that is another one than `newOwner`, and the provision
   * is removed there.
   */
  #takeBack(id: string, replaced: Provision, newOwner: PartyProvisions): void {
    const owner = this.#byParty.get(replaced.party.key)!
    owner.shown -= Number(showsParty(replaced))
    if (owner === newOwner) return
    owner.byId.delete(id)
    const [first, ...others] = [...owner.byId.values()].map(({ position }) => position)
    if (first === undefined) this.#byParty.delete(replaced.party.key)
    else owner.latest = latest(first, ...others)
  }

  #ofParty({ party: { key }, position }: Provision): PartyProvisions {
    let provisions = this.#byParty.get(key)
    if (provisions === undefined) {
      provisions = { byId: new Map(), shown: 0, latest: position }
      this.#byParty.set(key, provisions)
    }
    return provisions
  }
}

/** Whether a provision shows its party. One that was imported from before all blocks is in no stream. */
const showsParty = ({ isLive, position }: Provision) => isLive && hasBlock(position.height)

const PROVISION_COLUMNS =
  'provision_id, market_id, party_id, status, cast(height as text) as position_height, event_index'

const READ_PROVISION = `select ${PROVISION_COLUMNS} from liquidity_provisions where provision_id = $1`

const READ_LIVE_PROVISIONS = `
  select ${PROVISION_COLUMNS} from liquidity_provisions
  where market_id = $1 and party_id = $2 and status in (${LIVE_STATUSES.join(', ')})`

const READ_LATEST_PROVISION = `
  select ${PROVISION_COLUMNS} from liquidity_provisions
  where market_id = $1 and party_id = $2 order by height desc, event_index desc limit 1`

/**
 * Reads the stored provisions that matter to these events: theirs, and of each party that they name, or take a provision
 * from, the live ones and, if an event is not after everything that is stored, the latest one.
 *
 * @param storeHead the last stored block; 0 if there is none
 */
export function* readProvisions(events: readonly ProvisionEvent[], storeHead: bigint): Mutation<Provisions> {
  const ids = [...new Set(events.map(({ id }) => id))]
  const named = (yield { text: READ_PROVISION, each: ids.map((id) => [id]) }).flat().map(storedProvision)
  const parties = new Map([...named, ...events].map(({ party }) => [party.key, party]))
  const each = [...parties.values()].map(({ marketId, partyId }) => [marketId, partyId])
  const live = (yield { text: READ_LIVE_PROVISIONS, each }).flat().map(storedProvision)
  const isLate = events.some(({ position }) => position.height <= storeHead)
  const last = isLate ? (yield { text: READ_LATEST_PROVISION, each }).flat().map(storedProvision) : []
  const provisions = new Provisions()
  for (const provision of [...named, ...live, ...last]) provisions.put(provision.id, provision)
  return provisions
}

function storedProvision([id, marketId, partyId, status, ...position]: Row): ProvisionEvent {
  return {
    id: String(id),
    party: partyOf(String(marketId), String(partyId)),
    isLive: LIVE_STATUSES.includes(Number(status)),
    position: positionOf(position),
  }
}

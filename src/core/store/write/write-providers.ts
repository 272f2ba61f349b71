import { type EventPosition, hasBlock, isBefore } from '../../domain/event-position.ts'
import type { PositionedMarketData } from '../../model/batch.ts'
import type { Row } from '../../model/resource.ts'
import type { RowOf } from '../../model/table.ts'
import { type LiquidityProviderRow, liquidityProviderRows } from '../../resources/liquidity-providers/rows.ts'
import {
  LIVE_STATUSES,
  providerListTable,
  providerTable,
  provisionTable,
} from '../../resources/liquidity-providers/table.ts'
import type { Mutation, Values } from '../queries-protocol.ts'

/*
 * A provider's position is that of the latest event that has changed what is shown of it: market data with other figures
 * than before, or the provision with which it is shown again. It depends on the single events, not on how commits group
 * them, so that stream ids are valid on every store.
 *
 * Events that arrive after later ones never move a position back. It is no longer known exactly what they would have
 * changed, so the position becomes that of the latest event that may have changed the row since. It is then too late rather
 * than too early: a follower receives a row twice, but misses none.
 */

type ProvisionRow = RowOf<typeof provisionTable>
type ProviderRow = RowOf<typeof providerTable>

/** A party of a market. `key` is its key in maps. */
type Party = { marketId: string; partyId: string; key: string }

type Provision = { party: Party; isLive: boolean; position: EventPosition }
type IdentifiedProvision = Provision & { id: string }

const PROVISION_COLUMNS =
  'provision_id, market_id, party_id, status, cast(height as text) as position_height, event_index'

const READ_PROVISION = `select ${PROVISION_COLUMNS} from liquidity_provisions where provision_id = $1`

const READ_LIVE_PROVISIONS = `
  select ${PROVISION_COLUMNS} from liquidity_provisions
  where market_id = $1 and party_id = $2 and status in (${LIVE_STATUSES.join(', ')})`

const READ_LATEST_PROVISION = `
  select ${PROVISION_COLUMNS} from liquidity_provisions
  where market_id = $1 and party_id = $2 order by height desc, event_index desc limit 1`

const READ_LATER_PROVISIONS = `
  select party_id, cast(height as text), event_index
  from liquidity_provisions where market_id = $1 and (height, event_index) > ($2, $3)`

const MOVE_PROVIDER = `
  update liquidity_providers set height = $3, event_index = $4
  where market_id = $1 and party_id = $2 and (height, event_index) < ($3, $4)`

const READ_LIST = `
  select cast(height as text), event_index from liquidity_provider_lists where market_id = $1`

/** A list that arrives after a later one of the market may differ from it in any row. */
const MOVE_TO_LIST = `
  update liquidity_providers set list_height = $2, list_index = $3,
    height = case when (height, event_index) < ($2, $3) then $2 else height end,
    event_index = case when (height, event_index) < ($2, $3) then $3 else event_index end
  where market_id = $1`

const READ_PROVIDERS = `
  select party_id, fee_share, sla, cast(list_height as text), list_index, cast(height as text), event_index
  from liquidity_providers where market_id = $1`

const DELETE_PROVIDER =
  'delete from liquidity_providers where market_id = $1 and party_id = $2 returning party_id'

const partyOf = (marketId: string, partyId: string): Party => ({
  marketId,
  partyId,
  key: `${marketId} ${partyId}`,
})

const positionOf = ([height, index]: Row): EventPosition => ({
  height: BigInt(height!),
  index: Number(index),
})

const latest = (first: EventPosition, ...others: readonly (EventPosition | undefined)[]): EventPosition =>
  others.reduce<EventPosition>(
    (last, position) => (position === undefined || isBefore(position, last) ? last : position),
    first,
  )

/** Writes the provisions and the lists of a commit. */
export function* writeProviders(provisions: readonly ProvisionRow[], lists: MarketLists): Mutation {
  // Read before the provisions of this commit are written, each of which is followed below.
  const later = yield {
    text: READ_LATER_PROVISIONS,
    values: [...lists].map(([marketId, [first]]) => [marketId, first!.height, first!.index]),
  }
  const moved = yield* writeProvisions(provisions)
  for (const [at, marketId] of [...lists.keys()].entries()) {
    for (const [partyId, ...position] of later[at]!)
      moved.add(partyOf(marketId, String(partyId)), positionOf(position))
  }
  yield* writeLists(lists, moved)
}

/** The events to whose positions providers move. */
class Moves {
  readonly #positions = new Map<string, { party: Party; position: EventPosition }>()

  add(party: Party, position: EventPosition): void {
    const before = this.#positions.get(party.key)
    this.#positions.set(party.key, { party, position: latest(position, before?.position) })
  }

  of(party: Party): EventPosition | undefined {
    return this.#positions.get(party.key)?.position
  }

  get values(): Values[] {
    return [...this.#positions.values()].map(({ party, position }) => [
      party.marketId,
      party.partyId,
      position.height,
      position.index,
    ])
  }
}

/** Writes provisions, and moves the providers that they show. */
function* writeProvisions(rows: readonly ProvisionRow[]): Mutation<Moves> {
  const moves = new Moves()
  if (rows.length === 0) return moves
  const events = rows.map(provisionOf)
  const provisions = yield* readProvisions(events)
  yield { table: provisionTable, rows }
  events.sort((a, b) => (isBefore(a.position, b.position) ? -1 : 1))
  for (const event of events) {
    const stored = provisions.get(event.id)
    // Imported rows that are older than the imported blocks have no position that a follower could see.
    if (hasBlock(event.position.height)) moveBy(event, stored, provisions, moves)
    if (stored === undefined || !isBefore(event.position, stored.position)) provisions.put(event.id, event)
  }
  yield { text: MOVE_PROVIDER, values: moves.values }
  return moves
}

const provisionOf = (row: ProvisionRow): IdentifiedProvision => ({
  id: row.provision_id,
  party: partyOf(row.market_id, row.party_id),
  isLive: LIVE_STATUSES.includes(row.status),
  position: { height: row.height, index: row.event_index },
})

/** The provisions of a provider that matter. A party may have thousands, of which hardly any is live. */
type ProviderProvisions = {
  byId: Map<string, Provision>
  /** How many of them show the party in the market's list. */
  shown: number
  /** The latest position of them all. */
  latest: EventPosition
}

/** Provisions by id, and those of each provider. */
class Provisions {
  readonly #byId = new Map<string, Provision>()
  readonly #byParty = new Map<string, ProviderProvisions>()

  get(id: string): Provision | undefined {
    return this.#byId.get(id)
  }

  /** Adds a provision, or replaces the one with its id, whose event must not be later. */
  put(id: string, provision: Provision): void {
    const replaced = this.#byId.get(id)
    this.#byId.set(id, provision)
    const ofParty = this.#ofParty(provision)
    ofParty.byId.set(id, provision)
    ofParty.shown += Number(isShown(provision))
    ofParty.latest = latest(ofParty.latest, provision.position)
    if (replaced === undefined) return
    const before = this.#byParty.get(replaced.party.key)!
    before.shown -= Number(isShown(replaced))
    // Rare: a provision has moved to another party.
    if (before !== ofParty) {
      before.byId.delete(id)
      const [first, ...others] = [...before.byId.values()].map(({ position }) => position)
      if (first === undefined) this.#byParty.delete(replaced.party.key)
      else before.latest = latest(first, ...others)
    }
  }

  /** The latest position of a party's provisions; undefined if it has none. */
  latestOf(party: Party): EventPosition | undefined {
    return this.#byParty.get(party.key)?.latest
  }

  /** Whether any provision shows a party. */
  show(party: Party): boolean {
    return (this.#byParty.get(party.key)?.shown ?? 0) > 0
  }

  #ofParty({ party: { key }, position }: Provision): ProviderProvisions {
    let provisions = this.#byParty.get(key)
    if (provisions === undefined) {
      provisions = { byId: new Map(), shown: 0, latest: position }
      this.#byParty.set(key, provisions)
    }
    return provisions
  }
}

/** Whether a provision shows its party. One that was imported from before all blocks is in no stream. */
const isShown = ({ isLive, position }: Provision) => isLive && hasBlock(position.height)

/**
 * The stored provisions that matter to these events: theirs, and of each provider that they name, or take a provision from,
 * the live ones and the latest one.
 */
function* readProvisions(events: readonly IdentifiedProvision[]): Mutation<Provisions> {
  const ids = [...new Set(events.map(({ id }) => id))]
  const named = (yield { text: READ_PROVISION, values: ids.map((id) => [id]) }).flat().map(storedProvision)
  const parties = new Map([...named, ...events].map(({ party }) => [party.key, party]))
  const values = [...parties.values()].map(({ marketId, partyId }): Values => [marketId, partyId])
  const live = yield { text: READ_LIVE_PROVISIONS, values }
  const latest = yield { text: READ_LATEST_PROVISION, values }
  const provisions = new Provisions()
  for (const one of [...named, ...[...live, ...latest].flat().map(storedProvision)])
    provisions.put(one.id, one)
  return provisions
}

function storedProvision([id, marketId, partyId, status, ...position]: Row): IdentifiedProvision {
  return {
    id: String(id),
    party: partyOf(String(marketId), String(partyId)),
    isLive: LIVE_STATUSES.includes(Number(status)),
    position: positionOf(position),
  }
}

/** Records the moves that a provision's event causes. `stored` is the provision before it. */
function moveBy(event: Provision, stored: Provision | undefined, provisions: Provisions, moves: Moves): void {
  const last = latest(event.position, provisions.latestOf(event.party))
  const isLate = isBefore(event.position, last)
  if (stored === undefined || stored.party.key === event.party.key) {
    const isAlreadyShown = provisions.show(event.party)
    if (isLate || (event.isLive && !isAlreadyShown)) moves.add(event.party, last)
    return
  }
  // If a provision moves to another party, the first party's position moves too.
  moves.add(event.party, last)
  moves.add(stored.party, latest(event.position, provisions.latestOf(stored.party)))
}

/** The lists of each market in the commit, in the order of their positions. */
type MarketLists = ReadonlyMap<string, readonly PositionedMarketData[]>

/** Writes lists that are newer than the stored one of their market: only rows that differ. */
function* writeLists(lists: MarketLists, moves: Moves): Mutation {
  const { newer, late } = yield* divideLists(lists)
  if (late.length > 0) yield { text: MOVE_TO_LIST, values: late }
  if (newer.size === 0) return
  const storedProviders = yield* readProviders([...newer.keys()])
  const rows: ProviderRow[] = []
  const gone: Values[] = []
  for (const [marketId, ofMarket] of newer) {
    const stored = storedProviders.get(marketId)!
    const changed = changesOf(ofMarket, stored)
    for (const change of changed.rows) {
      const { partyId } = change.provider
      const positions = [stored.get(partyId)?.position, moves.of(partyOf(marketId, partyId))]
      rows.push(providerRow(marketId, change, latest(change.listPosition, ...positions)))
    }
    for (const partyId of changed.gone) gone.push([marketId, partyId])
  }
  if (gone.length > 0) yield { text: DELETE_PROVIDER, values: gone, deletesFrom: providerTable }
  yield {
    table: providerListTable,
    rows: [...newer].map(([marketId, all]) => listRow(marketId, all.at(-1)!)),
  }
  yield { table: providerTable, rows }
}

/**
 * Compares lists with the stored one of their market. `newer` has those that are not before it; `late` has, for each market
 * with a list that is, the values that move its rows to the stored list.
 */
function* divideLists(lists: MarketLists): Mutation<{ newer: MarketLists; late: Values[] }> {
  const markets = [...lists.keys()]
  const storedLists = yield { text: READ_LIST, values: markets.map((marketId): Values => [marketId]) }
  const late: Values[] = []
  const newer = new Map<string, readonly PositionedMarketData[]>()
  for (const [at, marketId] of markets.entries()) {
    const [row] = storedLists[at]!
    const stored = row === undefined ? null : positionOf(row)
    const all = lists.get(marketId)!
    const isLate = (list: EventPosition) => stored !== null && isBefore(list, stored)
    if (all.some((list) => isLate(list) && hasBlock(list.height)))
      late.push([marketId, stored!.height, stored!.index])
    const some = all.filter((list) => !isLate(list))
    if (some.length > 0) newer.set(marketId, some)
  }
  return { newer, late }
}

/** The stored providers of markets, by market and party. */
function* readProviders(
  markets: readonly string[],
): Mutation<ReadonlyMap<string, ReadonlyMap<string, StoredProvider>>> {
  const rows = yield { text: READ_PROVIDERS, values: markets.map((marketId): Values => [marketId]) }
  return new Map(
    markets.map((marketId, at) => [
      marketId,
      new Map(rows[at]!.map((row) => [String(row[0]), storedOf(row)])),
    ]),
  )
}

function providerRow(
  marketId: string,
  { provider: { partyId, feeShare, sla }, listPosition }: ChangedProvider,
  position: EventPosition,
): ProviderRow {
  return {
    market_id: marketId,
    party_id: partyId,
    fee_share: feeShare,
    sla,
    list_height: listPosition.height,
    list_index: listPosition.index,
    height: position.height,
    event_index: position.index,
  }
}

const listRow = (marketId: string, { height, index }: EventPosition) => ({
  market_id: marketId,
  height,
  event_index: index,
})

/** A provider's figures, with the position of the list since which they have not changed. */
type ChangedProvider = { provider: LiquidityProviderRow; listPosition: EventPosition }

/** A stored row: its figures with the position of their list, and the row's own position. */
type StoredProvider = ChangedProvider & { position: EventPosition }

function storedOf([partyId, feeShare, sla, listHeight, listIndex, ...position]: Row): StoredProvider {
  return {
    provider: {
      partyId: String(partyId),
      feeShare: String(feeShare),
      sla: sla === null ? null : String(sla),
    },
    listPosition: positionOf([listHeight!, listIndex!]),
    position: positionOf(position),
  }
}

/**
 * The rows that the last of a market's lists changes, each with the position of the list since which it has not changed.
 * Most rows change with each list, so few lists need to be decoded.
 */
function changesOf(
  lists: readonly PositionedMarketData[],
  stored: ReadonlyMap<string, StoredProvider>,
): { rows: ChangedProvider[]; gone: string[] } {
  const last = lists.at(-1)!
  const since = new Map(
    liquidityProviderRows(last.event).map((provider) => [
      provider.partyId,
      { provider, listPosition: last as EventPosition },
    ]),
  )
  const gone = [...stored.keys()].filter((partyId) => !since.has(partyId))
  let going = [...since.values()]
  for (const list of lists.slice(0, -1).toReversed()) {
    if (going.length === 0) break
    const providers = new Map(liquidityProviderRows(list.event).map((one) => [one.partyId, one]))
    going = going.filter(({ provider }) => isSame(provider, providers.get(provider.partyId)))
    // No follower has received a row without a position.
    if (hasBlock(list.height)) for (const one of going) one.listPosition = list
  }
  for (const { provider } of going) {
    const row = stored.get(provider.partyId)
    if (row !== undefined && hasBlock(row.listPosition.height) && isSame(provider, row.provider))
      since.delete(provider.partyId)
  }
  return { rows: [...since.values()], gone }
}

function isSame(one: LiquidityProviderRow, other: LiquidityProviderRow | undefined): boolean {
  return other !== undefined && one.feeShare === other.feeShare && one.sla === other.sla
}

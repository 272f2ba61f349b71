import { hasBlock, isBefore } from '../../../domain/event-position.ts'
import type { RowOf } from '../../../model/table.ts'
import { provisionTable } from '../../../resources/liquidity-providers/table.ts'
import { readStoreHead } from '../../queries/coverage.ts'
import { positionOf } from '../../queries/unseen/positioned-rows.ts'
import { asMutation, type Mutation, readEach } from '../../queries-protocol.ts'
import { latest, ProviderMoves, partyOf } from './provider-moves.ts'
import {
  type Provision,
  type ProvisionEvent,
  type Provisions,
  provisionEvent,
  readProvisions,
} from './provisions.ts'
import { type MarketLists, writeProviderLists } from './write-provider-lists.ts'

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

const READ_LATER_PROVISIONS = `
  select party_id, cast(height as text), event_index
  from liquidity_provisions where market_id = $1 and (height, event_index) > ($2, $3)`

const MOVE_PROVIDER = `
  update liquidity_providers set height = $3, event_index = $4
  where market_id = $1 and party_id = $2 and (height, event_index) < ($3, $4)`

/** Writes the provisions of a commit, the lists of providers in its market data, and what both change of providers. */
export function* writeProviders(provisions: readonly ProvisionRow[], lists: MarketLists): Mutation {
  const storeHead = BigInt((yield* asMutation(readStoreHead()))?.height ?? 0)
  // Read before the provisions of this commit are written, whose moves are noted one by one.
  const late = [...lists].filter(([, { first }]) => first.height <= storeHead)
  const laterProvisions = yield* readEach(READ_LATER_PROVISIONS, late, ([marketId, { first }]) => [
    marketId,
    first.height,
    first.index,
  ])
  const moves = yield* writeProvisions(provisions, storeHead)
  for (const [[marketId], rows] of laterProvisions) {
    for (const [partyId, ...position] of rows) {
      moves.add(partyOf(marketId, String(partyId)), positionOf(position))
    }
  }
  yield* writeProviderLists(lists, moves)
}

/** Writes provisions, and moves the stored providers that they show. Returns the moves, for rows that are written later. */
function* writeProvisions(rows: readonly ProvisionRow[], storeHead: bigint): Mutation<ProviderMoves> {
  const moves = new ProviderMoves()
  if (rows.length === 0) return moves
  const events = rows.map(provisionEvent)
  const provisions = yield* readProvisions(events, storeHead)
  yield { table: provisionTable, rows }
  events.sort((a, b) => (isBefore(a.position, b.position) ? -1 : 1))
  for (const event of events) {
    const before = provisions.get(event.id)
    // Imported rows that are older than the imported blocks have no position that a follower could see.
    if (hasBlock(event.position.height)) noteMoves(event, before, provisions, moves)
    if (before === undefined || !isBefore(event.position, before.position)) provisions.put(event.id, event)
  }
  yield { text: MOVE_PROVIDER, each: moves.values() }
  return moves
}

/**
 * Notes how an event of a provision moves providers.
 *
 * @param before the provision before the event; undefined if that creates it
 * @param provisions those that matter, before the event
 */
function noteMoves(
  event: ProvisionEvent,
  before: Provision | undefined,
  provisions: Provisions,
  moves: ProviderMoves,
): void {
  const last = latest(event.position, provisions.latestOf(event.party))
  if (before === undefined || before.party.key === event.party.key) {
    const isLate = isBefore(event.position, last)
    const isShownAgain = event.isLive && !provisions.show(event.party)
    if (isLate || isShownAgain) moves.add(event.party, last)
    return
  }
  // If a provision moves to another party, the first party's position moves too.
  moves.add(event.party, last)
  moves.add(before.party, latest(event.position, provisions.latestOf(before.party)))
}

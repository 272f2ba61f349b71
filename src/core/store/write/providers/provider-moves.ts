import { type EventPosition, isBefore } from '../../../domain/event-position.ts'
import type { Cell } from '../../../model/columns.ts'

/** A party of a market. `key` is its key in maps. */
export type Party = { marketId: string; partyId: string; key: string }

/** A party of a market, from the ids of both. */
export function partyOf(marketId: string, partyId: string): Party {
  return { marketId, partyId, key: `${marketId} ${partyId}` }
}

/** The latest of these positions; undefined ones do not count. */
export function latest(
  first: EventPosition,
  ...others: readonly (EventPosition | undefined)[]
): EventPosition {
  return others.reduce<EventPosition>(
    (last, position) => (position === undefined || isBefore(position, last) ? last : position),
    first,
  )
}

/** The positions to which the events of a commit move providers: for each provider the latest one. */
export class ProviderMoves {
  readonly #byParty = new Map<string, { party: Party; position: EventPosition }>()

  add(party: Party, position: EventPosition): void {
    this.#byParty.set(party.key, { party, position: latest(position, this.of(party)) })
  }

  /** The position to which a provider moves; undefined if it does not. */
  of(party: Party): EventPosition | undefined {
    return this.#byParty.get(party.key)?.position
  }

  /** For each move the market, the party, the height and the index. */
  values(): Cell[][] {
    return [...this.#byParty.values()].map(({ party, position }) => [
      party.marketId,
      party.partyId,
      position.height,
      position.index,
    ])
  }
}

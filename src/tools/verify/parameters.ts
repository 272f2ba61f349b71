import type { EventPosition } from '#core/domain/event-position'
import type { FundingParameters, InstrumentEvent } from '#core/events/event'
import { noFunding } from '#core/resources/instruments/decode'

/** The funding parameters of a market, as far as they are known. */
type StandingParameters = {
  parameters: FundingParameters
  /** Whether an event that changed them may be missing: what does not follow from them is then unknown. */
  mayHaveChanged: boolean
}

/** Returns a market's parameters at a position in the stream; null if they are unknown. */
export type ParameterSource = (marketId: string, position: EventPosition) => StandingParameters | null

/** Parameters given by the user: they apply in every market, instead of those of its events. */
export type GivenParameters = Partial<FundingParameters>

/**
 * The parameters of a source, overridden by the given ones. If any is given, every market has parameters: if the source
 * does not know them, the others are empty (no interest, clamps or limits).
 */
export function withGiven(source: ParameterSource, given: GivenParameters): ParameterSource {
  if (Object.keys(given).length === 0) return source
  return (marketId, position) => ({
    parameters: { ...(source(marketId, position)?.parameters ?? noFunding()), ...given },
    mayHaveChanged: false,
  })
}

/** Remembers the parameters of perpetual markets from their events, given in the order of the stream. It throws nothing. */
export class MarketParameters {
  readonly #markets = new Map<string, StandingParameters>()

  /** Takes a market's next event; `mayHaveChanged`: another one near it may be missing. */
  take({ marketId, funding }: InstrumentEvent, mayHaveChanged: boolean): void {
    if (funding === null) this.#markets.delete(marketId)
    else this.#markets.set(marketId, { parameters: funding, mayHaveChanged })
  }

  /** Events are missing here, and market events may be among them. */
  forget(): void {
    for (const standing of this.#markets.values()) standing.mayHaveChanged = true
  }

  /** A market's parameters after the events so far; null if they are unknown. */
  of(marketId: string): StandingParameters | null {
    return this.#markets.get(marketId) ?? null
  }
}

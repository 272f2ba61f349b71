import type { EventPosition } from '#core/domain/event-position'
import type { FundingParameters, InstrumentEvent } from '#core/events/event'
import { noFunding } from '#core/resources/instruments/decode'

/** The funding parameters in the latest event of a market. */
type LatestParameters = {
  parameters: FundingParameters
  /** Whether an event that changed them may be missing: a result that does not agree with them is then unknown. */
  mayHaveChanged: boolean
}

/** Returns a market's parameters at a position in the stream; null if they are unknown. */
export type ParameterSource = (marketId: string, position: EventPosition) => LatestParameters | null

/** Parameters given by the user. They apply to every market, instead of those of its events. */
export type GivenParameters = Partial<FundingParameters>

/**
 * The parameters of a source, replaced by the given ones. If any is given, every market has parameters: if the source does
 * not know them, the others are empty (no interest, clamps or limits).
 */
export function withGiven(source: ParameterSource, given: GivenParameters): ParameterSource {
  if (Object.keys(given).length === 0) return source
  return (marketId, position) => ({
    parameters: { ...(source(marketId, position)?.parameters ?? noFunding()), ...given },
    mayHaveChanged: false,
  })
}

/** The parameters of perpetual markets, from their events in the order of the stream. The methods do not throw. */
export class MarketParameters {
  readonly #markets = new Map<string, LatestParameters>()

  /** Takes the next event of a market; `mayHaveChanged` if another event near it may be missing. */
  take({ marketId, funding }: InstrumentEvent, mayHaveChanged: boolean): void {
    if (funding === null) this.#markets.delete(marketId)
    else this.#markets.set(marketId, { parameters: funding, mayHaveChanged })
  }

  /** Must be called if events are missing that may include market events. */
  forget(): void {
    for (const latest of this.#markets.values()) latest.mayHaveChanged = true
  }

  /** A market's parameters after the events so far; null if they are unknown. */
  of(marketId: string): LatestParameters | null {
    return this.#markets.get(marketId) ?? null
  }
}

import { parseDecimal, textOfDecimal } from '../../../domain/decimal.ts'
import { greatest } from '../../../domain/integers.ts'
import { type EpochSoFar, standingIn } from '../../../domain/provider-standing.ts'
import type { ProviderSla } from '../../../events/event.ts'
import { type MarketTerms, numberOrNull } from './market-terms.ts'
import type { RunningEpoch } from './running-epoch.ts'

/** The standing of a provider, as the API has it; null if what a field follows from is not known (docs/api.md, standing). */
export type Standing = {
  marketId: string
  partyId: string
  epoch: string | null
  epochStart: string | null
  epochExpectedEnd: string | null
  at: string | null
  timeOnBook: string | null
  minimum: string | null
  elapsed: string | null
  ifLeft: string | null
  stillNeeded: string | null
  feePenaltyIfLeft: string | null
  feePenaltyLastEpoch: string | null
}

/**
 * How a provider stands in the running epoch.
 *
 * @param sla null if none is stored: its market does not list it, or lists it without one
 * @param epoch null if none is known
 */
export function standingOf(
  { marketId, partyId }: { marketId: string; partyId: string },
  sla: ProviderSla | null,
  market: MarketTerms,
  epoch: RunningEpoch | null,
): Standing {
  const at = sla === null ? null : market.at
  // Older data are of an epoch before.
  const isOfEpoch = at !== null && epoch?.start != null && at >= epoch.start
  const timeOnBook = isOfEpoch ? numberOrNull(sla?.currentEpochFractionOfTimeOnBook) : null
  // It still runs at the time of the data.
  const expectedEnd =
    epoch?.expectedEnd == null ? null : greatest([epoch.expectedEnd, at ?? epoch.expectedEnd])
  const { elapsed, ifLeft, stillNeeded, feePenaltyIfLeft } = standingIn(
    isOfEpoch && expectedEnd !== null ? epochSoFar(epoch!.start!, at!, expectedEnd, market) : null,
    {
      timeOnBook: decimalOf(timeOnBook),
      earlierPenalties: sla === null ? null : decimalsOf(sla.hysteresisPeriodFeePenalties),
      minimum: decimalOf(market.minimum),
      competitionFactor: decimalOf(market.competitionFactor),
    },
  )
  const textOf = (value: typeof elapsed) => (value === null ? null : textOfDecimal(value))
  return {
    marketId,
    partyId,
    epoch: epoch?.epoch ?? null,
    epochStart: epoch?.start?.toString() ?? null,
    epochExpectedEnd: expectedEnd?.toString() ?? null,
    at: at?.toString() ?? null,
    timeOnBook,
    minimum: market.minimum,
    elapsed: textOf(elapsed),
    ifLeft: textOf(ifLeft),
    stillNeeded: textOf(stillNeeded),
    feePenaltyIfLeft: textOf(feePenaltyIfLeft),
    feePenaltyLastEpoch: numberOrNull(sla?.lastEpochFeePenalty),
  }
}

/** The epoch as a market counts it: from the end of its opening auction on, if that was later. Null while that lasts. */
function epochSoFar(
  start: bigint,
  at: bigint,
  expectedEnd: bigint,
  { isInOpeningAuction, opened }: MarketTerms,
): EpochSoFar | null {
  if (isInOpeningAuction) return null
  const isLater = opened !== null && opened > start && opened <= at
  return { start: isLater ? opened : start, at, expectedEnd }
}

function decimalOf(text: string | null) {
  return text === null ? null : parseDecimal(text)
}

/** Null if one of them is no number. */
function decimalsOf(texts: readonly string[]) {
  const decimals = texts.flatMap((text) => parseDecimal(text) ?? [])
  return decimals.length === texts.length ? decimals : null
}

import { estimateFromTwaps } from '../../funding/estimate.ts'
import { createMarketState } from '../../funding/market-verifier.ts'
import { fundingTerms } from '../../funding/payment.ts'
import { collectPoints } from '../../funding/plain-formula.ts'
import { wholeSecond } from '../../funding/whole-second.ts'
import type { FundingInputs } from '../../store/funding-inputs.ts'
import type { Position } from '../../store/page.ts'

/** What the running period of a market would pay if it ended at the last block's second; all values are texts. */
export type FundingEstimateNode = {
  marketId: string
  seq: string
  start: string
  at: string
  internalTwap: string
  externalTwap: string
  fundingPayment: string
  fundingRate: string
}

/** Makes the estimate of a market's running period (docs/funding.md); null where it does not follow from what is held. */
export function fundingEstimateOf(
  marketId: string,
  { position, inputs }: { position: Position; inputs: FundingInputs | null },
): FundingEstimateNode | null {
  const terms = inputs === null ? null : fundingTerms(inputs.parameters)
  if (inputs === null || terms === null) return null
  const market = createMarketState(collectPoints)
  for (const event of inputs.events) market.take(event)
  const period = market.running()
  if (period === null) return null
  const at = wholeSecond(BigInt(position.timestamp))
  const twaps = { internalTwap: period.internal.meanAt(at), externalTwap: period.external.meanAt(at) }
  const estimate = estimateFromTwaps(period, twaps, at, terms)
  if (estimate === null) return null
  return {
    marketId,
    seq: estimate.seq.toString(),
    start: estimate.start.toString(),
    at: estimate.at.toString(),
    internalTwap: estimate.internalTwap.toString(),
    externalTwap: estimate.externalTwap.toString(),
    fundingPayment: estimate.fundingPayment,
    fundingRate: estimate.fundingRate,
  }
}

import { estimateFromTwaps } from '../../funding/estimate.ts'
import { createMarketState, type MarketVerifier } from '../../funding/market-verifier.ts'
import { fundingTerms } from '../../funding/payment.ts'
import { createSummedPoints, type SummedPoints } from '../../funding/plain-formula.ts'
import { wholeSecond } from '../../funding/whole-second.ts'
import type { FundingInputsAt, KnownInputs } from '../../store/funding-inputs.ts'

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

/** A market's running period as far as its events have been taken. */
export type RunningMarket = { known: KnownInputs; state: MarketVerifier<SummedPoints> }

/** An estimate, and what the market's next one continues from; null where it does not follow from what is held. */
export type MadeEstimate = { node: FundingEstimateNode | null; running: RunningMarket | null }

/**
 * Makes the estimate of a market's running period (docs/funding.md).
 *
 * @param before what an earlier estimate of the market has left
 * @returns null where the inputs continue another one, or a point has come that belongs among those summed up: all
 * inputs are needed
 */
export function fundingEstimateOf(
  marketId: string,
  { version, position, inputs }: FundingInputsAt,
  before: RunningMarket | null,
): MadeEstimate | null {
  const none = { node: null, running: null }
  if (inputs === null) return none
  const { after } = inputs
  if (after !== null && after !== before?.known) return null
  const state = after === null ? createMarketState(createSummedPoints) : before!.state
  for (const event of inputs.events) state.take(event)
  const period = state.running()
  if (period === null) return none
  if (period.internal.isLate || period.external.isLate) return null
  const at = wholeSecond(BigInt(position.timestamp))
  period.internal.sumUp(at)
  period.external.sumUp(at)
  const running = { known: { version, height: BigInt(position.height), ...inputs.period }, state }
  const terms = fundingTerms(inputs.parameters)
  const twaps = { internalTwap: period.internal.meanAt(at), externalTwap: period.external.meanAt(at) }
  const estimate = terms === null ? null : estimateFromTwaps(period, twaps, at, terms)
  if (estimate === null) return { node: null, running }
  const node = {
    marketId,
    seq: estimate.seq.toString(),
    start: estimate.start.toString(),
    at: estimate.at.toString(),
    internalTwap: estimate.internalTwap.toString(),
    externalTwap: estimate.externalTwap.toString(),
    fundingPayment: estimate.fundingPayment,
    fundingRate: estimate.fundingRate,
  }
  return { node, running }
}

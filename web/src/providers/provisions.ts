import { isWhole, missingOf, type OpenRange } from '../service/missing.ts'

/** Provisions of any time may still be live. */
export const ANY_TIME: OpenRange = { from: null, to: null }

/** Whether all provisions are stored, so that a party that is not listed has none. */
export function areProvisionsKnown(): boolean {
  return isWhole(missingOf('liquidityProviders', ANY_TIME))
}

/** Which parties have equity-like shares of a market without being listed. */
export function describeOthers(): string {
  return areProvisionsKnown()
    ? 'parties without a provision, such as AMMs, hold'
    : 'parties of which no provision is stored hold'
}

import type { Row } from '../resources/resource.ts'
import { READ_STATE, type StoreVersion } from './changes.ts'
import { stateOf } from './freshness.ts'
import { type FundingInputsAt, type KnownInputs, readFundingInputs } from './funding-inputs.ts'
import type { Position } from './page.ts'
import type { Statement } from './page-statement.ts'

/** Makes the estimates of running funding periods, and keeps them. All are JSON, or null where there is none. */
export type EstimateMaker = {
  /** The estimate of a market as of a commit, where it has been made; undefined where it has not. */
  kept(marketId: string, version: StoreVersion): string | null | undefined
  /** The inputs that have been taken for the estimate of an earlier commit; null where none can be gone on from. */
  known(marketId: string): KnownInputs | null
  /** Undefined where the inputs do not suffice, although they continue what is known: all of them are wanted. */
  make(marketId: string, at: FundingInputsAt): string | null | undefined
}

/** A market's estimate as JSON, or null where there is none, and the last block of the snapshot. */
export type EstimateAt = { estimate: string | null; position: Position }

/**
 * The statements that gather the estimate of a market's running period, in one snapshot, one after another: each is
 * yielded and wants its rows. Null in an empty store.
 */
export function* readEstimate(
  marketId: string,
  estimates: EstimateMaker,
): Generator<Statement, EstimateAt | null, Row[]> {
  const [found] = yield { text: READ_STATE, values: [] }
  const { version, position } = stateOf(found!)
  if (position === null) return null
  return { estimate: yield* readEstimateOf(marketId, { version, position }, estimates), position }
}

/** The same within a reading that knows its state. What is kept of the commit is taken, or gone on from. */
export function* readEstimateOf(
  marketId: string,
  at: Pick<FundingInputsAt, 'version' | 'position'>,
  estimates: EstimateMaker,
): Generator<Statement, string | null, Row[]> {
  const kept = estimates.kept(marketId, at.version)
  if (kept !== undefined) return kept
  const upTo = BigInt(at.position.height)
  const inputs = yield* readFundingInputs(marketId, estimates.known(marketId), upTo)
  const made = estimates.make(marketId, { ...at, inputs })
  if (made !== undefined) return made
  return estimates.make(marketId, { ...at, inputs: yield* readFundingInputs(marketId, null, upTo) }) ?? null
}

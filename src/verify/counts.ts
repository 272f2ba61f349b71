/** Why nothing can be said of a TWAP. */
export type UnknownReason =
  | 'events missing'
  | 'imported'
  | 'auctions not known'
  | 'points pruned'
  | 'market data not kept'
  | 'message refused'
  | 'source unspecified'

export type Counts = { agree: number; differ: number; unknown: number }

/** Restricts the verification; null: all. */
export type VerifyFilter = { marketId: string | null; seq: bigint | null }

import { encoded, type Message } from '#core/events/byte-writer'
import { assetAmount, isListed, type Provision } from './provisions.ts'
import type { Random } from './random.ts'

/** Maximum bytes of one element of either list. */
const ELEMENT_BYTES = 512

/**
 * A market's providers, and the two lists in its market data as protobuf fields, which are encoded only when they change.
 */
export type ProviderLists = {
  /** Sorted by party, as in the core's lists. */
  provisions: readonly Provision[]
  feeShares: Uint8Array
  slas: Uint8Array
  /** In the asset's decimals. */
  supplied: string
}

/** Empty lists of these providers, which are sorted in place. */
export function createProviderLists(provisions: Provision[]): ProviderLists {
  provisions.sort((a, b) => Buffer.compare(a.party, b.party))
  return { provisions, feeShares: Buffer.alloc(0), slas: Buffer.alloc(0), supplied: '0' }
}

/** Empties both lists, as the core does for a market without providers. */
export function emptyLists(lists: ProviderLists): void {
  lists.feeShares = lists.slas = Buffer.alloc(0)
}

/** Fills both lists anew. A party's rows differ from market to market, and some parties have no SLA yet. */
export function refreshLists(lists: ProviderLists, random: Random): void {
  const listed = lists.provisions.filter(isListed)
  const supplied = listed.reduce((sum, { commitment }) => sum + commitment, 0)
  lists.supplied = listed.length === 0 ? '0' : assetAmount(listed[0]!, supplied)
  const maxBytes = listed.length * ELEMENT_BYTES
  const feeShares = listed.map((provision) => feeShareOf(provision, supplied, random))
  lists.feeShares = encoded({ 26: feeShares }, maxBytes)
  const slas = listed
    .toReversed()
    .flatMap((provision) => (random.onceIn(12) ? [] : [slaMessage(provision, random)]))
  lists.slas = encoded({ 32: slas }, maxBytes)
}

function feeShareOf(provision: Provision, supplied: number, random: Random): Message {
  const { party, commitment } = provision
  return {
    1: party,
    2: (commitment / supplied).toFixed(16),
    3: assetAmount(provision, supplied),
    4: `0.${random.digits(16)}`,
    5: `${assetAmount(provision, commitment + random.below(commitment))}.${random.digits(16)}`,
  }
}

function slaMessage(provision: Provision, random: Random): Message {
  const { party, commitment, lastEpoch } = provision
  const volume = () => assetAmount(provision, commitment + random.below(commitment))
  return {
    1: party,
    2: random.fraction(),
    3: lastEpoch.timeOnBook,
    4: lastEpoch.feePenalty,
    5: lastEpoch.bondPenalty,
    6: Array.from({ length: random.below(4) }, () => random.fraction()),
    7: assetAmount(provision, commitment),
    8: volume(),
    9: volume(),
  }
}

import { ByteWriter } from '../events/byte-writer.ts'
import { assetAmount, isListed, type Provision } from './provisions.ts'
import type { Random } from './random.ts'

/** Room for one element of either list. */
const ELEMENT_BYTES = 512

const FEE_SHARE = 26
const SLA = 32

/** A market's providers, and the two lists of its market data as protobuf fields, kept until they change. */
export type ProviderLists = {
  /** In the order of their parties, as the core lists them. */
  provisions: readonly Provision[]
  feeShares: Uint8Array
  slas: Uint8Array
  /** In the asset's decimals. */
  supplied: string
}

export function createProviderLists(provisions: Provision[]): ProviderLists {
  provisions.sort((a, b) => Buffer.compare(a.party, b.party))
  return { provisions, feeShares: Buffer.alloc(0), slas: Buffer.alloc(0), supplied: '0' }
}

/** Empties both lists, as they are for a market of which the core has no provider. */
export function emptyLists(lists: ProviderLists): void {
  lists.feeShares = Buffer.alloc(0)
  lists.slas = Buffer.alloc(0)
}

/** Fills both lists anew: a party's rows differ from market to market, and some party has no SLA yet. */
export function refreshLists(lists: ProviderLists, random: Random): void {
  const listed = lists.provisions.filter(isListed)
  const supplied = listed.reduce((sum, { commitment }) => sum + commitment, 0)
  lists.supplied = listed.length === 0 ? '0' : assetAmount(listed[0]!, supplied)
  const feeShares = new ByteWriter(listed.length * ELEMENT_BYTES)
  for (const provision of listed) writeFeeShare(feeShares, provision, supplied, random)
  lists.feeShares = Buffer.from(feeShares.take(0))
  const slas = new ByteWriter(listed.length * ELEMENT_BYTES)
  for (const provision of listed.toReversed()) {
    if (!random.onceIn(12)) writeSla(slas, provision, random)
  }
  lists.slas = Buffer.from(slas.take(0))
}

function writeFeeShare(out: ByteWriter, provision: Provision, supplied: number, random: Random): void {
  const { party, commitment } = provision
  const start = out.open(FEE_SHARE)
  out.content(1, party)
  out.text(2, (commitment / supplied).toFixed(16))
  out.text(3, assetAmount(provision, supplied))
  out.text(4, `0.${random.digits(16)}`)
  out.text(5, `${assetAmount(provision, commitment + random.below(commitment))}.${random.digits(16)}`)
  out.close(start)
}

function writeSla(out: ByteWriter, provision: Provision, random: Random): void {
  const { party, commitment, lastEpoch } = provision
  const volume = () => assetAmount(provision, commitment + random.below(commitment))
  const start = out.open(SLA)
  out.content(1, party)
  out.text(2, random.fraction())
  out.text(3, lastEpoch.timeOnBook)
  out.text(4, lastEpoch.feePenalty)
  out.text(5, lastEpoch.bondPenalty)
  for (let i = random.below(4); i > 0; i--) out.text(6, random.fraction())
  out.text(7, assetAmount(provision, commitment))
  out.text(8, volume())
  out.text(9, volume())
  out.close(start)
}

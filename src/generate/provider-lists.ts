import { ByteWriter } from '../events/byte-writer.ts'
import { isListed, type Provision } from './provisions.ts'
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
  supplied: number
}

export function createProviderLists(provisions: Provision[]): ProviderLists {
  provisions.sort((a, b) => Buffer.compare(a.party, b.party))
  return { provisions, feeShares: Buffer.alloc(0), slas: Buffer.alloc(0), supplied: 0 }
}

/** Empties both lists, as they are for a market of which the core has no provider. */
export function emptyLists(lists: ProviderLists): void {
  lists.feeShares = Buffer.alloc(0)
  lists.slas = Buffer.alloc(0)
}

/** Fills both lists anew: a party's rows differ from market to market, and some party has no SLA yet. */
export function refreshLists(lists: ProviderLists, random: Random): void {
  const listed = lists.provisions.filter(isListed)
  lists.supplied = listed.reduce((sum, { commitment }) => sum + commitment, 0)
  const feeShares = new ByteWriter(listed.length * ELEMENT_BYTES)
  for (const provision of listed) writeFeeShare(feeShares, provision, lists.supplied, random)
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
  out.text(3, String(supplied))
  out.text(4, fraction(random))
  out.text(5, `${commitment + random.below(1_000_000)}.${digits(random)}${digits(random)}`)
  out.close(start)
}

function writeSla(out: ByteWriter, { party, commitment }: Provision, random: Random): void {
  const start = out.open(SLA)
  out.content(1, party)
  out.text(2, fraction(random))
  out.text(3, fraction(random))
  out.text(4, fraction(random))
  out.text(5, fraction(random))
  for (let i = random.below(4); i > 0; i--) out.text(6, fraction(random))
  out.text(7, String(commitment))
  out.text(8, String(commitment + random.below(commitment)))
  out.text(9, String(commitment + random.below(commitment)))
  out.close(start)
}

/** A share from 0 to 1 with up to 16 decimals, often exactly 0 or 1. */
function fraction(random: Random): string {
  const choice = random.below(4)
  if (choice === 0) return '0'
  if (choice === 1) return '1'
  return `0.${digits(random)}${digits(random)}`
}

function digits(random: Random): string {
  return String(random.below(100_000_000)).padStart(8, '0')
}

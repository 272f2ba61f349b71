import { MAX_INT64 } from '../../domain/integers.ts'
import { MARKET_IDS } from '../../events/known-ids.ts'
import type { LeftOutSink } from '../../events/left-out.ts'
import { bytesOf, uint, type WireReader } from '../../events/wire-reader.ts'
import type { Arrival } from '../arrival.ts'
import { type PartyAmount, readPartyAmount } from '../party-amounts.ts'

/** A market's payments to its liquidity providers for an epoch, in the smallest unit of its settlement asset. */
export type PaidFeesEvent = {
  kind: 'paid-liquidity-fees'
  marketId: string
  epoch: bigint
  paid: PartyAmount[]
}

export const paidFeesArrival: Arrival<PaidFeesEvent> = {
  kind: 'paid-liquidity-fees',
  numbers: [179],
  decode: decodePaidFees,
  faultOf: ({ marketId, epoch }) => {
    if (marketId === '') return 'invalid market ID'
    return epoch > MAX_INT64 ? 'seq of 2^63 or more' : null
  },
  /** The end of the epoch takes them (liquidity-provider-history/arrival.ts). */
  project: () => {},
}

function decodePaidFees(reader: WireReader, leaveOut: LeftOutSink): PaidFeesEvent {
  const event: PaidFeesEvent = { kind: 'paid-liquidity-fees', marketId: '', epoch: 0n, paid: [] }
  const { end } = reader
  while (reader.at < end) {
    const tag = reader.tag()
    if (tag === bytesOf(1)) event.marketId = reader.id(MARKET_IDS) ?? ''
    else if (tag === uint(3)) event.epoch = reader.uint64()
    else if (tag === bytesOf(5)) readPartyAmount(reader, event.paid, leaveOut)
    else reader.skip(tag)
  }
  return event
}

import { MAX_INT64 } from '../../domain/integers.ts'
import type { LeftOutSink } from '../../events/left-out.ts'
import { marketField, readerOf, uint64Field } from '../../events/message-fields.ts'
import type { WireReader } from '../../events/wire-reader.ts'
import type { Arrival } from '../arrival.ts'
import { type PartyAmount, readPartyAmount } from '../party-amounts.ts'

/** A market's payments to its liquidity providers for an epoch, in the smallest unit of its settlement asset. */
export type PaidFeesEvent = {
  kind: 'paid-liquidity-fees'
  marketId: string
  epoch: bigint
  paid: PartyAmount[]
}

const readPaidFees = readerOf<PaidFeesEvent, LeftOutSink>(
  { marketId: marketField(1), epoch: uint64Field(3) },
  { 5: (reader, { paid }, leaveOut) => readPartyAmount(reader, paid, leaveOut) },
)

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
  return readPaidFees(reader, { kind: 'paid-liquidity-fees', marketId: '', epoch: 0n, paid: [] }, leaveOut)
}

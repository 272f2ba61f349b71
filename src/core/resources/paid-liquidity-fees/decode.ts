import { MAX_INT64 } from '../../domain/integers.ts'
import type { DecodedEvent } from '../../events/event.ts'
import type { LeftOutReason, LeftOutSink } from '../../events/left-out.ts'
import { marketField, readerOf, uint64Field } from '../../events/message-fields.ts'
import type { WireReader } from '../../events/wire-reader.ts'
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

/** Decodes the reader's `PaidLiquidityFeesStats`. */
export function decodePaidFees(reader: WireReader, leaveOut: LeftOutSink): PaidFeesEvent {
  return readPaidFees(reader, { kind: 'paid-liquidity-fees', marketId: '', epoch: 0n, paid: [] }, leaveOut)
}

/** Why an event is left out; null if it is stored. */
export function faultOfPaidFees({ marketId, epoch }: PaidFeesEvent): LeftOutReason | null {
  if (marketId === '') return 'invalid market ID'
  return epoch > MAX_INT64 ? 'seq of 2^63 or more' : null
}

/** Whether an event is of paid liquidity fees. */
export function isPaidFees(event: DecodedEvent): event is PaidFeesEvent {
  return event.kind === 'paid-liquidity-fees'
}

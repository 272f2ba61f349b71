import { canonicalId } from '../../domain/ids.ts'
import { MAX_INT64 } from '../../domain/integers.ts'
import {
  isKey,
  isStorable,
  isStorableNumber,
  type LeftOutReason,
  type LeftOutSink,
  MAX_TEXT_LENGTH,
  numberFault,
} from '../../events/left-out.ts'
import {
  marketField,
  optional,
  partyField,
  readerOf,
  textField,
  uint64Field,
} from '../../events/message-fields.ts'
import type { WireReader } from '../../events/wire-reader.ts'
import { keepPartyAmount, type PartyAmount } from '../party-amounts.ts'

/** What a party was paid: `quantumAmount` is any text, mostly empty. */
type PaidFee = PartyAmount & { quantumAmount: string }

/** A market's payments to its liquidity providers for an epoch, in the smallest unit of its settlement asset. */
export type PaidFeesEvent = {
  kind: 'paid-liquidity-fees'
  marketId: string
  assetId: string
  epoch: bigint
  /** Null if the event did not set it. */
  total: string | null
  paid: PaidFee[]
}

const readPaidFee = readerOf<PaidFee>({
  partyId: partyField(1),
  amount: textField(2),
  quantumAmount: textField(3),
})

const readPaidFees = readerOf<PaidFeesEvent, LeftOutSink>(
  {
    marketId: marketField(1),
    assetId: textField(2),
    epoch: uint64Field(3),
    total: optional(textField(4)),
  },
  {
    5: (reader, { paid }, leaveOut) =>
      keepPaidFee(paid, readPaidFee(reader, { partyId: '', amount: '', quantumAmount: '' }), leaveOut),
  },
)

/** Decodes the reader's `PaidLiquidityFeesStats`. */
export function decodePaidFees(reader: WireReader, leaveOut: LeftOutSink): PaidFeesEvent {
  const absent = { marketId: '', assetId: '', epoch: 0n, total: null, paid: [] }
  const event = readPaidFees(reader, { kind: 'paid-liquidity-fees', ...absent }, leaveOut)
  event.assetId = canonicalId(event.assetId)
  return event
}

/** Adds an element to a list, unless a part of it cannot be stored: `leaveOut` is then called. */
export function keepPaidFee(fees: PaidFee[], fee: PaidFee, leaveOut: LeftOutSink): void {
  if (fee.quantumAmount.length > MAX_TEXT_LENGTH) leaveOut('text of more than 1,024 characters')
  else if (!isStorable(fee.quantumAmount)) leaveOut('text that cannot be kept')
  else keepPartyAmount(fees, fee, leaveOut)
}

/** Why an event is left out; null if it is stored. */
export function faultOfPaidFees({ marketId, assetId, epoch, total }: PaidFeesEvent): LeftOutReason | null {
  if (marketId === '') return 'invalid market ID'
  if (!isKey(assetId)) return 'invalid asset ID'
  if (epoch > MAX_INT64) return 'seq of 2^63 or more'
  if (total === null || isStorableNumber(total)) return null
  return numberFault(total, 'payment or rate is not a decimal number')
}

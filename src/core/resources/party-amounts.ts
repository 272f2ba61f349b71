import { isStorableNumber, type LeftOutSink, numberFault } from '../events/left-out.ts'
import { partyField, readerOf, textField } from '../events/message-fields.ts'
import type { WireReader } from '../events/wire-reader.ts'

/** A party's payment or receipt: an element of a list in an event. */
export type PartyAmount = { partyId: string; amount: string }

const readAmount = readerOf<PartyAmount>({ partyId: partyField(1), amount: textField(2) })

/** A list that elements are added to. */
export type PartyAmounts = { push(element: PartyAmount): unknown }

/** Reads an element into a list; one whose party is malformed, or whose amount cannot be kept, is left out. */
export function readPartyAmount(reader: WireReader, amounts: PartyAmounts, leaveOut: LeftOutSink): void {
  keepPartyAmount(amounts, readAmount(reader, { partyId: '', amount: '' }), leaveOut)
}

export function keepPartyAmount(amounts: PartyAmounts, element: PartyAmount, leaveOut: LeftOutSink): void {
  const { partyId, amount } = element
  if (partyId === '') leaveOut('invalid party ID')
  else if (!isStorableNumber(amount)) leaveOut(numberFault(amount, 'payment or rate is not a decimal number'))
  else amounts.push(element)
}

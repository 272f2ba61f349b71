import { isStorableNumber, type LeftOutSink, numberFault } from '../events/left-out.ts'
import { partyField, readerOf, textField } from '../events/message-fields.ts'
import type { WireReader } from '../events/wire-reader.ts'

/** An element of a list in an event: what a party pays or receives. */
export type PartyAmount = { partyId: string; amount: string }

const readAmount = readerOf<PartyAmount>({ partyId: partyField(1), amount: textField(2) })

/** A list to which elements are added. */
export type PartyAmounts = { push(element: PartyAmount): unknown }

/** Reads an element into a list. It is left out if its party is malformed, or its amount cannot be stored. */
export function readPartyAmount(reader: WireReader, amounts: PartyAmounts, leaveOut: LeftOutSink): void {
  keepPartyAmount(amounts, readAmount(reader, { partyId: '', amount: '' }), leaveOut)
}

/** Adds an element to a list, unless its party is malformed or its amount cannot be stored: `leaveOut` is then called. */
export function keepPartyAmount(amounts: PartyAmounts, element: PartyAmount, leaveOut: LeftOutSink): void {
  const { partyId, amount } = element
  if (partyId === '') leaveOut('invalid party ID')
  else if (!isStorableNumber(amount)) leaveOut(numberFault(amount, 'payment or rate is not a decimal number'))
  else amounts.push(element)
}

import { PARTY_IDS } from '../events/known-ids.ts'
import { isKeptNumber, type LeftOutSink, numberFault } from '../events/left-out.ts'
import { bytesOf, type WireReader } from '../events/wire-reader.ts'

/** A party's payment or receipt: an element of a list in an event. */
export type PartyAmount = { partyId: string; amount: string }

/** Reads the element that begins here into a list; one whose party is malformed, or whose amount cannot be kept, is left out. */
export function readPartyAmount(reader: WireReader, amounts: PartyAmount[], leaveOut: LeftOutSink): void {
  const element: PartyAmount = { partyId: '', amount: '' }
  const outerEnd = reader.end
  reader.enter()
  while (reader.at < reader.end) {
    const tag = reader.tag()
    if (tag === bytesOf(1)) element.partyId = reader.id(PARTY_IDS) ?? ''
    else if (tag === bytesOf(2)) element.amount = reader.text()
    else reader.skip(tag)
  }
  reader.leave(outerEnd)
  keepPartyAmount(amounts, element, leaveOut)
}

export function keepPartyAmount(amounts: PartyAmount[], element: PartyAmount, leaveOut: LeftOutSink): void {
  const { partyId, amount } = element
  if (partyId === '') leaveOut('invalid party ID')
  else if (!isKeptNumber(amount)) leaveOut(numberFault(amount, 'payment or rate is not a decimal number'))
  else amounts.push(element)
}

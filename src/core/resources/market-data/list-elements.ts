import { PARTY_ID } from '../../domain/ids.ts'
import type { FeeShare, ProviderSla } from '../../events/event.ts'
import {
  isStorable,
  type LeftOutReason,
  type LeftOutSink,
  MAX_NUMBER_LENGTH,
  MAX_PENALTIES,
} from '../../events/left-out.ts'
import { readerOf, textField } from '../../events/message-fields.ts'
import { bytesOf } from '../../events/wire-reader.ts'

/** The penalties of a provider's SLA, the only repeated field. */
export const PENALTIES = bytesOf(6)

/** Reads an element of a market's list of fee shares into `element`. */
export const readFeeShare = readerOf<FeeShare>({
  party: textField(1),
  equityLikeShare: textField(2),
  averageEntryValuation: textField(3),
  averageScore: textField(4),
  virtualStake: textField(5),
})

/** Reads an element of a market's list of SLAs into `element`. */
export const readSla = readerOf<ProviderSla>({
  party: textField(1),
  currentEpochFractionOfTimeOnBook: textField(2),
  lastEpochFractionOfTimeOnBook: textField(3),
  lastEpochFeePenalty: textField(4),
  lastEpochBondPenalty: textField(5),
  hysteresisPeriodFeePenalties: {
    tag: PENALTIES,
    initial: [],
    read: (reader, known) => {
      known.push(reader.text())
      return known
    },
  },
  requiredLiquidity: textField(7),
  notionalVolumeBuys: textField(8),
  notionalVolumeSells: textField(9),
})

/** Adds an element to its list. Only the element is left out if its party is malformed, or its numbers cannot be stored. */
export function keepElement<T extends FeeShare | ProviderSla>(
  list: T[],
  element: T,
  leaveOut: LeftOutSink,
): void {
  if (!PARTY_ID.test(element.party)) {
    leaveOut('invalid party ID')
    return
  }
  const fault = faultOfElement(element)
  if (fault !== null) {
    leaveOut(fault)
    return
  }
  element.party = element.party.toLowerCase()
  list.push(element)
}

/** Why an element cannot be stored; null if it can. */
function faultOfElement(element: FeeShare | ProviderSla): LeftOutReason | null {
  for (const value of Object.values(element)) {
    if (Array.isArray(value) && value.length > MAX_PENALTIES) return 'more than 1,024 penalties in a list'
    for (const text of Array.isArray(value) ? value : [value]) {
      if (text.length > MAX_NUMBER_LENGTH) return 'number of more than 256 characters'
      if (!isStorable(text)) return 'text that cannot be kept'
    }
  }
  return null
}

/** A fee share whose texts are all empty. The order of its fields is that of answers. */
export function noFeeShare(): FeeShare {
  return {
    party: '',
    equityLikeShare: '',
    averageEntryValuation: '',
    averageScore: '',
    virtualStake: '',
  }
}

/** As {@link noFeeShare}. */
export function noSla(): ProviderSla {
  return {
    party: '',
    currentEpochFractionOfTimeOnBook: '',
    lastEpochFractionOfTimeOnBook: '',
    lastEpochFeePenalty: '',
    lastEpochBondPenalty: '',
    hysteresisPeriodFeePenalties: [],
    requiredLiquidity: '',
    notionalVolumeBuys: '',
    notionalVolumeSells: '',
  }
}

import { PARTY_ID } from '#core/domain/ids'
import type { LiquidityProvisionEvent, ProvisionStatus } from '#core/events/event'
import { keepPaidFee, type PaidFeesEvent } from '#core/resources/paid-liquidity-fees-stats/decode'
import { faultOf } from '#core/resources/projections'
import { idOf } from '../reference-values.ts'
import type { SourceRow } from '../source.ts'
import {
  type LeftOutRows,
  marketOf,
  naturalOf,
  numberIn,
  parsedList,
  partyOf,
  rowUnlessFault,
  textOrEmpty,
} from './row-values.ts'

const PROVISION_STATUSES = [
  'STATUS_UNSPECIFIED',
  'STATUS_ACTIVE',
  'STATUS_STOPPED',
  'STATUS_CANCELLED',
  'STATUS_REJECTED',
  'STATUS_UNDEPLOYED',
  'STATUS_PENDING',
]

/** A liquidity provision. */
export function provisionOf(row: SourceRow, leaveOut: LeftOutRows): LiquidityProvisionEvent | null {
  const [id, party, market, status] = row
  const event: LiquidityProvisionEvent = {
    kind: 'liquidity-provision',
    provisionId: idOf(id ?? null),
    marketId: marketOf(market),
    partyId: partyOf(party),
    status: numberIn(PROVISION_STATUSES, status) as ProvisionStatus,
  }
  return rowUnlessFault(event, faultOf(event), leaveOut)
}

/** The fees that a market paid to its providers for an epoch. Single parties may be left out. */
export function paidFeesOf(row: SourceRow, leaveOut: LeftOutRows): PaidFeesEvent | null {
  const [market, asset, epoch, total, parties] = row
  const event: PaidFeesEvent = {
    kind: 'paid-liquidity-fees',
    marketId: marketOf(market),
    assetId: idOf(asset ?? null),
    epoch: naturalOf(epoch),
    total: total ?? null,
    paid: [],
  }
  const fees = parsedList(parties)
  const fault = faultOf(event) ?? (fees === null ? 'invalid JSON' : null)
  if (fault !== null) return rowUnlessFault(null, fault, leaveOut)
  for (const { party, amount, quantumAmount } of fees!) {
    const partyId = PARTY_ID.test(textOrEmpty(party)) ? textOrEmpty(party).toLowerCase() : ''
    const fee = { partyId, amount: textOrEmpty(amount), quantumAmount: textOrEmpty(quantumAmount) }
    keepPaidFee(event.paid, fee, leaveOut)
  }
  return event
}

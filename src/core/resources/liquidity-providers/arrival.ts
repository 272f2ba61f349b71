import { EVENT_KIND } from '../../events/bus-event.ts'
import type { LiquidityProvisionEvent, ProvisionStatus } from '../../events/event.ts'
import { MARKET_IDS, PARTY_IDS } from '../../events/known-ids.ts'
import { isKey, type LeftOutReason } from '../../events/left-out.ts'
import { bytesOf, uint, type WireReader } from '../../events/wire-reader.ts'
import type { Arrival } from '../arrival.ts'
import { put } from '../batch.ts'
import { provisionTable } from './table.ts'

export const provisionArrival: Arrival<LiquidityProvisionEvent> = {
  kind: 'liquidity-provision',
  numbers: [EVENT_KIND.liquidityProvision],
  decode: decodeProvision,
  faultOf: faultOfProvision,
  /** A provision's latest status counts. */
  project: (batch, { provisionId, marketId, partyId, status }, { height, index }) => {
    put(batch, provisionTable, {
      provision_id: provisionId,
      market_id: marketId,
      party_id: partyId,
      status,
      height,
      event_index: index,
    })
  },
}

function decodeProvision(reader: WireReader): LiquidityProvisionEvent {
  let provisionId = ''
  let partyId = ''
  let marketId = ''
  let status = 0
  while (reader.at < reader.end) {
    const tag = reader.tag()
    if (tag === bytesOf(1)) provisionId = reader.text()
    else if (tag === bytesOf(2)) partyId = reader.id(PARTY_IDS) ?? ''
    else if (tag === bytesOf(5)) marketId = reader.id(MARKET_IDS) ?? ''
    else if (tag === uint(11)) status = reader.uint32()
    else reader.skip(tag)
  }
  const event: LiquidityProvisionEvent = {
    kind: 'liquidity-provision',
    provisionId: provisionId.toLowerCase(),
    marketId,
    partyId,
    status: status as ProvisionStatus,
  }
  return event
}

/** Why a provision is left out, whatever source it is from; null if it is kept. Ids that are none are `""`. */
function faultOfProvision(event: LiquidityProvisionEvent): LeftOutReason | null {
  if (event.marketId === '') return 'invalid market ID'
  if (event.partyId === '') return 'invalid party ID'
  if (event.status > 6) return 'unknown provision status'
  return isKey(event.provisionId) ? null : 'text that cannot be kept'
}

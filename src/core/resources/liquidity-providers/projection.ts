import { EVENT_KIND } from '../../events/bus-event.ts'
import type { LiquidityProvisionEvent } from '../../events/event.ts'
import { isKey, type LeftOutReason } from '../../events/left-out.ts'
import { decoderOf, marketField, partyField, textField, uint32Field } from '../../events/message-fields.ts'
import type { WireReader } from '../../events/wire-reader.ts'
import { put } from '../../model/batch.ts'
import type { Projection } from '../../model/projection.ts'
import { LAST_STATUS, provisionTable } from './table.ts'

const decodeFields = decoderOf<LiquidityProvisionEvent>(
  { kind: 'liquidity-provision' },
  { provisionId: textField(1), partyId: partyField(2), marketId: marketField(5), status: uint32Field(11) },
)

/** A provision, whose status decides whether its party is listed. */
export const provisionProjection: Projection<LiquidityProvisionEvent> = {
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
  const event = decodeFields(reader)
  event.provisionId = event.provisionId.toLowerCase()
  return event
}

/** Why a provision is left out, from whatever source; null if it is stored. Invalid ids arrive as `""`. */
function faultOfProvision(event: LiquidityProvisionEvent): LeftOutReason | null {
  if (event.marketId === '') return 'invalid market ID'
  if (event.partyId === '') return 'invalid party ID'
  if (event.status > LAST_STATUS) return 'unknown provision status'
  return isKey(event.provisionId) ? null : 'text that cannot be kept'
}

import type { EventPosition } from '../../domain/event-position.ts'
import { type Batch, put } from '../../model/batch.ts'
import { onOneLine } from '../../model/node-json.ts'
import type { Projection } from '../../model/projection.ts'
import { putFeesWithoutEnd } from '../liquidity-provider-history/projection.ts'
import { decodePaidFees, faultOfPaidFees, type PaidFeesEvent } from './decode.ts'
import { paidFeesPartyTable, paidFeesStatsTable } from './table.ts'

/** What a market paid to its liquidity providers for an epoch: a row. It may also add rows of provider history. */
export const paidFeesProjection: Projection<PaidFeesEvent> = {
  kind: 'paid-liquidity-fees',
  numbers: [179],
  decode: decodePaidFees,
  faultOf: faultOfPaidFees,
  project: (batch, event, position, block, at) => {
    putStats(batch, event, position)
    putFeesWithoutEnd(batch, event, position, block, at)
  },
}

function putStats(
  batch: Batch,
  { marketId, assetId, epoch, total, paid }: PaidFeesEvent,
  { height, index }: EventPosition,
): void {
  const key = { market_id: marketId, asset_id: assetId, reverse_epoch: -epoch, height, event_index: index }
  const elements = paid.map(({ partyId, amount, quantumAmount }) => ({
    party: partyId,
    amount,
    quantumAmount,
  }))
  put(batch, paidFeesStatsTable, {
    ...key,
    epoch,
    total_fees_paid: total ?? '',
    fees_paid_per_party: onOneLine(JSON.stringify(elements)),
  })
  for (const party_id of new Set(paid.map(({ partyId }) => partyId)))
    put(batch, paidFeesPartyTable, { ...key, party_id })
}

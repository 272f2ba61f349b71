import {
  integer,
  jsonList,
  keyText,
  marketId,
  natural,
  numberText,
  partyId,
  positionColumns,
} from '../../model/columns.ts'
import { defineTable } from '../../model/table.ts'

/** The key of an event: the list is sorted by market and asset, and then by epoch, descending. */
const KEY_COLUMNS = {
  market_id: marketId(),
  asset_id: keyText(),
  /** The epoch with its sign reversed, so that all columns of the key are ascending. */
  reverse_epoch: integer(),
  ...positionColumns,
}

const KEY = ['market_id', 'asset_id', 'reverse_epoch', 'height', 'event_index'] as const

/** A row for each event, in whatever block. The fees are the JSON that answers contain. */
export const paidFeesStatsTable = defineTable({
  name: 'paid_liquidity_fees_stats',
  counted: 'paidLiquidityFeesStats',
  columns: {
    ...KEY_COLUMNS,
    epoch: natural(),
    /** Empty if the event did not set it. */
    total_fees_paid: numberText(),
    fees_paid_per_party: jsonList(),
  },
  key: KEY,
  goesWithBlock: true,
  distribution: 'nowhere',
  faultsOf: ({ epoch, reverse_epoch }) =>
    BigInt(epoch!) === -BigInt(reverse_epoch!)
      ? []
      : [`epoch ${epoch} is not the reverse of ${reverse_epoch}`],
})

/** The parties that an event names, by which rows are found. */
export const paidFeesPartyTable = defineTable({
  name: 'paid_liquidity_fees_stats_parties',
  columns: { ...KEY_COLUMNS, party_id: partyId() },
  key: [...KEY, 'party_id'],
  goesWithBlock: true,
  distribution: 'nowhere',
})

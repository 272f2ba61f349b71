import {
  decimal,
  integer,
  marketId,
  natural,
  partyId,
  positionColumns,
  sumText,
} from '../../model/columns.ts'
import { defineTable } from '../../model/table.ts'

/** The losses are in the same block as the payment, so they share its position. */
export const fundingPaymentTable = defineTable({
  name: 'funding_payments',
  counted: 'fundingPayments',
  pruned: { time: 'timestamp', height: 'height' },
  columns: {
    market_id: marketId(),
    party_id: partyId(),
    seq: natural(),
    timestamp: integer(),
    amount: decimal(),
    loss_amount: decimal(),
    ...positionColumns,
  },
  key: ['market_id', 'party_id', 'seq'],
  goesWithBlock: true,
  alsoChanges: 'daily sums',
  distribution: 'market_id',
})

/**
 * Between which times there have been payments of a period, by whichever events: a payment that is written again may move to
 * another day.
 */
export const paymentSpanTable = defineTable({
  name: 'funding_payment_spans',
  columns: {
    market_id: marketId(),
    seq: natural(),
    first_timestamp: integer('least'),
    last_timestamp: integer('greatest'),
  },
  key: ['market_id', 'seq'],
  isDerived: true,
  distribution: 'market_id',
})

/**
 * The sums of a party's payments of a day in a market, which follow from the payments (store/write/write-daily-sums.ts). The day
 * of the newest payment of all markets has none yet, and days that pruning has reached have none any more.
 */
export const dailySumTable = defineTable({
  name: 'funding_daily_sums',
  columns: {
    market_id: marketId(),
    /** A UTC day, counted from 1970-01-01 on. */
    day: integer(),
    party_id: partyId(),
    payments: natural(),
    received: sumText(),
    paid: sumText(),
    loss_amount: sumText(),
  },
  key: ['market_id', 'day', 'party_id'],
  isDerived: true,
  distribution: 'market_id',
})

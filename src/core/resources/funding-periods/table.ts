import {
  decimal,
  integer,
  line,
  marketId,
  natural,
  orNull,
  positionColumns,
  small,
} from '../../model/columns.ts'
import { defineTable } from '../../model/table.ts'

/** The start is that of the earliest event, all else is from the latest one. */
export const fundingPeriodTable = defineTable({
  name: 'funding_periods',
  counted: 'fundingPeriods',
  columns: {
    market_id: marketId(),
    seq: natural(),
    start_timestamp: integer('earliest'),
    start_height: natural('earliest'),
    start_index: small(2 ** 31 - 1, 'earliest'),
    end_timestamp: orNull(integer()),
    funding_payment: orNull(line()),
    funding_rate: orNull(line()),
    internal_twap: orNull(decimal()),
    external_twap: orNull(decimal()),
    ...positionColumns,
  },
  key: ['market_id', 'seq'],
  distribution: 'market_id',
})

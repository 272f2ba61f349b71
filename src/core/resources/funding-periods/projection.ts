import type { EventPosition } from '../../domain/event-position.ts'
import { MAX_INT64 } from '../../domain/integers.ts'
import { EVENT_KIND } from '../../events/bus-event.ts'
import type { FundingPeriodEvent } from '../../events/event.ts'
import { isStorable, isStorableNumber, type LeftOutReason, numberFault } from '../../events/left-out.ts'
import {
  decoderOf,
  int64Field,
  marketField,
  optional,
  textField,
  uint64Field,
} from '../../events/message-fields.ts'
import { type Batch, put } from '../../model/batch.ts'
import type { Projection } from '../../model/projection.ts'
import { fundingPeriodTable } from './table.ts'

const decodeFundingPeriod = decoderOf<FundingPeriodEvent>(
  { kind: 'funding-period' },
  {
    marketId: marketField(1),
    seq: uint64Field(2),
    start: int64Field(3),
    end: optional(int64Field(4)),
    fundingPayment: optional(textField(5)),
    fundingRate: optional(textField(6)),
    internalTwap: optional(textField(7)),
    externalTwap: optional(textField(8)),
  },
)

/** A funding period, as of its beginning or its end. */
export const fundingPeriodProjection: Projection<FundingPeriodEvent> = {
  kind: 'funding-period',
  numbers: [EVENT_KIND.fundingPeriod],
  decode: decodeFundingPeriod,
  faultOf: faultOfFundingPeriod,
  /**
   * A period's start is that of its earliest event. All other values are those of its latest event, also those that it does
   * not set.
   */
  project: (batch, event, position) => putFundingPeriod(batch, event, position, position),
}

/** Adds a period to a batch, with the positions of its earliest and its latest event. */
export function putFundingPeriod(
  batch: Batch,
  event: FundingPeriodEvent,
  first: EventPosition,
  last: EventPosition,
): void {
  put(batch, fundingPeriodTable, {
    market_id: event.marketId,
    seq: event.seq,
    start_timestamp: event.start,
    start_height: first.height,
    start_index: first.index,
    end_timestamp: event.end,
    funding_payment: event.fundingPayment,
    funding_rate: event.fundingRate,
    internal_twap: event.internalTwap,
    external_twap: event.externalTwap,
    height: last.height,
    event_index: last.index,
  })
}

/** Why a period is left out, from whatever source; null if it is stored. An invalid id arrives as `""`. */
function faultOfFundingPeriod(event: FundingPeriodEvent): LeftOutReason | null {
  if (event.marketId === '') return 'invalid market ID'
  if (event.seq > MAX_INT64) return 'seq of 2^63 or more'
  for (const twap of [event.internalTwap, event.externalTwap]) {
    if (twap !== null && !isStorableNumber(twap)) return numberFault(twap, 'twap is not a decimal number')
  }
  for (const text of [event.fundingPayment, event.fundingRate]) {
    if (text === null || isStorableNumber(text)) continue
    if (!isStorable(text)) return 'text that cannot be kept'
    return numberFault(text, 'payment or rate is not a decimal number')
  }
  return null
}

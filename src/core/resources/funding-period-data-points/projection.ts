import { MAX_INT64 } from '../../domain/integers.ts'
import { EVENT_KIND } from '../../events/bus-event.ts'
import { MARKET_IDS } from '../../events/cached-ids.ts'
import type { DataPointSource, FundingPeriodDataPointEvent } from '../../events/event.ts'
import { isStorableNumber, type LeftOutReason, numberFault } from '../../events/left-out.ts'
import { bytesOf, uint, type WireReader } from '../../events/wire-reader.ts'
import { put } from '../../model/batch.ts'
import type { Projection } from '../../model/projection.ts'
import { dataPointTable } from './table.ts'

/** A price from a source within a funding period, which is a row. */
export const dataPointProjection: Projection<FundingPeriodDataPointEvent> = {
  kind: 'funding-period-data-point',
  numbers: [EVENT_KIND.fundingPeriodDataPoint],
  decode: decodeDataPoint,
  faultOf: faultOfDataPoint,
  /** Every data point is stored. */
  project: (batch, { marketId, source, timestamp, seq, price, twap }, { height, index }) => {
    put(batch, dataPointTable, {
      market: marketId,
      source,
      timestamp,
      seq,
      price,
      twap,
      height,
      event_index: index,
    })
  },
}

/** Written by hand: most events are data points, and a table of fields (events/message-fields.ts) is slower. */
function decodeDataPoint(reader: WireReader): FundingPeriodDataPointEvent {
  let marketId = ''
  let seq = 0n
  let source = 0
  let price = ''
  let timestamp = 0n
  let twap = ''
  while (reader.at < reader.end) {
    const tag = reader.tag()
    if (tag === bytesOf(1)) marketId = reader.id(MARKET_IDS) ?? ''
    else if (tag === uint(2)) seq = reader.uint64()
    else if (tag === uint(3)) source = reader.uint32()
    else if (tag === bytesOf(4)) price = reader.text()
    else if (tag === uint(6)) timestamp = reader.int64()
    else if (tag === bytesOf(7)) twap = reader.text()
    else reader.skip(tag)
  }
  return {
    kind: 'funding-period-data-point',
    marketId,
    seq,
    source: source as DataPointSource,
    price,
    timestamp,
    twap,
  }
}

/** Why a data point is left out, from whatever source; null if it is stored. An invalid id arrives as `""`. */
function faultOfDataPoint(event: FundingPeriodDataPointEvent): LeftOutReason | null {
  const { marketId, seq, source, price, twap } = event
  if (marketId === '') return 'invalid market ID'
  if (seq > MAX_INT64) return 'seq of 2^63 or more'
  if (source > 2) return 'unknown source'
  if (!isStorableNumber(price)) return numberFault(price, 'price is not a decimal number')
  return isStorableNumber(twap) ? null : numberFault(twap, 'twap is not a decimal number')
}

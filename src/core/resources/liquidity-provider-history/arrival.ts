import { MAX_INT64 } from '../../domain/integers.ts'
import type { DecodedEvent, MarketDataEvent } from '../../events/event.ts'
import { uint, type WireReader } from '../../events/wire-reader.ts'
import type { Arrival } from '../arrival.ts'
import { put } from '../batch.ts'
import { historyTable } from './table.ts'

/** `EpochEvent.Action`. */
const END = 2

/** The end of an epoch of the network. */
export type EpochEndEvent = { kind: 'epoch-end'; seq: bigint }

export const epochEndArrival: Arrival<EpochEndEvent> = {
  kind: 'epoch-end',
  numbers: [131],
  decode: decodeEpochEnd,
  faultOf: ({ seq }) => (seq > MAX_INT64 ? 'seq of 2^63 or more' : null),
  /** The first data of each market after it in its block say how the market's providers did. */
  project: (batch, { seq: epoch }, { height, index }, { timestamp, events }, at) => {
    const markets = new Set<string>()
    for (let next = at + 1; next < events.length; next++) {
      const { event } = events[next]!
      if (event.kind === 'epoch-end') return
      if (!isMarketData(event) || markets.has(event.marketId)) continue
      markets.add(event.marketId)
      const shares = new Map(event.feeShares.map((share) => [share.party, share.equityLikeShare]))
      for (const sla of event.slas) {
        put(batch, historyTable, {
          market_id: event.marketId,
          party_id: sla.party,
          epoch,
          timestamp,
          time_on_book: sla.lastEpochFractionOfTimeOnBook,
          fee_penalty: sla.lastEpochFeePenalty,
          bond_penalty: sla.lastEpochBondPenalty,
          required_liquidity: sla.requiredLiquidity,
          equity_like_share: shares.get(sla.party) ?? null,
          height,
          event_index: index,
        })
      }
    }
  },
}

function isMarketData(event: DecodedEvent): event is MarketDataEvent {
  return event.kind === 'market-data'
}

/** Of a beginning nothing is kept. */
function decodeEpochEnd(reader: WireReader): EpochEndEvent | null {
  const event: EpochEndEvent = { kind: 'epoch-end', seq: 0n }
  let action = 0
  while (reader.at < reader.end) {
    const tag = reader.tag()
    if (tag === uint(1)) event.seq = reader.uint64()
    else if (tag === uint(2)) action = reader.uint32()
    else reader.skip(tag)
  }
  return action === END ? event : null
}

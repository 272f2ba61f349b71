import { MAX_INT64 } from '../../domain/integers.ts'
import type { DecodedEvent, MarketDataEvent, ProviderSla } from '../../events/event.ts'
import { decoderOf, uint32Field, uint64Field } from '../../events/message-fields.ts'
import type { WireReader } from '../../events/wire-reader.ts'
import { put } from '../../model/batch.ts'
import type { Projection } from '../../model/projection.ts'
import {
  decodePaidFees,
  faultOfPaidFees,
  isPaidFees,
  type PaidFeesEvent,
} from '../paid-liquidity-fees/decode.ts'
import { paidFeesTable } from '../paid-liquidity-fees/table.ts'
import { historyTable, NO_FIGURES } from './table.ts'

/** `EpochEvent.Action`. */
const EPOCH_END = 2

/** The end of an epoch of the network. */
export type EpochEndEvent = { kind: 'epoch-end'; seq: bigint }

const decodeEpoch = decoderOf<EpochEndEvent & { action: number }>(
  { kind: 'epoch-end' },
  { seq: uint64Field(1), action: uint32Field(2) },
)

/** The end of an epoch, which makes rows of the market data and fees that follow it in its block. */
export const epochEndProjection: Projection<EpochEndEvent> = {
  kind: 'epoch-end',
  numbers: [131],
  decode: decodeEpochEnd,
  faultOf: ({ seq }) => (seq > MAX_INT64 ? 'seq of 2^63 or more' : null),
  /**
   * The first data of each market after the end of the epoch, in the same block, give the figures of the market's
   * providers, and the first fees give what they were paid for the epoch. A party that was paid without an SLA has a row
   * too.
   */
  project: (batch, { seq: epoch }, { height, index }, { timestamp, events }, at) => {
    const position = { height, event_index: index }
    const byMarket = new Map<string, { data: MarketDataEvent | null; fees: PaidFeesEvent | null }>()
    for (let next = at + 1; next < events.length; next++) {
      const { event } = events[next]!
      if (event.kind === 'epoch-end') break
      if (!isMarketData(event) && !(isPaidFees(event) && event.epoch === epoch)) continue
      const own = byMarket.get(event.marketId) ?? { data: null, fees: null }
      if (isMarketData(event)) own.data ??= event
      else own.fees ??= event
      byMarket.set(event.marketId, own)
    }
    for (const [market_id, { data, fees }] of byMarket) {
      const shares = new Map(data?.feeShares.map((share) => [share.party, share.equityLikeShare]))
      const slas = new Map(data?.slas.map((sla) => [sla.party, sla]))
      const paid = new Map(fees?.paid.map(({ partyId, amount }) => [partyId, amount]))
      for (const party_id of new Set([...slas.keys(), ...paid.keys()])) {
        const sla = slas.get(party_id)
        put(batch, historyTable, {
          market_id,
          party_id,
          epoch,
          timestamp,
          ...(sla === undefined ? NO_FIGURES : figuresOf(sla)),
          equity_like_share: sla === undefined ? null : (shares.get(party_id) ?? null),
          ...position,
        })
      }
      for (const [party_id, amount] of paid)
        put(batch, paidFeesTable, { market_id, epoch, ...position, party_id, amount })
    }
  },
}

/**
 * The fees of a block belong to the end of an epoch in it. A block without such an end has the last fees of a market that
 * settles: the epoch ends later, without the market. An incomplete block may not contain the end.
 */
export const paidFeesProjection: Projection<PaidFeesEvent> = {
  kind: 'paid-liquidity-fees',
  numbers: [179],
  decode: decodePaidFees,
  faultOf: faultOfPaidFees,
  project: (batch, event, { height, index }, { timestamp, events, isIncomplete }, at) => {
    if (isIncomplete) return
    const { marketId: market_id, epoch, paid } = event
    const isSame = (other: DecodedEvent) =>
      isPaidFees(other) && other.marketId === market_id && other.epoch === epoch
    if (events.slice(0, at).some((before) => isSame(before.event))) return
    if (events.some((other) => other.event.kind === 'epoch-end')) return
    const position = { height, event_index: index }
    for (const { partyId: party_id, amount } of paid) {
      put(batch, historyTable, {
        market_id,
        party_id,
        epoch,
        timestamp,
        ...NO_FIGURES,
        equity_like_share: null,
        ...position,
      })
      put(batch, paidFeesTable, { market_id, epoch, ...position, party_id, amount })
    }
  },
}

function figuresOf(sla: ProviderSla) {
  return {
    has_figures: true,
    time_on_book: sla.lastEpochFractionOfTimeOnBook,
    fee_penalty: sla.lastEpochFeePenalty,
    bond_penalty: sla.lastEpochBondPenalty,
    required_liquidity: sla.requiredLiquidity,
  }
}

function isMarketData(event: DecodedEvent): event is MarketDataEvent {
  return event.kind === 'market-data'
}

/** Nothing of an epoch's beginning is stored. */
function decodeEpochEnd(reader: WireReader): EpochEndEvent | null {
  const { action, ...event } = decodeEpoch(reader)
  return action === EPOCH_END ? event : null
}

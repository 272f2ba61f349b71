import type { EventPosition } from '../../domain/event-position.ts'
import type { DecodedEvent, EpochEvent, MarketDataEvent, ProviderSla } from '../../events/event.ts'
import { type Batch, put } from '../../model/batch.ts'
import type { ProjectedBlock } from '../../model/projection.ts'
import type { PartyAmount } from '../party-amounts.ts'
import { historyTable, NO_FIGURES, paidFeesTable } from './table.ts'

/** What the history reads of an event of `paid-liquidity-fees-stats`. */
type EpochFees = DecodedEvent & { marketId: string; epoch: bigint; paid: readonly PartyAmount[] }

/**
 * Adds the rows of the market data and fees that follow the end of an epoch in its block: the first data of each market
 * give the figures of the market's providers, and the first fees give what they were paid for the epoch. A party that was
 * paid without an SLA has a row too. The end is `events[at]`.
 */
export function putEpochHistory(
  batch: Batch,
  { epoch }: EpochEvent,
  { height, index }: EventPosition,
  { timestamp, events }: ProjectedBlock,
  at: number,
): void {
  const position = { height, event_index: index }
  const byMarket = new Map<string, { data: MarketDataEvent | null; fees: EpochFees | null }>()
  for (let next = at + 1; next < events.length; next++) {
    const { event } = events[next]!
    if (isEpochEnd(event)) break
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
}

/**
 * Adds the rows of fees in a block without the end of an epoch: they are the last fees of a market that settles, and the epoch
 * ends later, without the market. Other fees belong to the end in their block. An incomplete block may not contain the end. The
 * event is `events[at]`.
 */
export function putFeesWithoutEnd(
  batch: Batch,
  { marketId: market_id, epoch, paid }: EpochFees,
  { height, index }: EventPosition,
  { timestamp, events, isIncomplete }: ProjectedBlock,
  at: number,
): void {
  if (isIncomplete) return
  const isSame = (other: DecodedEvent) =>
    isPaidFees(other) && other.marketId === market_id && other.epoch === epoch
  if (events.slice(0, at).some((before) => isSame(before.event))) return
  if (events.some((other) => isEpochEnd(other.event))) return
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

function isPaidFees(event: DecodedEvent): event is EpochFees {
  return event.kind === 'paid-liquidity-fees'
}

function isEpochEnd(event: DecodedEvent): boolean {
  return event.kind === 'epoch' && (event as EpochEvent).action === 'end'
}

import { add, parseDecimal, textOfDecimal } from '../../domain/decimal.ts'
import type { EventPosition } from '../../domain/event-position.ts'
import { getOrInsert } from '../../domain/get-or-insert.ts'
import { MAX_INT64 } from '../../domain/integers.ts'
import type { DecodedEvent } from '../../events/event.ts'
import { isStorableNumber, type LeftOutReason, type LeftOutSink, numberFault } from '../../events/left-out.ts'
import {
  decoderOf,
  marketField,
  partyField,
  readerOf,
  textField,
  uint32Field,
  uint64Field,
} from '../../events/message-fields.ts'
import type { WireReader } from '../../events/wire-reader.ts'
import { createBatch, putSource } from '../../model/batch.ts'
import type { RowSource } from '../../model/batch-rows.ts'
import type { ProjectedBlock, Projection } from '../../model/projection.ts'
import type { RowOf } from '../../model/table.ts'
import { type PartyAmounts, readPartyAmount } from '../party-amounts.ts'
import { PaymentList } from './payment-list.ts'
import { fundingPaymentTable } from './table.ts'

/** `LossSocialization.Type`. */
const FUNDING_PAYMENT = 2

/** Payments of parties at the end of a period. */
export type FundingPaymentsEvent = {
  kind: 'funding-payments'
  marketId: string
  seq: bigint
  payments: PaymentList
}

/** Part of a funding payment that a party did not receive (negative) or did not pay (positive). */
export type FundingLossEvent = { kind: 'funding-loss'; marketId: string; partyId: string; amount: string }

type PaymentRow = RowOf<typeof fundingPaymentTable>

/** A payment's amounts after losses. */
type ChangedAmounts = Pick<PaymentRow, 'amount' | 'loss_amount'>

/** An event while it is read: its payments are added to a list. */
type ReadPayments = Omit<FundingPaymentsEvent, 'payments'> & { list: PartyAmounts }

const readPayments = readerOf<ReadPayments, LeftOutSink>(
  { marketId: marketField(1), seq: uint64Field(2) },
  { 3: (reader, { list }, leaveOut) => readPartyAmount(reader, list, leaveOut) },
)

const decodeAnyLoss = decoderOf<FundingLossEvent & { type: number }>(
  { kind: 'funding-loss' },
  { marketId: marketField(1), partyId: partyField(2), amount: textField(3), type: uint32Field(4) },
)

/** The payments of a period to all parties of a market: a row for each. */
export const fundingPaymentsProjection: Projection<FundingPaymentsEvent> = {
  kind: 'funding-payments',
  numbers: [178],
  isLong: true,
  decode: decodePayments,
  faultOf: faultOfPayments,
  project: (batch, event, position, block, at) => {
    const changed = changedAmounts(event.payments, lossesOf(block).get(at) ?? [])
    putSource(batch, fundingPaymentTable, paymentRows(event, position, block.timestamp, changed))
  },
}

/** Has no rows: the payments of a block find their losses in it. */
export const fundingLossProjection: Projection<FundingLossEvent> = {
  kind: 'funding-loss',
  numbers: [113],
  decode: decodeLoss,
  faultOf: faultOfLoss,
  project: () => {},
}

type IndexedEvent = { index: number; event: DecodedEvent }

/** The rows of a block's payments, with the losses that belong to them. */
export function paymentRowsOf(
  block: Omit<ProjectedBlock, 'events'> & { height: bigint; events: readonly IndexedEvent[] },
): Iterable<PaymentRow> {
  const batch = createBatch()
  for (const [at, { index, event }] of block.events.entries()) {
    if (!arePayments(event)) continue
    fundingPaymentsProjection.project(batch, event, { height: block.height, index }, block, at)
  }
  return (batch.rows.get(fundingPaymentTable.name) ?? []) as Iterable<PaymentRow>
}

/** Why all payments of an event are left out, from whatever source; null if its valid ones are stored. */
function faultOfPayments({ marketId, seq }: FundingPaymentsEvent): LeftOutReason | null {
  if (marketId === '') return 'invalid market ID'
  return seq > MAX_INT64 ? 'seq of 2^63 or more' : null
}

function faultOfLoss({ marketId, partyId, amount }: FundingLossEvent): LeftOutReason | null {
  if (marketId === '') return 'invalid market ID'
  if (partyId === '') return 'invalid party ID'
  return isStorableNumber(amount) ? null : numberFault(amount, 'payment or rate is not a decimal number')
}

/**
 * A payment's amounts after a loss. They stay the same if one of them is not a number that can be added to, or if the sums
 * cannot be stored. A receiver that gets less keeps its amount. A payer that could not pay everything has paid less, once
 * the losses of the others are back at 0.
 */
function withLoss(before: ChangedAmounts, text: string): ChangedAmounts {
  const [amount, lost, loss] = [before.amount, before.loss_amount, text].map(parseDecimal)
  // The core sends integers. Other numbers may be impossible to add.
  if (amount == null || lost == null || loss == null) return before
  const sum = add(lost, loss)
  const changed =
    sum.digits > 0n
      ? { loss_amount: '0', amount: textOfDecimal(add(amount, sum)) }
      : { loss_amount: textOfDecimal(sum), amount: before.amount }
  return Object.values(changed).every(isStorableNumber) ? changed : before
}

/** The amounts of payments that had losses, by their place in the event. */
function changedAmounts(payments: PaymentList, losses: readonly Loss[]): ReadonlyMap<number, ChangedAmounts> {
  const changed = new Map<number, ChangedAmounts>()
  for (const { payment, amount: loss } of losses) {
    const before = changed.get(payment) ?? { amount: payments.at(payment).amount, loss_amount: '0' }
    changed.set(payment, withLoss(before, loss))
  }
  return changed
}

/** The rows of an event's payments, sorted as most indexes are. */
function paymentRows(
  { marketId, seq, payments }: FundingPaymentsEvent,
  { height, index }: EventPosition,
  timestamp: bigint,
  changed: ReadonlyMap<number, ChangedAmounts>,
): RowSource {
  return {
    marketId,
    length: payments.length,
    *[Symbol.iterator](): Generator<PaymentRow> {
      for (const payment of payments.orderByParty()) {
        const { partyId, amount: due } = payments.at(payment)
        const { amount, loss_amount } = changed.get(payment) ?? { amount: due, loss_amount: '0' }
        yield {
          market_id: marketId,
          party_id: partyId,
          seq,
          timestamp,
          amount,
          loss_amount,
          height,
          event_index: index,
        }
      }
    },
  }
}

/** What a payment loses: its place in its event, and the amount. */
type Loss = { payment: number; amount: string }

/** The losses of a block (usually none), by the index among its events of the one with the payments that they are of. */
type BlockLosses = ReadonlyMap<number, readonly Loss[]>

/** They are found once for each block, whose events are projected one by one. */
const LOSSES = new WeakMap<ProjectedBlock, BlockLosses>()

function lossesOf(block: ProjectedBlock): BlockLosses {
  let losses = LOSSES.get(block)
  if (losses === undefined) {
    losses = findLosses(block)
    LOSSES.set(block, losses)
  }
  return losses
}

/**
 * A loss belongs to the latest payment of its party and market that precedes it in its block. An incomplete block may not
 * contain that payment.
 */
function findLosses({ events, isIncomplete }: ProjectedBlock): BlockLosses {
  const losses = new Map<number, Loss[]>()
  if (isIncomplete) return losses
  const losers = new Set(events.flatMap(({ event }) => (isLoss(event) ? [loserOf(event)] : [])))
  if (losers.size === 0) return losses
  /** The latest payment of each loser so far. */
  const latest = new Map<string, { at: number; payment: number }>()
  for (const [at, { event }] of events.entries()) {
    if (arePayments(event)) {
      let payment = 0
      for (const { partyId } of event.payments) {
        const loser = loserOf({ marketId: event.marketId, partyId })
        if (losers.has(loser)) latest.set(loser, { at, payment })
        payment++
      }
    } else if (isLoss(event)) {
      const of = latest.get(loserOf(event))
      if (of === undefined) continue
      getOrInsert(losses, of.at, () => []).push({ payment: of.payment, amount: event.amount })
    }
  }
  return losses
}

const loserOf = ({ marketId, partyId }: { marketId: string; partyId: string }) => `${marketId} ${partyId}`

function arePayments(event: DecodedEvent): event is FundingPaymentsEvent {
  return event.kind === 'funding-payments'
}

function isLoss(event: DecodedEvent): event is FundingLossEvent {
  return event.kind === 'funding-loss'
}

function decodePayments(reader: WireReader, leaveOut: LeftOutSink): FundingPaymentsEvent {
  const payments = new PaymentList()
  const { marketId, seq } = readPayments(
    reader,
    { kind: 'funding-payments', marketId: '', seq: 0n, list: payments },
    leaveOut,
  )
  return { kind: 'funding-payments', marketId, seq, payments }
}

/** Losses of other types are not stored. */
function decodeLoss(reader: WireReader): FundingLossEvent | null {
  const { type, ...event } = decodeAnyLoss(reader)
  return type === FUNDING_PAYMENT ? event : null
}

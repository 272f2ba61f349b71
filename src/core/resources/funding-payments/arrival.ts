import { add, parseDecimal, textOfDecimal } from '../../domain/decimal.ts'
import { MAX_INT64 } from '../../domain/integers.ts'
import type { DecodedEvent } from '../../events/event.ts'
import { isKeptNumber, type LeftOutReason, type LeftOutSink, numberFault } from '../../events/left-out.ts'
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
import type { Arrival, ArrivingBlock } from '../arrival.ts'
import { createBatch, put, rowsOf } from '../batch.ts'
import { type PartyAmount, readPartyAmount } from '../party-amounts.ts'
import type { RowOf } from '../table.ts'
import { fundingPaymentTable } from './table.ts'

/** `LossSocialization.Type`. */
const FUNDING_PAYMENT = 2

/** Payments of parties at the end of a period. */
export type FundingPaymentsEvent = {
  kind: 'funding-payments'
  marketId: string
  seq: bigint
  payments: PartyAmount[]
}

/** Part of a funding payment that a party did not receive (negative) or did not pay (positive). */
export type FundingLossEvent = { kind: 'funding-loss'; marketId: string; partyId: string; amount: string }

type WritablePayment = {
  -readonly [Name in keyof RowOf<typeof fundingPaymentTable>]: RowOf<typeof fundingPaymentTable>[Name]
}

const readPayments = readerOf<FundingPaymentsEvent, LeftOutSink>(
  { marketId: marketField(1), seq: uint64Field(2) },
  { 3: (reader, { payments }, leaveOut) => readPartyAmount(reader, payments, leaveOut) },
)

const decodeAnyLoss = decoderOf<FundingLossEvent & { type: number }>(
  { kind: 'funding-loss' },
  { marketId: marketField(1), partyId: partyField(2), amount: textField(3), type: uint32Field(4) },
)

export const fundingPaymentsArrival: Arrival<FundingPaymentsEvent> = {
  kind: 'funding-payments',
  numbers: [178],
  isLong: true,
  decode: decodePayments,
  faultOf: faultOfPayments,
  project: (batch, { marketId, seq, payments }, { height, index }, block) => {
    // In the order of most indexes: there may be hundreds of thousands.
    const sorted = payments.toSorted((a, b) => (a.partyId < b.partyId ? -1 : a.partyId > b.partyId ? 1 : 0))
    const rows = sorted.map(
      ({ partyId, amount }): WritablePayment => ({
        market_id: marketId,
        party_id: partyId,
        seq,
        timestamp: block.timestamp,
        amount,
        loss_amount: '0',
        height,
        event_index: index,
      }),
    )
    for (const row of rows) put(batch, fundingPaymentTable, row)
    paymentsOf(block).add(rows)
  },
}

/**
 * A loss belongs to the latest payment of its party and market before it in its block. An incomplete block may not contain
 * that payment.
 */
export const fundingLossArrival: Arrival<FundingLossEvent> = {
  kind: 'funding-loss',
  numbers: [113],
  decode: decodeLoss,
  faultOf: faultOfLoss,
  project: (_, { marketId, partyId, amount }, __, block) => {
    if (block.isIncomplete) return
    const payment = paymentsOf(block).latest(marketId, partyId)
    if (payment !== undefined) addLoss(payment, amount)
  },
}

const PAYMENT_ARRIVALS: readonly Arrival[] = [fundingPaymentsArrival, fundingLossArrival]

type PlacedEvent = { index: number; event: DecodedEvent }

/** The rows of a block's payments, with the losses that belong to them. */
export function paymentRowsOf(
  block: Omit<ArrivingBlock, 'events'> & { height: bigint; events: readonly PlacedEvent[] },
): readonly RowOf<typeof fundingPaymentTable>[] {
  const batch = createBatch()
  for (const [at, { index, event }] of block.events.entries()) {
    const arrival = PAYMENT_ARRIVALS.find(({ kind }) => kind === event.kind)
    arrival?.project(batch, event, { height: block.height, index }, block, at)
  }
  return rowsOf(batch, fundingPaymentTable)
}

/** Why all payments of an event are skipped, whatever its source; null if its valid ones are kept. */
function faultOfPayments({ marketId, seq }: FundingPaymentsEvent): LeftOutReason | null {
  if (marketId === '') return 'invalid market ID'
  return seq > MAX_INT64 ? 'seq of 2^63 or more' : null
}

function faultOfLoss({ marketId, partyId, amount }: FundingLossEvent): LeftOutReason | null {
  if (marketId === '') return 'invalid market ID'
  if (partyId === '') return 'invalid party ID'
  return isKeptNumber(amount) ? null : numberFault(amount, 'payment or rate is not a decimal number')
}

/** A receiver of less keeps the amount; a payer who could not pay everything paid less, once the others' losses are back at 0. */
function addLoss(payment: WritablePayment, text: string): void {
  const [amount, before, loss] = [payment.amount, payment.loss_amount, text].map(parseDecimal)
  // The core sends integers. Some other numbers cannot be added, and some sums cannot be stored.
  if (amount == null || before == null || loss == null) return
  const sum = add(before, loss)
  const changed =
    sum.digits > 0n
      ? { loss_amount: '0', amount: textOfDecimal(add(amount, sum)) }
      : { loss_amount: textOfDecimal(sum) }
  if (Object.values(changed).every(isKeptNumber)) Object.assign(payment, changed)
}

/** The payments of a block as it is added to a batch. */
class BlockPayments {
  readonly #latest = new Map<string, WritablePayment>()
  /** Those that are not in the map yet: most blocks have no losses. */
  #others: WritablePayment[][] = []

  add(rows: WritablePayment[]): void {
    this.#others.push(rows)
  }

  latest(marketId: string, partyId: string): WritablePayment | undefined {
    for (const row of this.#others.flat()) this.#latest.set(`${row.market_id} ${row.party_id}`, row)
    this.#others = []
    return this.#latest.get(`${marketId} ${partyId}`)
  }
}

const BLOCK_PAYMENTS = new WeakMap<ArrivingBlock, BlockPayments>()

function paymentsOf(block: ArrivingBlock): BlockPayments {
  let payments = BLOCK_PAYMENTS.get(block)
  if (payments === undefined) {
    payments = new BlockPayments()
    BLOCK_PAYMENTS.set(block, payments)
  }
  return payments
}

function decodePayments(reader: WireReader, leaveOut: LeftOutSink): FundingPaymentsEvent {
  return readPayments(reader, { kind: 'funding-payments', marketId: '', seq: 0n, payments: [] }, leaveOut)
}

/** Losses of other types are not stored. */
function decodeLoss(reader: WireReader): FundingLossEvent | null {
  const { type, ...event } = decodeAnyLoss(reader)
  return type === FUNDING_PAYMENT ? event : null
}

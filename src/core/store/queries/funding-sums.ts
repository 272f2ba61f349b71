import type { Since } from '../../domain/coverage.ts'
import { add, type Decimal, parseDecimal, subtract, textOfDecimal, ZERO } from '../../domain/decimal.ts'
import { MAX_INT64, MIN_INT64 } from '../../domain/integers.ts'
import { type Missing, missingOf } from '../../domain/missing.ts'
import type { Row } from '../../model/resource.ts'
import { fundingPayments } from '../../resources/funding-payments/description.ts'
import type { StoreVersion } from '../changes.ts'
import type { StoreHead } from '../pages/page.ts'
import type { Query } from '../queries-protocol.ts'
import { textOf } from '../statements.ts'
import { readFilledStore } from './freshness.ts'
import { type KeysetScan, ROWS_AT_ONCE, readByKey } from './keyset.ts'
import { readPrunedBefore } from './store-contents.ts'

/** An answer reads so many payments at most. */
export const MAX_SUMMED_PAYMENTS = 500_000

/** A range of times of payments: start (inclusive) and end (exclusive), Unix nanoseconds; null for an open end. */
export type PaymentRange = { start: bigint | null; end: bigint | null }

/** The sums of payments, in the smallest unit of an asset. */
export type FundingSums = {
  count: number
  /** What changed balances for the better and for the worse, after losses; both positive. */
  received: string
  paid: string
  /** `received` less `paid`. */
  net: string
  /** What others could not pay; zero or negative. */
  lossAmount: string
}

/** Adds up payments. */
export class FundingSum {
  #count = 0
  #received = ZERO
  #paid = ZERO
  #lossAmount = ZERO

  add({ change, lossAmount }: SummedPayment): void {
    this.#count++
    if (change.digits > 0n) this.#received = add(this.#received, change)
    else this.#paid = subtract(this.#paid, change)
    this.#lossAmount = add(this.#lossAmount, lossAmount)
  }

  get received(): Decimal {
    return this.#received
  }

  get paid(): Decimal {
    return this.#paid
  }

  get net(): Decimal {
    return subtract(this.#received, this.#paid)
  }

  texts(): FundingSums {
    return {
      count: this.#count,
      received: textOfDecimal(this.#received),
      paid: textOfDecimal(this.#paid),
      net: textOfDecimal(this.net),
      lossAmount: textOfDecimal(this.#lossAmount),
    }
  }
}

/** A payment as sums need it. */
type SummedPayment = {
  marketId: string
  partyId: string
  time: bigint
  /** The change of the party's balance: the amount after losses. */
  change: Decimal
  lossAmount: Decimal
}

/** The payments of a party, of one market, or of a party in one market. */
type PaymentSelection = { marketId: string; partyId: string | null } | { marketId: null; partyId: string }

const COLUMNS = `market_id, party_id, ${textOf('timestamp')}, ${textOf('seq')}, amount, loss_amount`

/** The statement for payments of a selection, in the order of an index. */
function scanOf({ marketId, partyId }: PaymentSelection, from: bigint, upTo: bigint): KeysetScan {
  if (marketId === null) {
    return {
      text: `select ${COLUMNS} from funding_payments
        where party_id = $1 and timestamp <= $2 and (timestamp, market_id, seq) > ($3, $4, $5)
        order by timestamp, market_id, seq limit ${ROWS_AT_ONCE}`,
      fixed: [partyId, upTo],
      begin: [from, '', -1n],
      keyOf: ([market, , time, seq]) => [BigInt(time!), String(market), BigInt(seq!)],
    }
  }
  if (partyId === null) {
    return {
      text: `select ${COLUMNS} from funding_payments
        where market_id = $1 and timestamp <= $2 and (timestamp, seq, party_id) > ($3, $4, $5)
        order by timestamp, seq, party_id limit ${ROWS_AT_ONCE}`,
      fixed: [marketId, upTo],
      begin: [from, -1n, ''],
      keyOf: ([, party, time, seq]) => [BigInt(time!), BigInt(seq!), String(party)],
    }
  }
  return {
    text: `select ${COLUMNS} from funding_payments
      where market_id = $1 and party_id = $2 and timestamp >= $3 and timestamp <= $4 and seq > $5
      order by seq limit ${ROWS_AT_ONCE}`,
    fixed: [marketId, partyId, from, upTo],
    begin: [-1n],
    keyOf: ([, , , seq]) => [BigInt(seq!)],
  }
}

/**
 * Hands on the payments of a selection in a range.
 *
 * @param most how many may be read
 * @returns how many were read; null if there are more than that
 */
export function* readPayments(
  selection: PaymentSelection,
  { start, end }: PaymentRange,
  most: number,
  onPayment: (payment: SummedPayment) => void,
): Query<number | null> {
  const scan = scanOf(selection, start ?? MIN_INT64, end === null ? MAX_INT64 : end - 1n)
  return yield* readByKey(scan, most, (row) => {
    const payment = paymentOf(row)
    if (payment !== null) onPayment(payment)
  })
}

/** Null for an amount that is too large to calculate with. */
function paymentOf([marketId, partyId, time, , amountText, lossText]: Row): SummedPayment | null {
  const amount = parseDecimal(String(amountText))
  const lossAmount = parseDecimal(String(lossText))
  if (amount === null || lossAmount === null) return null
  return {
    marketId: String(marketId),
    partyId: String(partyId),
    time: BigInt(time!),
    change: add(amount, lossAmount),
    lossAmount,
  }
}

/** The state of a store, and what it does not have of a range of payments; null in an empty store. */
export function* readPaymentCoverage({
  start,
  end,
}: PaymentRange): Query<({ storeHead: StoreHead; version: StoreVersion } & Missing) | null> {
  const filled = yield* readFilledStore()
  if (filled === null) return null
  const { storeHead, version, coverage } = filled
  const since = [...coverage.since, ...(yield* readUnprunedSince(storeHead))]
  const used = [{ resource: fundingPayments.name, start, end }]
  return { storeHead, version, ...missingOf({ ...coverage, since }, used) }
}

const READ_HEIGHT_FROM_TIME = `
  select cast(height as text) from funding_payments where timestamp >= $1
  order by timestamp, market_id, seq, party_id limit 1`

const READ_TIME_FROM_HEIGHT = `
  select cast(timestamp as text) from funding_payments where height >= $1
  order by height, event_index, market_id, party_id limit 1`

/** From where payments have not been pruned: the other side of each bound is that of the first payment after it. */
export function* readUnprunedSince(storeHead: StoreHead): Query<Since[]> {
  const pruned = yield* readPrunedBefore()
  const since: Since[] = []
  const resource = fundingPayments.name
  if (pruned?.timestamp != null) {
    const start = BigInt(pruned.timestamp)
    const [first] = yield { text: READ_HEIGHT_FROM_TIME, values: [start] }
    since.push({ resource, height: BigInt(first?.[0] ?? storeHead.height), start })
  }
  if (pruned?.height != null) {
    const height = BigInt(pruned.height)
    const [first] = yield { text: READ_TIME_FROM_HEIGHT, values: [height] }
    since.push({ resource, height, start: BigInt(first?.[0] ?? storeHead.timestamp) })
  }
  return since
}

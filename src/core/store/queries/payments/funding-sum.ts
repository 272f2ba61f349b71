import { add, type Decimal, parseDecimal, subtract, textOfDecimal, ZERO } from '../../../domain/decimal.ts'

/** A range of times of payments: start (inclusive) and end (exclusive), Unix nanoseconds; null for an open end. */
export type PaymentRange = { start: bigint | null; end: bigint | null }

/** The sums of payments, in the smallest unit of an asset. */
export type FundingSums = {
  count: number
  /** What changed balances for the better and for the worse, after losses; both positive. */
  received: string
  paid: string
  /** `received` minus `paid`. */
  net: string
  /** What others could not pay; zero or negative. */
  lossAmount: string
}

/** What is added to a sum: a payment, or the sum of several. */
export type Summand = {
  count: number
  received: Decimal
  paid: Decimal
  lossAmount: Decimal
}

/** A payment as what is added to a sum; null for an amount that is too large to calculate with. */
export function summandOf(amountText: string, lossText: string): Summand | null {
  const amount = parseDecimal(amountText)
  const lossAmount = parseDecimal(lossText)
  if (amount === null || lossAmount === null) return null
  const change = add(amount, lossAmount)
  const isReceived = change.digits > 0n
  return {
    count: 1,
    received: isReceived ? change : ZERO,
    paid: isReceived ? ZERO : subtract(ZERO, change),
    lossAmount,
  }
}

/** Adds up payments. */
export class FundingSum {
  #count = 0
  #received = ZERO
  #paid = ZERO
  #lossAmount = ZERO

  add({ count, received, paid, lossAmount }: Summand): void {
    this.#count += count
    this.#received = add(this.#received, received)
    this.#paid = add(this.#paid, paid)
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

/** A sum of no payments. */
export const newSum = (): FundingSum => new FundingSum()

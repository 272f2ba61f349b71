import {
  add,
  compareDecimals,
  type Decimal,
  ofInteger,
  parseDecimal,
  subtract,
  textOfDecimal,
  ZERO,
} from '#core/domain/decimal'
import type { EventPosition } from '#core/domain/event-position'
import { NETWORK } from '#core/domain/ids'
import type { FundingUnknownReason, FundingValue, Tally } from './tally.ts'

/** A party's payment, as a row of its table. */
type PaidAmounts = { party_id: string; amount: string; loss_amount: string }

/** A market's period, with the time of the first payment of it. */
type FirstPayment = { marketId: string; seq: bigint; timestamp: bigint; position: EventPosition }

/** The payments of a market's parties for one period. */
export class PeriodPayments {
  readonly first: FirstPayment
  #count = 0
  /** Number of payments other than 0. */
  #others = 0
  /** The sum of payments and losses; null once one of them is not a number. */
  #sum: Decimal | null = ZERO
  /** The debt of the network, 0 or negative. The insurance pool has paid an unknown part of it, which no event names. */
  #owedByNetwork: Decimal = ZERO

  constructor(first: FirstPayment) {
    this.first = first
  }

  add({ party_id, amount, loss_amount }: PaidAmounts): void {
    const paid = parseDecimal(amount)
    const loss = parseDecimal(loss_amount)
    this.#count++
    if (paid?.digits !== 0n) this.#others++
    if (party_id === NETWORK && paid !== null && paid.digits < 0n) {
      this.#owedByNetwork = add(this.#owedByNetwork, paid)
    }
    this.#sum = this.#sum && paid && loss && add(add(this.#sum, paid), loss)
  }

  /**
   * Judges the payments. Receipts must equal payments, except for the fraction cut off each, and for what the network did
   * not pay. Nobody pays if the period has no payment.
   *
   * @param payment the period's payment; null if unknown
   * @param unknown why payments of the period may be missing; null if none are
   */
  judge(tally: Tally, payment: string | null, unknown: FundingUnknownReason | null): void {
    const values: FundingValue[] = []
    const sum = this.#sum
    const owed = this.#owedByNetwork
    if (sum !== null) {
      const rounding = ofInteger(BigInt(this.#count))
      const least = subtract(owed, rounding)
      if (compareDecimals(sum, rounding) > 0 || compareDecimals(sum, least) < 0) {
        const limits = owed.digits === 0n ? '0' : `0 to ${textOfDecimal(owed)}, which the network owes`
        const expected = `${limits}, or up to ${this.#count} apart for rounding`
        values.push({ name: 'sum of payments and losses', sent: textOfDecimal(sum), expected })
      }
      if (payment !== null && parseDecimal(payment)?.digits === 0n && this.#others > 0)
        values.push({
          name: 'payments other than 0',
          sent: `${this.#others}`,
          expected: 'none: the period pays 0',
        })
    }
    tally.funding.add({
      ...this.first,
      kind: 'partyPayments',
      agrees: sum === null ? null : values.length === 0,
      unknown: sum === null ? 'not a number' : unknown,
      group: 'payments of parties',
      difference: () => ({ of: 'payments of parties', values }),
    })
  }
}

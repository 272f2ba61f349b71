import {
  add,
  compareDecimals,
  type Decimal,
  divide,
  multiply,
  ONE,
  ofInteger,
  subtract,
  textOfDecimal,
  truncate,
  ZERO,
} from './decimal.ts'
import { NETWORK } from './ids.ts'
import { formatTime } from './time.ts'

/** The kinds of a statement's rows. */
export const STATEMENT_KINDS = ['funding payment', 'liquidity fee', 'fee penalty'] as const

/** What is not in any statement. */
export const NOT_INCLUDED = [
  'bonuses from the fee penalties of others',
  'bond penalties',
  'trades and their fees',
  'settlements',
  'rewards',
  'transfers',
  'deposits',
  'withdrawals',
] as const

/**
 * A row of a statement, as the API has it. Amounts are in whole units of the asset; null if what they follow from is not
 * known, or if rows of the kind have none.
 */
export type StatementRow = {
  /** RFC 3339, in UTC. */
  time: string
  /** The market's code. */
  market: string | null
  marketId: string
  kind: (typeof STATEMENT_KINDS)[number]
  period: string | null
  epoch: string | null
  rate: string | null
  /** The position, positive for a long one. */
  size: string | null
  /** The change of the party's balance. */
  amount: string | null
  /** The sum of the amounts of this asset up to this row. */
  runningTotal: string | null
  /** The part of a funding payment that others could not pay, zero or negative; `amount` is without it. */
  lossAmount: string | null
  /** The symbol of the asset. */
  asset: string | null
  assetId: string | null
  /** Why the amount is not known. */
  note: string | null
}

/** What is known of a market. */
export type StatementMarket = {
  code: string
  positionDecimals: bigint
  /** Without an event of the asset its symbol and decimals are null. */
  asset: { id: string; symbol: string | null; decimals: bigint | null } | null
}

/** What a party paid or received at the end of a funding period, in the smallest unit of the asset. */
export type PaymentEntry = {
  kind: 'payment'
  time: bigint
  marketId: string
  seq: string
  /** Null if it is too large to calculate with. */
  amount: Decimal | null
  lossAmount: Decimal | null
  /** What one whole unit of position pays at the end of the period, and its rate; null if they are not stored. */
  unitPayment: Decimal | null
  rate: string | null
}

/** What a market allocated to a liquidity provider for an epoch, in the smallest unit of the asset. */
export type FeesEntry = {
  kind: 'fees'
  time: bigint
  marketId: string
  epoch: string
  /** Null if they are not known. */
  fees: Decimal | null
  /** The part of the fees that was taken from the provider; null if it is not known, `none` for a party without a provision. */
  penalty: Decimal | 'none' | null
}

type StatementEntry = PaymentEntry | FeesEntry

/** More decimals than any asset or market has: the text of a number would fill memory. */
const MOST_DECIMALS = 100n

const NOTES = {
  asset: 'the decimals of the asset are not stored',
  amount: 'the amount is too large to calculate with',
  network: 'no event says what the network really paid',
  fees: 'the fees are not stored',
  penalty: 'the fee penalty of this epoch is not known',
}

/** Writes the rows of a party's statement, in the order of its entries, and adds up the amounts of each asset. */
export class StatementRows {
  readonly rows: StatementRow[] = []
  readonly #markets: ReadonlyMap<string, StatementMarket>
  readonly #isOfNetwork: boolean
  /** By the asset's id, in whole units. */
  readonly #totals = new Map<string, Decimal>()
  #unknown = 0

  constructor(partyId: string, markets: ReadonlyMap<string, StatementMarket>) {
    this.#isOfNetwork = partyId === NETWORK
    this.#markets = markets
  }

  /** The number of rows whose amount is not known. */
  get unknown(): number {
    return this.#unknown
  }

  add(entry: StatementEntry): void {
    if (entry.kind === 'payment') this.#addPayment(entry)
    else this.#addFees(entry)
  }

  #addPayment({ time, marketId, seq, amount, lossAmount, unitPayment, rate }: PaymentEntry): void {
    const row = this.#rowOf(marketId, time, 'funding payment')
    row.period = seq
    row.rate = rate
    if (amount === null || lossAmount === null) {
      this.#push(row, null, NOTES.amount)
      return
    }
    row.lossAmount = this.#wholeUnits(marketId, lossAmount)
    const positionDecimals = this.#markets.get(marketId)?.positionDecimals
    if (lossAmount.digits === 0n && unitPayment !== null && positionDecimals !== undefined) {
      const size = positionSize(amount, unitPayment, positionDecimals)
      row.size = size === null ? null : textOfDecimal(size)
    }
    const isUnknown = this.#isOfNetwork && amount.digits < 0n
    this.#push(row, isUnknown ? null : add(amount, lossAmount), NOTES.network)
  }

  #addFees({ time, marketId, epoch, fees, penalty }: FeesEntry): void {
    const feesRow = this.#rowOf(marketId, time, 'liquidity fee')
    feesRow.epoch = epoch
    this.#push(feesRow, fees, NOTES.fees)
    if (penalty === 'none') return
    const penaltyRow = this.#rowOf(marketId, time, 'fee penalty')
    penaltyRow.epoch = epoch
    this.#push(penaltyRow, penaltyAmount(fees, penalty), fees === null ? NOTES.fees : NOTES.penalty)
  }

  #rowOf(marketId: string, time: bigint, kind: StatementRow['kind']): StatementRow {
    const market = this.#markets.get(marketId)
    return {
      time: formatTime(time),
      market: market?.code ?? null,
      marketId,
      kind,
      period: null,
      epoch: null,
      rate: null,
      size: null,
      amount: null,
      runningTotal: null,
      lossAmount: null,
      asset: market?.asset?.symbol ?? null,
      assetId: market?.asset?.id ?? null,
      note: null,
    }
  }

  /** @param reason why the amount is not known, if it is null */
  #push(row: StatementRow, amount: Decimal | null, reason: string): void {
    this.rows.push(row)
    const asset = this.#markets.get(row.marketId)?.asset
    const whole = amount === null ? null : amountInUnits(amount, asset?.decimals)
    if (whole === null || asset == null) {
      this.#unknown++
      row.note = amount === null ? reason : NOTES.asset
      return
    }
    const total = add(this.#totals.get(asset.id) ?? ZERO, whole)
    this.#totals.set(asset.id, total)
    row.amount = textOfDecimal(whole)
    row.runningTotal = textOfDecimal(total)
  }

  #wholeUnits(marketId: string, amount: Decimal): string | null {
    const whole = amountInUnits(amount, this.#markets.get(marketId)?.asset?.decimals)
    return whole === null ? null : textOfDecimal(whole)
  }
}

function amountInUnits({ digits, scale }: Decimal, decimals: bigint | null | undefined): Decimal | null {
  if (decimals == null || decimals < 0n || decimals > MOST_DECIMALS) return null
  return { digits, scale: scale + Number(decimals) }
}

/**
 * The position that a funding payment was for, positive for a long one, rounded to the steps of its market; null if it cannot
 * be told. The core cuts a payment to the smallest unit, so one step must be worth at least two units. An amount that is not
 * that of any position within one unit is what was left after a loss.
 *
 * @param amount what the party received, negative if it paid
 * @param unitPayment what one whole unit of position pays
 */
export function positionSize(
  amount: Decimal,
  unitPayment: Decimal,
  positionDecimals: bigint,
): Decimal | null {
  if (positionDecimals > MOST_DECIMALS || positionDecimals < -MOST_DECIMALS) return null
  const magnitude = absolute(unitPayment)
  const unit = powerOfTen(positionDecimals)
  if (compareDecimals(magnitude, multiply(ofInteger(2n), unit)) < 0) return null
  const exact = divide(multiply(subtract(ZERO, amount), unit), unitPayment)
  const steps = ofInteger(rounded(exact))
  const rest = add(multiply(amount, unit), multiply(steps, unitPayment))
  if (compareDecimals(absolute(rest), unit) >= 0) return null
  return multiply(steps, powerOfTen(-positionDecimals))
}

/**
 * What a fee penalty took from fees, zero or negative: the core cuts what is received to the smallest unit.
 *
 * @param penalty the part of the fees that is taken
 * @returns null if it is not known
 */
function penaltyAmount(fees: Decimal | null, penalty: Decimal | null): Decimal | null {
  if (fees === null) return null
  // Of nothing, nothing is taken.
  if (fees.digits === 0n) return ZERO
  if (penalty === null || penalty.digits < 0n || compareDecimals(penalty, ONE) > 0) return null
  const received = ofInteger(truncate(multiply(fees, subtract(ONE, penalty))))
  return subtract(received, fees)
}

function powerOfTen(exponent: bigint): Decimal {
  return exponent < 0n ? { digits: 1n, scale: Number(-exponent) } : ofInteger(10n ** exponent)
}

function absolute({ digits, scale }: Decimal): Decimal {
  return { digits: digits < 0n ? -digits : digits, scale }
}

/** The nearest integer, half away from zero. */
function rounded(value: Decimal): bigint {
  const half = { digits: value.digits < 0n ? -5n : 5n, scale: 1 }
  return truncate(add(value, half))
}

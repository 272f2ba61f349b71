import type { LiquidityProviderEpoch, SlaParameters } from 'lyra-client'
import { feePenalty, ownFeePenalty, type PenaltyTerms } from '../../../src/core/domain/fee-penalty.ts'
import { formatAmountWithUnit, type Unit } from '../figures/amount.ts'
import {
  add,
  approximate,
  compare,
  type Decimal,
  multiply,
  ONE,
  parseDecimal,
  ratio,
  subtract,
  writeDecimal,
} from '../figures/decimal.ts'
import { formatPart, formatPercent, groupDigits } from '../figures/format-figure.ts'
import { formatMinute } from '../figures/format-time.ts'
import { type Sorting, sortRows } from '../parts/tables/sorting.ts'
import { isPenalty } from './columns.ts'

/** A figure of an epoch. */
export type EpochColumn = {
  name: string
  title: string
  meaning?: string
  /** The API's text; null if there is none. */
  read: (row: LiquidityProviderEpoch) => string | null
  /** A part of one, or an amount of the settlement asset. */
  kind?: 'part' | 'amount'
  /** Whether anything but zero is bad news. */
  penalty?: true
  /** Value at the full height of a chart, as a fraction; the greatest value if it is not given. */
  full?: 1
}

/** In the order of the table; the last three have a sum. */
export const EPOCH_COLUMNS: readonly EpochColumn[] = [
  { name: 'epoch', title: 'Epoch', read: ({ epoch }) => epoch },
  { name: 'ended', title: 'Ended (UTC)', read: ({ timestamp }) => timestamp },
  { name: 'book', title: 'Time on book', read: ({ timeOnBook }) => timeOnBook, kind: 'part', full: 1 },
  {
    name: 'feePenalty',
    title: 'Fee penalty',
    kind: 'part',
    penalty: true,
    full: 1,
    read: ({ feePenalty }) => feePenalty,
  },
  {
    name: 'bondPenalty',
    title: 'Bond penalty (of bond)',
    kind: 'part',
    penalty: true,
    meaning: 'Not an amount: events do not contain the bond.',
    read: ({ bondPenalty }) => bondPenalty,
  },
  {
    name: 'share',
    title: 'Equity-like share',
    kind: 'part',
    read: ({ equityLikeShare }) => equityLikeShare,
  },
  {
    name: 'required',
    title: 'Required liquidity',
    kind: 'amount',
    read: ({ requiredLiquidity }) => requiredLiquidity,
  },
  {
    name: 'fees',
    title: 'Fees before penalty',
    kind: 'amount',
    read: ({ feesPaid }) => feesPaid,
  },
  { name: 'lost', title: 'Lost to the fee penalty', kind: 'amount', read: lostToPenalty },
  {
    name: 'earned',
    title: 'Earned',
    kind: 'amount',
    meaning: 'Fees minus fee penalty, without the bonus from the penalties of others.',
    read: earnedOf,
  },
]

/** The columns before those that have a sum. */
export const UNSUMMED = EPOCH_COLUMNS.findIndex(({ name }) => name === 'fees')

/**
 * What a provider received of its fees of an epoch, after the fee penalty and before any bonus; null if it is not known. The
 * core cuts it to the smallest unit.
 */
export function earnedOf(row: LiquidityProviderEpoch): string | null {
  const fees = splitFees(row)
  return fees === null ? null : writeDecimal(fees.earned)
}

/** The fee penalty of an epoch as an amount: the rest of the fees. */
export function lostToPenalty(row: LiquidityProviderEpoch): string | null {
  const fees = splitFees(row)
  return fees === null ? null : writeDecimal(subtract(fees.paid, fees.earned))
}

function splitFees({
  feesPaid,
  feePenalty,
}: LiquidityProviderEpoch): { paid: Decimal; earned: Decimal } | null {
  const [paid, penalty] = [parseDecimal(feesPaid ?? ''), parseDecimal(feePenalty ?? '')]
  if (paid === null || penalty === null) return null
  return { paid, earned: ratio(multiply(paid, subtract(ONE, penalty)), ONE, 0, 0)! }
}

/** The sum of what is known; null if nothing is. */
export function sumOf(texts: (string | null)[]): string | null {
  const known = texts.flatMap((text) => parseDecimal(text ?? '') ?? [])
  return known.length === 0 ? null : writeDecimal(known.reduce(add))
}

/** A row, and the epochs that are missing between it and the row above (`3 to 5`), if rows are in the order of epochs. */
export type ListedEpoch = { row: LiquidityProviderEpoch; missing: string | null }

/** Epochs in the order of a column; those without the figure last, equal ones oldest first. */
export function sortEpochs(
  rows: readonly LiquidityProviderEpoch[],
  { column, descending }: Sorting,
): ListedEpoch[] {
  const { read } = EPOCH_COLUMNS.find(({ name }) => name === column)!
  const sorted = sortRows(
    rows,
    descending,
    (row) => parseDecimal(read(row) ?? ''),
    ({ epoch }) => epoch.padStart(20, '0'),
  )
  const isByTime = column === 'epoch' || column === 'ended'
  return sorted.map((row, index) => {
    const above = isByTime ? sorted[index - 1] : undefined
    if (above === undefined) return { row, missing: null }
    const [older, newer] = descending ? [row, above] : [above, row]
    const [first, last] = [BigInt(older.epoch) + 1n, BigInt(newer.epoch) - 1n]
    const ends = [first, ...(first < last ? [last] : [])].map((epoch) => groupDigits(`${epoch}`))
    return { row, missing: first > last ? null : ends.join(' to ') }
  })
}

/** How many epochs between the first and the last have no row. */
export function countMissing(rows: readonly LiquidityProviderEpoch[]): bigint {
  const [newest, oldest] = [rows[0], rows.at(-1)]
  if (newest === undefined || oldest === undefined) return 0n
  return BigInt(newest.epoch) - BigInt(oldest.epoch) + 1n - BigInt(rows.length)
}

/** Numbers of epochs: with a penalty and unknown fees, and with fees and an unknown penalty. */
export type UnknownCosts = { fees: number; penalties: number }

/** Epochs of which it is not known what the fee penalty took: fees or penalty are unknown, and the other is not 0. */
export function unknownCosts(rows: readonly LiquidityProviderEpoch[]): UnknownCosts {
  return {
    fees: rows.filter((row) => isPenalty(row.feePenalty) && row.feesPaid === null).length,
    penalties: rows.filter((row) => isPenalty(row.feesPaid) && parseDecimal(row.feePenalty ?? '') === null)
      .length,
  }
}

/** What {@link unknownCosts} leaves out of a sum. */
export function describeUnknownCosts({ fees, penalties }: UnknownCosts): string[] {
  return [
    ...(fees === 0 ? [] : [`${fees} with unknown fees`]),
    ...(penalties === 0 ? [] : [`${penalties} with an unknown penalty`]),
  ]
}

/**
 * Which epoch's fee penalty cost most and when that was, and why as far as the figures prove it.
 *
 * @param rows newest first
 * @param terms the market's SLA, as it is now
 */
export function describeDearest(
  rows: readonly LiquidityProviderEpoch[],
  terms: SlaParameters | null,
  unit: Unit | null,
): { what: string; why: string } {
  const [dearest] = sortEpochs(rows, { column: 'lost', descending: true })
  const unknownIn = unknownCosts(rows)
  const unknown = unknownIn.fees + unknownIn.penalties
  const left = [
    ...describeUnknownCosts(unknownIn),
    ...(rows.some((row) => isPenalty(row.bondPenalty))
      ? ['bond penalties, since events do not contain the bond']
      : []),
  ]
  const notes = left.length === 0 ? '' : ` Not counted: ${left.join('; ')}.`
  const row = dearest?.row
  const lost = row === undefined ? null : lostToPenalty(row)
  if (row === undefined || lost === null || !isPenalty(lost)) {
    const what =
      unknown === 0
        ? `No penalty took fees in these ${rows.length} epochs.`
        : `What fee penalties took is not known for ${unknown} of these ${rows.length} epochs; in the others they took nothing.`
    return { what, why: notes.trim() }
  }
  const earlier = rows.slice(rows.indexOf(row) + 1)
  const before = earlier[0]
  const isNext = before !== undefined && BigInt(before.epoch) + 1n === BigInt(row.epoch)
  const begun = isNext ? `From ${formatMinute(before.timestamp)} to ` : 'Ended '
  const bond = isPenalty(row.bondPenalty) ? ` and ${formatPart(row.bondPenalty!)} of its bond` : ''
  return {
    what: `Epoch ${groupDigits(row.epoch)} cost the most of these ${rows.length}: ${formatAmountWithUnit(lost, unit, { places: 2 })}, ${formatPart(row.feePenalty!)} of its fees${bond}.`,
    why: `${begun}${formatMinute(row.timestamp)} UTC. ${whyPenalised(row, earlier, terms)}${notes}`,
  }
}

/** Penalties are equal if they differ by less: another version of the core may round otherwise. */
const NEAR = 1e-9

/**
 * Why an epoch had a fee penalty. The core takes the greater of two: the penalty for the epoch's own time on book, and the
 * average of those before it. Terms that have changed since prove neither.
 *
 * @param earlier rows before it, newest first
 */
function whyPenalised(
  { timeOnBook, feePenalty: penalty }: LiquidityProviderEpoch,
  earlier: readonly LiquidityProviderEpoch[],
  sla: SlaParameters | null,
): string {
  const time = parseDecimal(timeOnBook ?? '')
  const said = `Time on book ${formatPart(timeOnBook || 'unknown')}`
  if (sla === null) return `${said}.`
  const minimum = `the minimum of ${formatPercent(sla.commitmentMinTimeFraction)}`
  const unproved = `${said}; ${minimum} is that of today.`
  const terms = penaltyTermsOf(sla)
  if (time === null || terms === null) return unproved
  const is = (one: Decimal) => Math.abs(approximate(one) - Number(penalty)) < NEAR
  const isShort = compare(time, terms.minimum) < 0
  const against = `${said}, ${isShort ? 'below' : 'at least'} ${minimum}`
  if (is(ownFeePenalty(time, terms)))
    return `${against}${isShort ? '' : ': the penalty is for the time off the book'}.`
  const counted = earlier
    .flatMap((row) => parseDecimal(row.timeOnBook ?? '') ?? [])
    .slice(0, Number(sla.performanceHysteresisEpochs))
    .map((one) => ownFeePenalty(one, terms))
  return is(feePenalty(time, counted, terms))
    ? `${against}: the penalty is the average of the ${counted.length} epochs before.`
    : unproved
}

/** The terms of a market's SLA as numbers; null if one of them is none. */
export function penaltyTermsOf(sla: SlaParameters): PenaltyTerms | null {
  const minimum = parseDecimal(sla.commitmentMinTimeFraction)
  const competitionFactor = parseDecimal(sla.slaCompetitionFactor)
  return minimum === null || competitionFactor === null ? null : { minimum, competitionFactor }
}

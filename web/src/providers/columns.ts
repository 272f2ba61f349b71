import type { LiquidityProvider } from 'lyra-client'
import { formatAmount, wholeUnits } from '../figures/amount.ts'
import {
  compare,
  type Decimal,
  parseDecimal,
  roundVisibly,
  trimZeros,
  writeDecimal,
} from '../figures/decimal.ts'
import { formatPart, groupDigits } from '../figures/format-figure.ts'
import { type Sorting, sortRows } from '../parts/tables/sorting.ts'
import { marketUnit } from '../service/instruments.ts'
import type { ProviderRow } from './fees.ts'

/** What a figure is, and so how it is shown. */
type Kind =
  /** A part of one, in percent. */
  | 'part'
  /** A part of one with a bar. */
  | 'share'
  /** A share that is an upper bound if others than the listed providers are paid. */
  | 'fee share'
  /** A part of one with a bar on which the least that the SLA asks for is marked. */
  | 'time on book'
  /** A part of one; anything but zero is bad news. */
  | 'penalty'
  /** Several parts of one, separated by spaces. */
  | 'penalties'
  /** An amount of the settlement asset. */
  | 'amount'
  | 'number'

/** A figure of a provider. */
export type Column = {
  name: string
  title: string
  meaning: string
  /** The API's text; null if the provider has none. */
  read: (provider: ProviderRow) => string | null
  kind: Kind
  /** Whether it is on the first screen; the others are a click away. */
  first?: true
}

export const COLUMNS: readonly Column[] = [
  {
    name: 'fees',
    first: true,
    title: 'Fee share',
    meaning:
      "Share of the market's provider fees: equity-like share times average score, divided by the sum of these products over the listed providers. At most, if others such as AMMs, which have no provision, hold a part of the equity-like share. Excludes penalties, and the bonus paid from others' penalties.",
    read: ({ fees }) => fees.share,
    kind: 'fee share',
  },
  {
    name: 'kept',
    first: true,
    title: 'Kept after penalty',
    meaning: 'Fraction of its fees left after the fee penalty of its last epoch.',
    read: ({ fees }) => fees.remaining,
    kind: 'part',
  },
  {
    name: 'net',
    first: true,
    title: "Fee share at last epoch's penalty",
    meaning:
      "Fee share times the part kept after the last epoch's fee penalty, before the bonus from the penalties of others. This epoch's penalty is not known before it ends.",
    read: ({ fees }) => fees.net,
    kind: 'fee share',
  },
  {
    name: 'book',
    first: true,
    title: 'Time on book, this epoch',
    meaning:
      "Fraction of the current epoch in which its orders met its commitment. The mark on the bar is the market's minimum.",
    read: ({ sla }) => sla?.currentEpochFractionOfTimeOnBook ?? null,
    kind: 'time on book',
  },
  {
    name: 'lastBook',
    first: true,
    title: 'Time on book, last epoch',
    meaning:
      "Fraction of the last completed epoch in which its orders met its commitment. The mark on the bar is the market's minimum.",
    read: ({ sla }) => sla?.lastEpochFractionOfTimeOnBook ?? null,
    kind: 'time on book',
  },
  {
    name: 'required',
    first: true,
    title: 'Required liquidity',
    meaning: 'Volume that its commitment requires on each side of the book.',
    read: ({ sla }) => sla?.requiredLiquidity ?? null,
    kind: 'amount',
  },
  {
    name: 'bondPenalty',
    first: true,
    title: 'Bond penalty, last epoch',
    meaning: 'Fraction of its bond (the committed stake) taken for the last epoch.',
    read: ({ sla }) => sla?.lastEpochBondPenalty ?? null,
    kind: 'penalty',
  },
  {
    name: 'feePenalty',
    title: 'Fee penalty, last epoch',
    meaning:
      "Fraction of its fees lost after the last epoch because its time on book was too short: the greater of the last epoch's penalty and the average of earlier epochs.",
    read: ({ sla }) => sla?.lastEpochFeePenalty ?? null,
    kind: 'penalty',
  },
  {
    name: 'earlier',
    title: 'Earlier fee penalties',
    meaning:
      'Fee penalties of earlier epochs: the network applies the worse of the last one and their average.',
    read: ({ sla }) => sla?.hysteresisPeriodFeePenalties.join(' ') ?? null,
    kind: 'penalties',
  },
  {
    name: 'buys',
    title: 'Buy volume',
    meaning: 'Notional volume of its buy orders that counts towards the commitment.',
    read: ({ sla }) => sla?.notionalVolumeBuys ?? null,
    kind: 'amount',
  },
  {
    name: 'sells',
    title: 'Sell volume',
    meaning: 'Notional volume of its sell orders that counts towards the commitment.',
    read: ({ sla }) => sla?.notionalVolumeSells ?? null,
    kind: 'amount',
  },
  {
    name: 'share',
    title: 'Equity-like share',
    meaning:
      "The provider's share of the market, by size and age of its commitment. Its fees also depend on its score and penalties.",
    read: ({ feeShare }) => feeShare.equityLikeShare,
    kind: 'share',
  },
  {
    name: 'score',
    title: 'Average score',
    meaning: 'How close its orders are to the middle of the order book; the fee share is weighted with it.',
    read: ({ feeShare }) => feeShare.averageScore,
    kind: 'number',
  },
  {
    name: 'stake',
    title: 'Virtual stake',
    meaning: "Its commitment plus its share of the market's growth since then.",
    read: ({ feeShare }) => feeShare.virtualStake,
    kind: 'amount',
  },
  {
    name: 'valuation',
    title: 'Average entry valuation',
    meaning:
      'Average market value at which the provider committed. A lower value means an earlier commitment.',
    read: ({ feeShare }) => feeShare.averageEntryValuation,
    kind: 'amount',
  },
]

/** Whether providers can be sorted by a figure: several have no order. */
export const isSortable = ({ kind }: Column): boolean => kind !== 'penalties'

/** Decimal digits of an amount; the exact text is on hover. */
const PLACES = 2

/** Decimal digits of a number, such as a score. */
const NUMBER_PLACES = 4

/** A figure as it is read: two decimal digits, in percent or in whole units of the asset if they are known. */
export function showFigure({ kind }: Column, text: string, marketId: string): string {
  if (kind === 'penalties') return text.split(' ').map(formatPart).join(' · ')
  if (kind !== 'amount' && kind !== 'number') return formatPart(text)
  const number = parseDecimal(text)
  if (number === null) return text
  if (kind === 'amount') return formatAmount(text, marketUnit(marketId), { places: PLACES })
  return groupDigits(trimZeros(writeDecimal(roundVisibly(number, NUMBER_PLACES))))
}

/** Whether a provider was penalised: for the last epoch, in fees or bond, or for one before. */
export function isPenalised({ sla }: LiquidityProvider): boolean {
  if (sla === null) return false
  const penalties = [sla.lastEpochFeePenalty, sla.lastEpochBondPenalty, ...sla.hysteresisPeriodFeePenalties]
  return penalties.some(isPenalty)
}

/** Whether a penalty was applied. */
export const isPenalty = (text: string | null) => (parseDecimal(text ?? '')?.digits ?? 0n) !== 0n

/** Whether a provider's share is below so many percent. */
export function hasShareBelow({ feeShare }: LiquidityProvider, percent: Decimal): boolean {
  const share = parseDecimal(feeShare.equityLikeShare)
  return share !== null && compare(share, { digits: percent.digits, scale: percent.scale + 2 }) < 0
}

/** Providers in the order of a column; those without the figure last, equal ones by market and party. */
export function sortProviders(
  providers: readonly ProviderRow[],
  { column, descending }: Sorting,
): ProviderRow[] {
  const idOf = ({ marketId, partyId }: ProviderRow) => `${marketId}${partyId}`
  const found = COLUMNS.find(({ name }) => name === column)
  const keyOf = (provider: ProviderRow) => {
    if (found === undefined) return idOf(provider)
    const text = found.read(provider)
    const unit = found.kind === 'amount' ? marketUnit(provider.marketId) : null
    // Amounts of markets whose assets have other decimals are compared in whole units.
    return text === null ? null : unit === null ? parseDecimal(text) : wholeUnits(text, unit)
  }
  return sortRows(providers, descending, keyOf, idOf)
}

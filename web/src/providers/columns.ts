import type { LiquidityProvider } from 'lyra-client'
import { compare, parseDecimal } from '../figures/decimal.ts'
import { formatPercent, groupDigits } from '../figures/format-figure.ts'

/** A figure of a provider: how it is read, shown and explained. */
export type Column = {
  name: string
  title: string
  /** What it means. */
  meaning: string
  /** Whether it is of the SLA, which a provider may have none of. */
  sla?: true
  /** The API's text; null where the provider has none. */
  read: (provider: LiquidityProvider) => string | null
  show: (text: string) => string
  /** Whether the figure is a part of one: shown with a bar. */
  bar?: true
  /** Whether anything but zero is bad news. */
  penalty?: true
  /** Whether it is a list: not sorted by. */
  list?: true
}

export const COLUMNS: readonly Column[] = [
  {
    name: 'share',
    title: 'Equity-like share',
    meaning:
      "The provider's part of the market's liquidity fees by what it has committed and for how long, before its score and penalties.",
    read: ({ feeShare }) => feeShare.equityLikeShare,
    show: formatPercent,
    bar: true,
  },
  {
    name: 'book',
    title: 'Time on book, this epoch',
    meaning: 'The part of the epoch so far in which its orders met its commitment.',
    sla: true,
    read: ({ sla }) => sla?.currentEpochFractionOfTimeOnBook ?? null,
    show: formatPercent,
    bar: true,
  },
  {
    name: 'lastBook',
    title: 'Time on book, last epoch',
    meaning: 'The part of the last whole epoch in which its orders met its commitment.',
    sla: true,
    read: ({ sla }) => sla?.lastEpochFractionOfTimeOnBook ?? null,
    show: formatPercent,
    bar: true,
  },
  {
    name: 'feePenalty',
    title: 'Fee penalty, last epoch',
    meaning: 'The part of its fees that it lost for the last epoch, because its time on book was too short.',
    sla: true,
    read: ({ sla }) => sla?.lastEpochFeePenalty ?? null,
    show: formatPercent,
    penalty: true,
  },
  {
    name: 'bondPenalty',
    title: 'Bond penalty, last epoch',
    meaning: 'The part of its bond, the commitment it has put up, that was taken for the last epoch.',
    sla: true,
    read: ({ sla }) => sla?.lastEpochBondPenalty ?? null,
    show: formatPercent,
    penalty: true,
  },
  {
    name: 'earlier',
    title: 'Earlier fee penalties',
    meaning:
      'The fee penalties of the epochs before: the network applies the worse of the last one and their average.',
    // A list, which nothing is sorted by.
    sla: true,
    read: ({ sla }) => sla?.hysteresisPeriodFeePenalties.join(' ') ?? null,
    show: (text) => text.split(' ').map(formatPercent).join(' · '),
    list: true,
  },
  {
    name: 'required',
    title: 'Required liquidity',
    meaning: 'The volume that its commitment obliges it to keep on each side of the book.',
    sla: true,
    read: ({ sla }) => sla?.requiredLiquidity ?? null,
    show: groupDigits,
  },
  {
    name: 'buys',
    title: 'Volume of buys',
    meaning: 'The notional volume of its buy orders that counts towards the commitment.',
    sla: true,
    read: ({ sla }) => sla?.notionalVolumeBuys ?? null,
    show: groupDigits,
  },
  {
    name: 'sells',
    title: 'Volume of sells',
    meaning: 'The notional volume of its sell orders that counts towards the commitment.',
    sla: true,
    read: ({ sla }) => sla?.notionalVolumeSells ?? null,
    show: groupDigits,
  },
  {
    name: 'stake',
    title: 'Virtual stake',
    meaning: "Its commitment, grown with the market's trading since it was made.",
    read: ({ feeShare }) => feeShare.virtualStake,
    show: groupDigits,
  },
  {
    name: 'valuation',
    title: 'Average entry valuation',
    meaning:
      'At what size of the market the provider committed, averaged over its commitments: earlier is lower.',
    read: ({ feeShare }) => feeShare.averageEntryValuation,
    show: groupDigits,
  },
  {
    name: 'score',
    title: 'Average score',
    meaning:
      'How close to the middle of the order book its orders have been; the fee share is weighted with it.',
    read: ({ feeShare }) => feeShare.averageScore,
    show: groupDigits,
  },
]

/** How a list is sorted: by a column, or by id. */
export type Sorting = { column: string; descending: boolean }

/** Providers in the order of a column; those without the figure last, equal ones by market and party. */
export function sortProviders(
  providers: readonly LiquidityProvider[],
  { column, descending }: Sorting,
): LiquidityProvider[] {
  const byId = (left: LiquidityProvider, right: LiquidityProvider) =>
    `${left.marketId}${left.partyId}` < `${right.marketId}${right.partyId}` ? -1 : 1
  const found = COLUMNS.find(({ name }) => name === column)
  if (found === undefined) {
    const sorted = [...providers].sort(byId)
    return descending ? sorted.reverse() : sorted
  }
  const numbers = new Map(
    providers.map((provider) => {
      const text = found.read(provider)
      return [provider, text === null ? null : parseDecimal(text)]
    }),
  )
  return [...providers].sort((left, right) => {
    const [a, b] = [numbers.get(left) ?? null, numbers.get(right) ?? null]
    if (a === null || b === null) return a === b ? byId(left, right) : a === null ? 1 : -1
    const order = compare(a, b)
    return order === 0 ? byId(left, right) : descending ? -order : order
  })
}

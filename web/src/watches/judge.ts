import type { MarketSummary, ProviderStanding } from 'lyra-client'
import { compare, parseDecimal } from '../figures/decimal.ts'
import { formatPart, formatPercent, formatRate, RATE_PLACES } from '../figures/format-figure.ts'
import { shortId } from '../figures/short-id.ts'
import { nameOfParty } from '../saved/saved-parties.ts'
import { marketLabel } from '../service/instruments.ts'
import { currentRate } from '../service/summary.ts'
import type { Watch } from './watches.ts'

/** How something that is watched is now, and what the reader is told if it has become so. */
export type Judged = { seen: string; message: string | null }

/**
 * How a watched rate is now; null if it is not known. A rate that is beyond the value is told at once; a sign only once it
 * changes.
 */
export function judgeRate({ kind, value, seen }: Watch, summary: MarketSummary): Judged | null {
  const now = parseDecimal(currentRate(summary)?.text ?? '')
  if (now === null) return null
  const market = marketLabel(summary.marketId)
  const rate = `The funding rate of ${market} is ${formatRate(now, RATE_PLACES)}`
  if (kind === 'sign') {
    // No rate at all is no change: the next one tells.
    const sign = now.digits === 0n ? seen : now.digits > 0n ? 'longs pay' : 'shorts pay'
    const hasChanged = seen !== '' && sign !== seen
    return { seen: sign, message: hasChanged ? `${rate}: ${sign} now.` : null }
  }
  const limit = parseDecimal(value)
  if (limit === null) return null
  const apart = compare(now, { ...limit, scale: limit.scale + 2 })
  const isBeyond = kind === 'above' ? apart > 0 : apart < 0
  return {
    seen: isBeyond ? 'yes' : 'no',
    message: isBeyond && seen !== 'yes' ? `${rate}, ${kind} ${value} %.` : null,
  }
}

/** How a watched provider is now; null if that is not known. */
export function judgeProvider(
  { seen, partyId }: Watch,
  standing: ProviderStanding | undefined,
): Judged | null {
  const { timeOnBook = null, minimum = null, marketId = '' } = standing ?? {}
  const [time, least] = [parseDecimal(timeOnBook ?? ''), parseDecimal(minimum ?? '')]
  if (time === null || least === null) return null
  const isBelow = compare(time, least) < 0
  const name = nameOfParty(partyId) ?? shortId(partyId)
  return {
    seen: isBelow ? 'yes' : 'no',
    message:
      isBelow && seen !== 'yes'
        ? `${name} was on the book of ${marketLabel(marketId)} for ${formatPart(timeOnBook!)} of this epoch, below the minimum of ${formatPercent(minimum!)}.`
        : null,
  }
}

/** What is watched, in words. */
export function describeWatch({ kind, value }: Watch): string {
  switch (kind) {
    case 'above':
      return `rate above ${value} %`
    case 'below':
      return `rate below ${value} %`
    case 'sign':
      return 'rate changes its sign'
    case 'minimum':
      return 'below the minimum time on book'
    default:
      return kind satisfies never
  }
}

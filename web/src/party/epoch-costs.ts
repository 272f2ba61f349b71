import type { LiquidityProviderEpoch } from 'lyra-client'
import { formatAmountWithUnit } from '../figures/amount.ts'
import { groupDigits } from '../figures/format-figure.ts'
import { formatMinute } from '../figures/format-time.ts'
import { describeUnknownCosts, earnedOf, lostToPenalty, sumOf, unknownCosts } from '../providers/epochs.ts'
import { instrumentOf, marketLabel, marketUnit } from '../service/instruments.ts'

/**
 * What fee penalties took from a provider on all markets that settle in one asset, and which epoch cost most. An asset of a
 * single market is left out: that market's table says it.
 *
 * @param rows epochs of all its markets
 */
export function describeCosts(rows: readonly LiquidityProviderEpoch[]): { what: string; most: string }[] {
  const byAsset = Map.groupBy(rows, ({ marketId }) => instrumentOf(marketId)?.settlementAsset?.id)
  return [...byAsset].flatMap(([asset, own]) => {
    const markets = new Set(own.map(({ marketId }) => marketId))
    const unit = marketUnit(own[0]!.marketId)
    if (asset === undefined || unit === null || markets.size === 1) return []
    const written = (text: string | null, symbol = unit.symbol) =>
      formatAmountWithUnit(text ?? '0', { ...unit, symbol }, { places: 2 })
    const epochs = [...Map.groupBy(own, ({ epoch }) => epoch).values()].map((ended) => {
      const costs = ended.map((row) => ({ row, lost: lostToPenalty(row) }))
      return { costs, lost: sumOf(costs.map(({ lost }) => lost)) }
    })
    const { costs, lost } = epochs.reduce((a, b) => (Number(b.lost) > Number(a.lost) ? b : a))
    const { epoch, timestamp } = costs[0]!.row
    const parts = costs
      .sort((a, b) => Number(b.lost) - Number(a.lost))
      .filter(({ lost }) => Number(lost) > 0)
      .map(({ row, lost }) => `${marketLabel(row.marketId)} ${written(lost, '')}`)
    const unknown = describeUnknownCosts(unknownCosts(own))
    const notes = unknown.length === 0 ? '' : ` Not counted, by epoch and market: ${unknown.join('; ')}.`
    const earned = own.map(earnedOf)
    const unknownEarned = earned.filter((amount) => amount === null).length
    const unearned =
      unknownEarned === 0 ? '' : ` (not known in ${unknownEarned} of ${groupDigits(`${own.length}`)})`
    const taken = sumOf(epochs.map(({ lost }) => lost))
    return {
      what: `On ${markets.size} markets, in ${groupDigits(`${epochs.length}`)} epochs, fee penalties took ${written(taken)} of ${written(sumOf(own.map(({ feesPaid }) => feesPaid)))} of fees; it earned ${written(sumOf(earned))}${unearned}.${notes}`,
      most:
        parts.length === 0
          ? ''
          : `Epoch ${groupDigits(epoch)}, ended ${formatMinute(timestamp)} UTC, cost the most: ${written(lost)} (${parts.join(', ')}).`,
    }
  })
}

import type { MarketSummary } from 'lyra-client'
import { writeDecimal } from '../figures/decimal.ts'
import { csvOf } from '../parts/csv.ts'
import { annualised } from '../periods/period.ts'
import { currentRate, nextPaymentOf, paidLength, pricePremiumOf, standingOf } from './summary.ts'

const HEAD = [
  'marketId',
  'code',
  'state',
  'rate',
  'rateIsEstimate',
  'annualisedRate',
  'lastPaidRate',
  'lastPaidPayment',
  'average24hPer8h',
  'average7dPer8h',
  'average30dPer8h',
  'nextPayment',
  'pricePremium',
  'externalPrice',
  'internalPrice',
  'settlementAssetSymbol',
  'settlementAssetDecimals',
  'providers',
]

/**
 * The table of markets as CSV: exact texts as sent, and values computed from them.
 *
 * @param last the time of the last block, Unix nanoseconds
 */
export function summariesCsv(summaries: readonly MarketSummary[], last: bigint): string {
  return csvOf(
    HEAD,
    summaries.map((summary) => {
      const { marketId, instrument, lastPaidPeriod, lastExternalPoint, lastInternalPoint, providers } =
        summary
      const rate = currentRate(summary)
      const year = rate === null ? null : annualised(rate.text, paidLength(summary))
      const premium = pricePremiumOf(summary)
      return [
        marketId,
        instrument?.code,
        standingOf(summary)?.state,
        rate?.text,
        rate === null ? undefined : `${rate.at !== null}`,
        year === null ? undefined : writeDecimal(year),
        lastPaidPeriod?.fundingRate,
        lastPaidPeriod?.fundingPayment,
        ...[summary.averages['24h'], summary.averages['7d'], summary.averages['30d']].map(
          (text) => text ?? undefined,
        ),
        nextPaymentOf(summary, last)?.toString(),
        premium === null ? undefined : writeDecimal(premium),
        lastExternalPoint?.price,
        lastInternalPoint?.price,
        instrument?.settlementAsset?.symbol,
        instrument?.settlementAsset?.decimals,
        providers,
      ]
    }),
  )
}
